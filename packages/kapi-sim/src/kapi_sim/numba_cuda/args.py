"""``numba.cuda.args``: arguments with what is to be copied for them."""

from __future__ import annotations

from typing import Any

from kapi_sim.numba_cuda.host.allocation import In, InOut, Out
from kapi_sim.numba_cuda.host.device_arrays import Hint as ArgHint

__all__ = ["ArgHint", "In", "InOut", "Out", "wrap_arg"]


def wrap_arg(value: Any, default: type[ArgHint] = InOut) -> ArgHint:
    """Return an argument with a hint: its own, or `default`."""
    return value if isinstance(value, ArgHint) else default(value)
