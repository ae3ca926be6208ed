"""Loops over small arrays: what a launch costs is more than the work, so it is done in the memory of the arrays.

NumPy does it at first, and Numba's code once the loop has taken long enough for a compilation to pay. A loop around
`prange` loops has elements, which are slow in Python, and functions that a loop calls have plans of their own: such a
loop stays on the device until then.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from kapi_numba_offload.elements.statements import Place
from kapi_numba_offload.loops.host.host_loop import HostLoop
from kapi_numba_offload.loops.host.trials import Trials
from kapi_numba_offload.run.first_runs import is_first_run
from kapi_numba_offload.run.options import OffloadOptions
from kapi_numba_offload.run.simulating import is_simulating
from kapi_numba_offload.run.timing import timed
from kapi_numba_offload.run.usm import DpnpArray, has_host_memory, is_same_view, may_overlap
from kapi_sim import environment

__all__ = ["SAME_TYPES", "SmallLoop", "WorkedAxes", "most_elements"]

_PATIENCE = 0.01  # seconds of processor time that NumPy may take for a loop before Numba compiles it
_PATIENCE_AT_FIRST = 1.0  # the same within the first call of a function, which few compilations are shorter than
SAME_TYPES = frozenset(map(np.dtype, ("float64", "complex128", "int64")))
"""Dtypes whose operations have the same dtypes for dpnp and for Numba, with each other and with Python's numbers."""
_DEFAULT = 32768  # elements: with fewer, NumPy needs less time for some operations than their launches
_IN_PRODUCTS = 32  # times as many elements that a product of matrices may read: its call costs more than a launch


def most_elements() -> int:
    """How many elements a statement of a small loop has at most: `KAPI_OFFLOAD_SMALL`, 0 for no small loops."""
    return environment.OFFLOAD_SMALL.number(_DEFAULT)


@dataclass(frozen=True, slots=True)
class WorkedAxes:
    """Which axes of arrays the statements of a loop work on.

    Attributes
    ----------
    most : int or None
        How many axes they work on at most, those of the operands of products of matrices left out; None if that is not
        known.
    of_products : int
        How many axes the operands of products of matrices have at most.
    parts : mapping
        For names of arrays, and axes of them, how much of the axis a statement works on wherever the array is named: a
        number of elements, or the variable that has it.
    """

    most: int | None
    of_products: int
    parts: Mapping[str, Mapping[int, int | str]]

    def of(self, name: str, shape: tuple[int, ...], values: Mapping[str, Any]) -> tuple[int, ...]:
        """The lengths of the axes of an array that a statement may work on, for variables with these values."""
        parts = self.parts.get(name)
        if parts is None:
            return shape
        made = list(shape)
        for axis, part in parts.items():
            length = values.get(part) if isinstance(part, str) else part
            if axis < len(made) and isinstance(length, int):
                made[axis] = min(made[axis], max(0, length))
        return tuple(made)


def _largest(shape: tuple[int, ...], axes: int | None) -> int:
    """The elements along so many axes, at most."""
    return prod(sorted(shape)[len(shape) - axes :] if axes is not None and axes < len(shape) else shape)


class SmallLoop:
    """A loop whose turns work on whole arrays or rows, and that is NumPy's where these are small.

    Only for arrays that lie where the host reaches them without a copy, and where fallback is not switched off.

    Parameters
    ----------
    place : Place
        Where it stands.
    host : HostLoop
        The loop.
    axes : WorkedAxes
        The axes of arrays that its statements work on.
    options : OffloadOptions
        Those of the function.
    may_compile : bool
        Whether its source names nothing that has another type for Numba than for NumPy.
    is_tried : bool
        Whether it has `prange` loops, or calls functions of the author's: it runs on the device at first, and as
        Numba's code where that turns out to be faster.

    Attributes
    ----------
    latest : str or None
        Why its latest run was on the host; None if it was not.
    """

    def __init__(
        self,
        place: Place,
        host: HostLoop,
        axes: WorkedAxes,
        options: OffloadOptions,
        *,
        may_compile: bool,
        is_tried: bool,
    ) -> None:
        self.place, self.host, self.options = place, host, options
        self._axes = axes
        self._spent = 0.0
        self._may_compile = may_compile
        self._trials = Trials() if is_tried else None
        self.latest: str | None = None

    @property
    def is_tried(self) -> bool:
        """Whether calls on the device are to be told of."""
        return self._trials is not None

    def suits(self, *captured: Any) -> bool:
        """Whether it is to run on the host for these values."""
        self.latest = None
        if self._queue(captured) is None or (self.is_tried and is_simulating()):
            return False
        if self._trials is None:
            return True
        if not _are_alike_for_numba(captured):
            return False
        return self._trials.is_host_next(_kind(captured), lambda: self.host.compiles(captured))

    def begun(self, *captured: Any) -> Any:
        """Note that it begins on the device: what `ended` is given."""
        queue = None if self._trials is None or is_first_run() else self._queue(captured)
        if queue is None or self._trials is None or not _are_alike_for_numba(captured):
            return None
        return self._trials.begun(_kind(captured), queue)

    def ended(self, begun: Any) -> None:
        """Note that it ended there."""
        if begun is not None:
            Trials.ended(begun)

    def _queue(self, captured: Sequence[Any]) -> Any:
        """The queue of its arrays if these are small, and lie where the host reaches them; else None."""
        most = most_elements()
        limit = most * _IN_PRODUCTS
        queue = None
        values = dict(zip(self.host.given, captured, strict=True))
        for name, each in values.items():
            if type(each) is DpnpArray:
                inner = each._array_obj
                shape = self._axes.of(name, inner.shape, values)
                if _largest(shape, self._axes.most) > most or _largest(shape, self._axes.of_products) > limit:
                    return None
                if (queue is not None and inner.sycl_queue != queue) or inner.usm_type != "device":
                    return None
                queue = inner.sycl_queue
            elif isinstance(each, (np.ndarray, tuple, list)):
                return None
        if queue is None or not most or not self.options.may_fall_back or not _is_reachable(queue.sycl_device):
            return None
        return queue

    @timed
    def __call__(self, *captured: Any) -> Any:
        """Run the loop with NumPy, or as Numba compiled it."""
        if self._trials is not None:
            return self._tried(self._trials, captured)
        patience = _PATIENCE_AT_FIRST if is_first_run() else _PATIENCE
        compiled = self._may_compile and self._spent > patience and _are_alike_for_numba(captured)
        who = "Numba" if compiled else "NumPy"
        self.latest = f"its arrays are small, and {who} computes where they are"
        if compiled:
            return self.host.leave((), captured)
        start = time.thread_time()
        with np.errstate(all="ignore"):  # as on a device
            result = self.host.leave((), captured, compiled=False)
        self._spent += time.thread_time() - start
        return result

    def _tried(self, trials: Trials, captured: Sequence[Any]) -> Any:
        """Run the loop as Numba compiled it, and note how long that takes."""
        self.latest = "its arrays are small, and Numba computes where they are"
        return trials.on_host(_kind(captured), self._queue(captured), lambda: self.host.leave((), captured))


def _kind(values: Sequence[Any]) -> tuple[Any, ...]:
    """What the time of a call depends on: shapes, dtypes, and numbers that may be lengths."""
    return tuple(
        (each.shape, each.dtype) if isinstance(each, DpnpArray) else each if type(each) is int else type(each)
        for each in values
    )


def _are_alike_for_numba(values: Sequence[Any]) -> bool:
    """Whether values have types of which operations have the same types for Numba, and no two arrays share memory."""
    arrays = [each for each in values if isinstance(each, DpnpArray)]
    pairs = itertools.combinations(arrays, 2)
    return all(map(_has_the_same_types, values)) and not any(
        is_same_view(one, other) or may_overlap(one, other) for one, other in pairs
    )


def _has_the_same_types(value: Any) -> bool:
    """Whether operations with a value have the same dtypes for dpnp and for Numba."""
    if isinstance(value, (DpnpArray, np.generic)):
        return value.dtype in SAME_TYPES
    return type(value) in (bool, int, float, complex)


@lru_cache(maxsize=64)
def _is_reachable(device: Any) -> bool:
    return has_host_memory(device)
