"""Loops over small arrays: what a launch costs is more than the work, so NumPy does it in the memory of the arrays."""

from __future__ import annotations

import os
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np
from dpnp.dpnp_array import dpnp_array

from kapi_numba_offload.elements.statements import Place
from kapi_numba_offload.loops.host.host_loop import HostLoop
from kapi_numba_offload.run.options import OffloadOptions
from kapi_numba_offload.run.timing import timed
from kapi_numba_offload.run.usm import has_host_memory

__all__ = ["SmallLoop", "most_elements"]

_DEFAULT = 32768  # elements: with fewer, NumPy needs less time for some operations than their launches


def most_elements() -> int:
    """How many elements a statement of a small loop has at most: `KAPI_OFFLOAD_SMALL`, 0 for no small loops."""
    text = os.environ.get("KAPI_OFFLOAD_SMALL", "").strip()
    return int(text) if text.isdigit() else _DEFAULT


class SmallLoop:
    """A loop whose turns work on whole arrays or rows, and that is NumPy's where these are small.

    Only for arrays that lie where the host reaches them without a copy, and where fallback is not switched off.

    Parameters
    ----------
    place : Place
        Where it stands.
    host : HostLoop
        The loop.
    rank : int or None
        How many axes its statements work on at most, if that is known.
    options : OffloadOptions
        Those of the function.

    Attributes
    ----------
    latest : str or None
        Why its latest run was NumPy's; None if it was not.
    """

    def __init__(self, place: Place, host: HostLoop, rank: int | None, options: OffloadOptions) -> None:
        self.place, self.host, self.options = place, host, options
        self._rank = rank
        self.latest: str | None = None

    def suits(self, *captured: Any) -> bool:
        """Whether it is to be NumPy's for these values."""
        most = most_elements()
        self.latest = None
        queue = None
        for each in captured:
            if type(each) is dpnp_array:
                inner = each._array_obj
                if prod(sorted(inner.shape)[-self._rank :] if self._rank else inner.shape) > most:
                    return False
                if (queue is not None and inner.sycl_queue != queue) or inner.usm_type != "device":
                    return False
                queue = inner.sycl_queue
            elif isinstance(each, (np.ndarray, tuple, list)):
                return False
        return queue is not None and most > 0 and self.options.may_fall_back and _is_reachable(queue.sycl_device)

    @timed
    def __call__(self, *captured: Any) -> Any:
        """Run the loop with NumPy."""
        self.latest = "its arrays are small, and NumPy computes where they are"
        with np.errstate(all="ignore"):  # as on a device
            return self.host.leave((), captured, compiled=False)


@lru_cache(maxsize=64)
def _is_reachable(device: Any) -> bool:
    return has_host_memory(device)
