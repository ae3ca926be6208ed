"""``numba.cuda.libdevice``: functions that only a GPU's compiler knows; each is refused when it is called."""

from __future__ import annotations

import re

from kapi_sim.numba_cuda.support import REFUSED, Refused

__all__: list[str] = []

# All names of libdevice are of these forms. Other tools ask any module for names of their own, such as pytest's.
_NAME = re.compile(r"[a-z0-9]+|fast_[a-z0-9]+|[a-z0-9_]+_r[dnuz]|[a-z]+_as_[a-z]+|byte_perm")


def __getattr__(name: str) -> Refused:
    if _NAME.fullmatch(name) is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return Refused(f"libdevice.{name}", REFUSED["libdevice"])
