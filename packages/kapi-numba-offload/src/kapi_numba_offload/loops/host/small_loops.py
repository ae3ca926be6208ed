"""Loops over small arrays: what a launch costs is more than the work, so it is done in the memory of the arrays.

NumPy does it at first, and Numba's code once the loop has taken long enough for a compilation to pay.
"""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Sequence
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np
from dpnp.dpnp_array import dpnp_array

from kapi_numba_offload.elements.statements import Place
from kapi_numba_offload.loops.host.host_loop import HostLoop
from kapi_numba_offload.run.options import OffloadOptions
from kapi_numba_offload.run.timing import timed
from kapi_numba_offload.run.usm import has_host_memory, is_same_view, may_overlap

__all__ = ["SmallLoop", "most_elements"]

_PATIENCE = 0.01  # seconds that NumPy may take for a loop before Numba compiles it
_SAME_TYPES = frozenset(map(np.dtype, ("float64", "complex128", "int64")))
"""Dtypes whose operations have the same dtypes for dpnp and for Numba, with each other and with Python's numbers."""
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
    may_compile : bool
        Whether its source names nothing that has another type for Numba than for NumPy.

    Attributes
    ----------
    latest : str or None
        Why its latest run was on the host; None if it was not.
    """

    def __init__(
        self, place: Place, host: HostLoop, rank: int | None, options: OffloadOptions, *, may_compile: bool
    ) -> None:
        self.place, self.host, self.options = place, host, options
        self._rank = rank
        self._spent = 0.0
        self._may_compile = may_compile
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
        """Run the loop with NumPy, or as Numba compiled it."""
        compiled = self._may_compile and self._spent > _PATIENCE and _are_alike_for_numba(captured)
        who = "Numba" if compiled else "NumPy"
        self.latest = f"its arrays are small, and {who} computes where they are"
        if compiled:
            return self.host.leave((), captured)
        start = time.perf_counter()
        with np.errstate(all="ignore"):  # as on a device
            result = self.host.leave((), captured, compiled=False)
        self._spent += time.perf_counter() - start
        return result


def _are_alike_for_numba(values: Sequence[Any]) -> bool:
    """Whether values have types of which operations have the same types for Numba, and no two arrays share memory."""
    arrays = [each for each in values if isinstance(each, dpnp_array)]
    pairs = itertools.combinations(arrays, 2)
    return all(map(_has_the_same_types, values)) and not any(
        is_same_view(one, other) or may_overlap(one, other) for one, other in pairs
    )


def _has_the_same_types(value: Any) -> bool:
    """Whether operations with a value have the same dtypes for dpnp and for Numba."""
    if isinstance(value, (dpnp_array, np.generic)):
        return value.dtype in _SAME_TYPES
    return type(value) in (bool, int, float, complex)


@lru_cache(maxsize=64)
def _is_reachable(device: Any) -> bool:
    return has_host_memory(device)
