"""``numba.cuda.libdevice``: functions that only a GPU's compiler knows; each is refused when it is called."""

from __future__ import annotations

from kapi_sim.numba_cuda.support import REFUSED, Refused

__all__: list[str] = []


def __getattr__(name: str) -> Refused:
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return Refused(f"libdevice.{name}", REFUSED["libdevice"])
