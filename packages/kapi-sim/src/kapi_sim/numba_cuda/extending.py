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

intrinsic, lower, make_attribute_wrapper, models, overload, overload_attribute, overload_method = (
    Refused(f"extending.{name}", REFUSED["extending"]) for name in __all__
)
