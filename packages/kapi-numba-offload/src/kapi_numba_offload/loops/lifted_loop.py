"""A plain loop over rows that is lifted to statements of whole arrays, at run time: whether they do the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kapi_numba_offload.elements.statements import StatementLocation
from kapi_numba_offload.libraries.arrays import (
    device_facts,
    have_disjoint_spans,
    is_device_array,
    is_numpy_array,
    library,
    may_share_memory,
    queue_of,
)
from kapi_numba_offload.loops.captured_values import described
from kapi_numba_offload.loops.host.short_iterations import SAME_TYPES
from kapi_numba_offload.run.bounded_cache import BoundedCache
from kapi_numba_offload.run.simulation import is_simulating

__all__ = ["LiftedLoop", "RowIndex", "ScanLoop", "stores_are_disjoint", "counts"]

_SCANNED = frozenset(map(np.dtype, ("float64", "int64")))
_SHORTEST_SCAN = 256  # iterations: with fewer, one core is as fast


@dataclass(frozen=True, slots=True)
class RowIndex:
    """An index of a loop's variable, with a number added to it, on one axis of an array.

    - `loop`: the loop of the nest, counted from the outermost one.
    """

    array: str
    axis: int
    loop: int
    added: int


@dataclass(eq=False)
class LiftedLoop:
    """A loop, or a nest, that is as many statements of whole arrays as it has statements of rows.

    - `given`: variables that it is given.
    - `indices`: the indices that its variables are.
    - `stored`: the arrays that it stores to.
    - `elements`: the arrays of which it reads single elements.
    - `ranks`: the most axes that arrays may have of which it is not known.
    - `counted`: the arrays that a loop's variable is stored to, and which.
    - `other`: what runs otherwise; None where that is not one object.
    - `is_used`: whether the statements of whole arrays ran last.
    - `parts`, `other_parts`: what runs as a part of these statements, and of what runs otherwise.
    """

    location: StatementLocation
    given: tuple[str, ...]
    indices: tuple[RowIndex, ...]
    stored: frozenset[str]
    elements: frozenset[str]
    ranks: Mapping[str, int]
    counted: Mapping[str, int]
    other: Any = None
    is_used: bool = False
    parts: list[Any] = field(default_factory=list)
    other_parts: list[Any] = field(default_factory=list)
    _suited: BoundedCache[tuple[Any, ...], None] = field(default_factory=lambda: BoundedCache(64), init=False)

    @property
    def unused(self) -> list[Any]:
        """The parts of the version that did not run last."""
        return self.other_parts if self.is_used else self.parts

    def suits(self, bounds: Sequence[Any], captured: Sequence[Any]) -> bool:
        """Whether its statements are to be those of whole arrays for these values.

        - `bounds`: start, stop and step of each loop, outermost first.
        - `captured`: the values of `given`.
        """
        values = None if is_simulating() else described(bounds, captured, (), are_strong=False, asked=())
        is_known = values is not None and values.key in self._suited and self._has_disjoint_stores(captured)
        self.is_used = is_known or self._suits(bounds, dict(zip(self.given, captured, strict=True)))
        if self.is_used and not is_known and values is not None:
            self._suited[values.key] = None
        return self.is_used

    def _has_disjoint_stores(self, captured: Sequence[Any]) -> bool:
        return have_disjoint_spans([self.given.index(name) for name in self.stored], captured)

    def _suits(self, bounds: Sequence[Any], named: Mapping[str, Any]) -> bool:
        arrays = [each for each in named.values() if is_device_array(each)]
        if is_simulating() or not arrays or not all(isinstance(each, (int, np.integer)) for each in bounds):
            return False
        queue = queue_of(arrays[0])
        if device_facts(queue).is_cpu or any(map(is_numpy_array, named.values())):
            return False  # a processor has a row done before it has found all of them
        ranges = [range(*bounds[at : at + 3]) for at in range(0, len(bounds), 3)]
        if not all(ranges) or any(queue_of(each) != queue for each in arrays):
            return False
        for index in self.indices:  # slices stop at the end of an axis, where an index is an error
            shape, own = getattr(named[index.array], "shape", ()), ranges[index.loop]
            if index.axis >= len(shape) or own[0] + index.added < 0 or own[-1] + index.added >= shape[index.axis]:
                return False
        return (
            all(named[name].dtype.kind in "fc" or named[name].dtype in SAME_TYPES for name in self.elements)
            and all(getattr(named[name], "ndim", 0) <= most for name, most in self.ranks.items())
            and all(_holds(named[name].dtype, ranges[loop]) for name, loop in self.counted.items())
            and stores_are_disjoint(self.stored, named)
        )


@dataclass(eq=False)
class ScanLoop(LiftedLoop):
    """A loop whose recurrence is a scan: one of an array, where numbers have the types that they have on the host.

    - `target`: the array that the running values are stored to.
    - `makes_floats`: whether the expression may give floats of integers.
    """

    target: str = ""
    makes_floats: bool = False

    def _suits(self, bounds: Sequence[Any], named: Mapping[str, Any]) -> bool:
        dtype = getattr(named[self.target], "dtype", None)
        if dtype not in _SCANNED or not super()._suits(bounds, named) or len(range(*bounds)) < _SHORTEST_SCAN:
            return False
        numbers = [each for each in named.values() if not is_device_array(each)]
        if any(each.dtype != dtype or each.ndim != 1 for each in named.values() if is_device_array(each)):
            return False
        if dtype.kind == "i":
            return not self.makes_floats and all(type(each) is int or isinstance(each, np.int64) for each in numbers)
        return all(type(each) in (int, float) or isinstance(each, (np.int64, np.float64)) for each in numbers)


def stores_are_disjoint(stored: frozenset[str], named: Mapping[str, Any]) -> bool:
    """Whether arrays that a loop stores to share memory with no other one that it has, and have no element twice."""
    for name in stored:
        array = named.get(name)
        if not is_device_array(array):
            return False
        strides = library(array).fields(array).strides
        if any(not stride and length > 1 for stride, length in zip(strides, array.shape, strict=True)):
            return False
        if any(is_device_array(each) and may_share_memory(array, each) for other, each in named.items()
               if other != name):  # fmt: skip
            return False
    return True


def counts(target: Any, start: int, stop: int, step: int) -> Any:
    """The values of a loop's variable, in an array on the queue of another one."""
    own = library(target)
    with own.creating(queue_of(target), {}) as words:
        return own.functions.arange(start, stop, step, dtype="int64", **words)


def _holds(dtype: np.dtype[Any], values: range) -> bool:
    """Whether an array's dtype has each of a loop's values as it is."""
    if dtype.kind in "fc":
        return dtype.itemsize >= (8 if dtype.kind == "f" else 16) and max(abs(values[0]), abs(values[-1])) < 1 << 53
    return dtype.kind in "iu" and np.iinfo(dtype).min <= values[0] and values[-1] <= np.iinfo(dtype).max
