"""A plain loop whose iterations are independent, at run time: a kernel for values that suit one."""

from __future__ import annotations

import ast
import copy
import itertools
from collections.abc import Mapping, Sequence
from math import prod
from types import CodeType, MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from kapi_numba_offload.libraries.arrays import (
    allocate,
    device_facts,
    have_disjoint_spans,
    is_device_array,
    library,
    queue_of,
)
from kapi_numba_offload.loops.body.passes.last_stores import last_stores, numbers_of_axes
from kapi_numba_offload.loops.coarsening import may_coarsen
from kapi_numba_offload.loops.host.loop_costs import LoopCosts, known_values
from kapi_numba_offload.loops.host.short_iterations import SAME_TYPES, has_same_types
from kapi_numba_offload.loops.lifted_loop import stores_are_disjoint
from kapi_numba_offload.loops.loop_builder import BuiltLoop
from kapi_numba_offload.loops.parallel_loop import ParallelLoop
from kapi_numba_offload.loops.updates import LAST, SAME
from kapi_numba_offload.run.bounded_cache import BoundedCache
from kapi_numba_offload.run.python_numbers import element
from kapi_numba_offload.run.simulation import is_simulating
from kapi_numba_offload.run.timing import timed

__all__ = ["IndependentLoop", "NestedLoop", "Unsuited", "index_code"]

_ROUNDED = frozenset(map(np.dtype, ("float32", "complex64")))
"""Dtypes whose operations are rounded to another precision by Numba on the host, which a reduction would show."""
_SCATTERED = {name: frozenset(map(np.dtype, ("int64", "float64", "float32"))) for name in ("sum", "Gt", "Lt")}
"""Dtypes of elements that iterations may update at once, by kind; sums of floats are rounded as in reductions."""
_INTEGERS = frozenset((np.dtype(np.int64),))
_ON_GPU = 256  # iterations: with fewer, one core is as fast
_WARP, _WORK_ON_GPU = 32, 1 << 14  # unless they are as many, and have so many statements: copies take longer
_NUMBER = np.dtype("int64")
_ROW = 64  # times as many elements in a row: longer rows are quicker one by one, each by all of the device
_ON_CPU = 1 << 17  # statements: with fewer, one core has done them before a launch is
_PER_UNIT = 2  # iterations for each unit of a CPU


def index_code(expression: ast.expr) -> CodeType:
    """The code of an index, of integers alone."""
    return compile(ast.fix_missing_locations(ast.Expression(copy.deepcopy(expression))), "<index>", "eval")


def _zeros(array: Any) -> Any:
    """A number of no iteration for each element of an array."""
    own = library(array)
    with own.creating(queue_of(array), {}) as words:
        return own.functions.zeros(array.shape, dtype=_NUMBER.name, **words)


class Unsuited(NamedTuple):
    """The reason for which the values of a call suit no kernel.

    - `text`: what a warning says.
    - `is_quicker`: whether the host is chosen, as it takes less time than a launch.
    """

    text: str
    is_quicker: bool = False


class IndependentLoop(ParallelLoop):
    """A plain loop that is a kernel where `suits` says so.

    - `*given`, `**named`: as for `ParallelLoop`.
    - `costs`: what its cost depends on.
    - `has_elements`: whether it is over single elements, which the host runs otherwise.
    - `indices`: indices that differ between iterations if they have one sign in all: of those from the end, one may be
      another.
    - `stored`: the arrays that it stores to.
    - `scattered`: those of them that iterations may update or store to at one element, and the kind of this.
    - `order`: which stores have an order; empty if none has.
    - `of_truth`: the arrays whose elements are truth values wherever it has them, so that they may be bools.
    - `other`: what runs for values that do not suit; None where that is not one object.
    - `teller`: what tells why values do not suit, as its `unsuited`; None where nothing does.
    """

    kind = "loop"
    has_one_sign = True  # or `suits` says no

    def __init__(
        self,
        *given: Any,
        costs: LoopCosts,
        has_elements: bool,
        indices: tuple[CodeType, ...],
        stored: frozenset[str],
        scattered: Mapping[str, str] = MappingProxyType({}),
        order: str = "",
        of_truth: frozenset[str] = frozenset(),
        **named: Any,
    ) -> None:
        super().__init__(*given, **named)
        self.other: Any = None
        self.teller: Any = None
        self._scattered, self._order, self._of_truth = scattered, order, of_truth
        last = sorted(name for name, kind in scattered.items() if kind == LAST)
        function, scope, syntax, *rest = given
        self._last_positions = list(map(syntax.captured.index, last))
        self._in_order = [
            ParallelLoop(function, scope, each, *rest, **named) for each in (last_stores(syntax, last) if last else ())
        ]
        self._costs, self._has_elements, self._indices, self._names_stored = costs, has_elements, indices, stored
        names = self.syntax.captured
        self._asked = frozenset(
            map(names.index, costs.names.union(*(each.co_names for each in indices)).intersection(names))
        )
        self._store_positions = frozenset(map(names.index, stored.intersection(names)))
        self._suited: BoundedCache[tuple[Any, ...], None] = BoundedCache()

    def __call__(self, queue: Any, bounds: Sequence[int], captured: Sequence[Any], initial: Sequence[Any]) -> Any:
        """Run the loop, as a `ParallelLoop` does."""
        if not self._in_order:
            return super().__call__(queue, bounds, captured, initial)
        return self._run_in_order(queue, bounds, list(map(element, captured)))

    @timed
    def _run_in_order(self, queue: Any, bounds: Sequence[int], captured: Sequence[Any]) -> tuple[()]:
        """Launch both kernels, so that of several stores to one element the last one stays."""
        spans = [range(*bounds[at : at + 3]) for at in range(0, len(bounds), 3)]
        numbers = [_zeros(captured[at]) for at in self._last_positions]
        for each in self._in_order:
            each(queue, bounds, [*captured, *numbers_of_axes(spans), *numbers], ())
            self.latest = each.latest
        return ()

    def suits(self, queue: Any, bounds: Sequence[Any], captured: Sequence[Any], initial: Sequence[Any]) -> bool:
        """Whether it is to be a kernel for these values: iterations are independent, and enough for the device.

        - `queue`, `bounds`, `captured`, `initial`: as for a call.
        """
        self.latest = None
        why = None
        if not (self._suited and self._is_suited(bounds, captured, initial)):
            why = self._unsuited(bounds, list(map(element, captured)), list(map(element, initial)))
            if why is None and (values := self._described(bounds, captured, initial)) is not None:
                self._suited[values.key] = None
        if self.teller is not None:
            self.teller.unsuited = why
        return why is None

    def may_suit(self, named: Mapping[str, Any]) -> bool:
        """Whether it is likely a kernel, where not all of its variables have a value yet: for large arrays on a GPU."""
        arrays = [each for each in named.values() if is_device_array(each)]
        if not arrays or is_simulating() or device_facts(queue_of(arrays[0])).has_host_memory:
            return False
        return max(each.size for each in arrays) >= _WORK_ON_GPU and not self._unlike_the_hosts(dict(named), ())

    def _is_suited(self, bounds: Sequence[Any], captured: Sequence[Any], initial: Sequence[Any]) -> bool:
        """Whether values like these suited a kernel before, and no array that is stored to lies in another one."""
        values = None if is_simulating() else self._described(bounds, captured, initial)
        return (
            values is not None and values.key in self._suited and have_disjoint_spans(self._store_positions, captured)
        )

    def _unsuited(self, bounds: Sequence[Any], captured: Sequence[Any], initial: Sequence[Any]) -> Unsuited | None:
        """The reason for which it is no kernel for these values; None if it is one."""
        arrays = [each for each in captured if is_device_array(each)]
        if is_simulating() or not all(isinstance(each, (int, np.integer)) for each in bounds) or not arrays:
            return Unsuited("the values that it is given suit no kernel")
        if any(map(is_device_array, initial)) or any(queue_of(each) != queue_of(arrays[0]) for each in arrays):
            return Unsuited("its arrays are on several queues, or it reduces into an array")
        named = dict(zip(self.syntax.captured, captured, strict=True))
        spans = [range(*bounds[at : at + 3]) for at in range(0, len(bounds), 3)]
        extents = list(map(len, spans))
        other = self._unlike_the_hosts(named, initial)
        if other:
            return Unsuited(f"its iterations are independent, but {other}")
        if all(extents) and not self._are_distinct(named, spans):
            return Unsuited(
                "its indices are of both signs, or its arrays overlap: iterations may have the same element"
            )
        facts = device_facts(queue_of(arrays[0]))
        if self._order and facts.has_host_memory:
            return Unsuited(self._order)
        if not self._are_enough(named, extents, arrays[0]):
            return Unsuited(
                f"its iterations are independent, but have too little work for the device: {prod(extents)} iterations",
                is_quicker=facts.has_host_memory,
            )
        made = self._builder.prepared(spans, captured, initial, may_coarsen(extents, facts))
        if not isinstance(made, BuiltLoop):
            return Unsuited(
                f"its iterations are independent, but it has code that kernels do not support: {made.detail}"
            )
        stored = [captured[at] for at in self._last_positions]
        numbers = [allocate(each.shape, _NUMBER, "device", queue_of(each)) for each in stored]
        for each in self._in_order:
            in_order = each.prepared(spans, [*captured, *numbers_of_axes(spans), *numbers])
            if not isinstance(in_order, BuiltLoop):
                return Unsuited(in_order.detail)
        if all(extents) and not made.have_equal_lengths(*captured):
            return Unsuited("its iterations are independent, but operands have different lengths, or none")
        shared = self._shared(made, captured)
        if shared is not None:
            return Unsuited(f"its iterations are independent, but `{shared.variable}` shares memory with what it reads")
        has_nans = {name for name, each in zip(self.syntax.reductions, made.dtypes, strict=True) if each.kind in "fc"}
        if has_nans & self.syntax.ordered:
            return Unsuited("`m = max(x, m)` shows the order of nans: `m = max(m, x)` passes over them")
        return None

    def _unlike_the_hosts(self, named: dict[str, Any], initial: Sequence[Any]) -> str:
        """Words on a number with another type in a kernel than on the host, where the loop runs otherwise; or none."""
        known = SAME_TYPES if self.syntax.reductions else SAME_TYPES | _ROUNDED
        for name, each in named.items():
            is_truth = is_device_array(each) and each.dtype.kind == "b" and name in self._of_truth
            if is_device_array(each) and each.dtype not in known and not is_truth:
                return (
                    f"`{name}` is of {each.dtype}: it is a kernel where `{name}` is of 64-bit numbers, whose "
                    "operations have the same types for Numba"
                )
            if not is_device_array(each) and not has_same_types(each):
                return f"`{name}` is a {type(each).__name__}"
        if not all(map(has_same_types, initial)):
            return "it reduces into other numbers than those of 64 bits"
        for each in sorted(self._scattered):
            if self._scattered[each].startswith((LAST, SAME)):
                continue
            if getattr(named.get(each), "dtype", None) not in _SCATTERED.get(self._scattered[each], _INTEGERS):
                return f"they may update the same element of `{each}`, and the order of the updates would show"
        return ""

    def _are_enough(self, named: dict[str, Any], extents: Sequence[int], array: Any) -> bool:
        """Whether there is work for all of the device."""
        facts = device_facts(queue_of(array))
        if self._has_elements and not self.options.may_fall_back:
            return True
        if not facts.is_cpu:
            if self._has_elements and prod(extents) < _ON_GPU:
                return prod(extents) >= _WARP and self._costs.count(known_values(named)) >= _WORK_ON_GPU
            longest = max(each.size for each in named.values() if is_device_array(each)) / max(1, prod(extents))
            return prod(extents) >= max(_ON_GPU, 0 if self._has_elements else longest / _ROW)
        if not self._has_elements:
            return False  # rows are as quick one by one
        return prod(extents) >= _PER_UNIT * facts.units and self._costs.count(known_values(named)) >= _ON_CPU

    def _are_distinct(self, named: dict[str, Any], ranges: Sequence[range]) -> bool:
        """Whether different iterations store to different elements, and read none that another one stores."""
        if not stores_are_disjoint(self._names_stored, named):
            return False
        variables = [each.variable for each in self.syntax.axes]
        values = known_values(named)
        for index in self._indices:
            corners = itertools.product(*((each[0], each[-1]) for each in ranges))
            signs = {
                eval(index, {"__builtins__": {}}, {**values, **dict(zip(variables, corner, strict=True))}) >= 0
                for corner in corners
            }
            if len(signs) > 1:
                return False
        return True


class NestedLoop(IndependentLoop):
    """A `prange` loop around independent iterations: on a GPU all of the nest is its index space.

    A work-item for each iteration of the outer loop alone would leave the GPU without work, and read rows far apart.
    """

    kind = "prange loop"

    def _unsuited(self, bounds: Sequence[Any], captured: Sequence[Any], initial: Sequence[Any]) -> Unsuited | None:
        array = next(filter(is_device_array, captured), None)
        if array is None or device_facts(queue_of(array)).is_cpu:  # asked at each call, and soon answered
            return Unsuited("a processor runs the inner loops in each work-item")
        return super()._unsuited(bounds, captured, initial)

    def _unlike_the_hosts(self, named: dict[str, Any], initial: Sequence[Any]) -> str:
        return ""  # it is a kernel otherwise

    def _are_enough(self, named: dict[str, Any], extents: Sequence[int], array: Any) -> bool:
        return prod(extents) > extents[0]
