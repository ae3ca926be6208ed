"""``numba.cuda.extending``: code for the compiler, which is refused when it is made."""

from __future__ import annotations

from kapi_sim.numba_cuda.support import REFUSED, Refused

__all__ = [
    "intrinsic",
    "lower",
    "make_attribute_wrapper",
    "models",
    "overload",
    "overload_attribute",
    "overload_method",
]

_REASON = REFUSED["extending"]
intrinsic = Refused("extending.intrinsic", _REASON)
lower = Refused("extending.lower", _REASON)
make_attribute_wrapper = Refused("extending.make_attribute_wrapper", _REASON)
models = Refused("extending.models", _REASON)
overload = Refused("extending.overload", _REASON)
overload_attribute = Refused("extending.overload_attribute", _REASON)
overload_method = Refused("extending.overload_method", _REASON)
