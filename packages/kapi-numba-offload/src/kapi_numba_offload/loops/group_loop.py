"""A plain loop over small arrays that one work-group does in one launch, all of its iterations.

Statements of whole arrays are shared among the work-items, with barriers between them, which take less time than
launches do.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any

import numpy as np

import kapi_runtime
from kapi_numba_offload.analysis.scope import Scope
from kapi_numba_offload.elements.statements import StatementLocation
from kapi_numba_offload.libraries.arrays import (
    allocate,
    device_facts,
    host_copy,
    is_device_array,
    library,
    may_share_memory,
    queue_of,
)
from kapi_numba_offload.loops.body.launches.group_arrays import GroupArrays, MadeArray
from kapi_numba_offload.loops.body.launches.integer_expressions import resolve
from kapi_numba_offload.loops.body.pipeline import LoweredBody
from kapi_numba_offload.loops.body.state import NotInKernelError
from kapi_numba_offload.loops.body.views import ArrayFacts, LaunchFacts, LaunchNumbers
from kapi_numba_offload.loops.captured_values import loop_values, specialization_key
from kapi_numba_offload.loops.cooperation.group_body import group_body
from kapi_numba_offload.loops.cooperation.own_elements import OwnElements, own_elements
from kapi_numba_offload.loops.host.iteration_work import StepSizes
from kapi_numba_offload.loops.host.worked_axes import most_elements
from kapi_numba_offload.loops.loop_builder import reduction_types
from kapi_numba_offload.loops.loop_kernel import LoopFunctions
from kapi_numba_offload.loops.loop_syntax import LoopSyntax
from kapi_numba_offload.run.bounded_cache import BoundedCache
from kapi_numba_offload.run.launch_record import KernelLaunch
from kapi_numba_offload.run.launching import launch
from kapi_numba_offload.run.options import OffloadOptions
from kapi_numba_offload.run.simulation import is_simulating
from kapi_numba_offload.run.timing import timed
from kapi_sim.errors import DtypeError, KernelCompilationError
from kapi_types.kernel_typing import ProblemsFound

__all__ = ["GroupLoop"]

_WORK_ITEMS = 1024  # of one group
_ITEMS_APART = 128  # of each of many groups
_GROUPS_PER_UNIT = 32  # with more of them, each work-item has several elements
_ITEM = np.dtype("int64")
_INTEGER_BITS = 64
_NUMBERS = (int, float, complex, np.generic)


@dataclass(frozen=True, slots=True)
class _Lowered:
    """The loop with elements only, for some types.

    - `arrays`: what the group makes, and the conditions of its launches.
    - `outside`: as that of `LoweredBody`.
    - `stored`: positions of the captured arrays that it stores to.
    - `lengths`: of what is distributed, where each work-item has elements of its own; empty where one group has to do
      it.
    """

    body: LoweredBody
    statements: list[ast.stmt]
    arrays: GroupArrays
    stored: tuple[int, ...]
    lengths: tuple[str, ...]

    def items(self, named: Mapping[str, Any]) -> int:
        """The work-items that have elements of their own."""
        return prod(MadeArray(_ITEM, self.lengths).shape(named))


@dataclass(frozen=True, slots=True)
class _Built:
    """The kernel for some types.

    - `dtypes`, `weak`: those of the variables that it leaves, and which of them are Python's own numbers.
    """

    kernel: kapi_runtime.Kernel
    dtypes: Sequence[np.dtype[Any]]
    weak: Sequence[bool]


@dataclass(eq=False)
class GroupLoop:
    """A loop that one work-group does where `suits` says so.

    - `syntax`: the loop as the body of one iteration. The variables that it leaves are the reductions.
    - `sizes`: what the work of its iterations depends on.
    - `other`: what runs otherwise; None where that is not one object.
    - `latest`: the launch of the latest run; None if that was no launch of this.
    """

    function: Callable[..., Any]
    names: Scope
    syntax: LoopSyntax
    location: StatementLocation
    sizes: StepSizes
    options: OffloadOptions
    numba_types: bool
    other: Any
    latest: KernelLaunch | None = None
    _bodies: BoundedCache[tuple[Any, ...], _Lowered | str] = field(default_factory=BoundedCache)
    _made: BoundedCache[tuple[Any, ...], _Built | str] = field(default_factory=BoundedCache)

    def suits(self, *captured: Any) -> bool:
        """Whether one group is to do it for these values."""
        self.latest = None
        arrays = [each for each in captured if is_device_array(each)]
        if not arrays or not most_elements() or is_simulating() or self.options.boundscheck:
            return False
        if not all(map(_is_argument, captured)):
            return False
        queue, named = queue_of(arrays[0]), dict(zip(self.sizes.given, captured, strict=True))
        facts = device_facts(queue)
        if facts.is_cpu or facts.has_host_memory or any(queue_of(each) != queue for each in arrays):
            return False
        if not all(isinstance(named[each], _NUMBERS) for each in self.syntax.reductions):
            return False
        if not self.sizes.are_quickest_in_groups(captured, facts.units, waits=False):
            return False  # whatever its body is
        lowered = self._lowered(named)
        if not isinstance(lowered, _Lowered) or not lowered.arrays.hold(named):
            return False
        items = max(1, lowered.items(named)) if lowered.lengths else _WORK_ITEMS
        full_groups, waits = min(facts.units, items / _WORK_ITEMS), not lowered.lengths or items <= _ITEMS_APART
        if not self.sizes.are_quickest_in_groups(captured, full_groups, waits=waits):
            return False
        own = [named[each] for each in self.syntax.captured]
        if not all(map(_has_own_elements, [own[at] for at in lowered.stored])):
            return False
        shared = any(
            may_share_memory(own[at], other)
            for at in lowered.stored for number, other in enumerate(own) if number != at and is_device_array(other)
        )  # fmt: skip
        return not shared and isinstance(self._built(named, lowered), _Built)

    @timed
    def __call__(self, *captured: Any) -> tuple[Any, ...]:
        """Run the loop; the variables that it leaves."""
        named = dict(zip(self.sizes.given, captured, strict=True))
        lowered = self._lowered(named)
        assert isinstance(lowered, _Lowered)
        built = self._built(named, lowered)
        assert isinstance(built, _Built)
        values, starts = self._values(named), self._starts(named, built)
        queue = queue_of(next(filter(is_device_array, values)))
        facts = device_facts(queue)
        shapes = [(each.shape(named), each.dtype, "device") for each in lowered.arrays.made.values()]
        results = [((1,), each, "device") for each in built.dtypes]
        made, left = ([allocate(*each, queue) for each in group] for group in (shapes, results))
        size = _ITEMS_APART if lowered.lengths else min(_WORK_ITEMS, facts.max_work_group_size)
        groups = 1
        if lowered.lengths:
            groups = max(1, min(-(-lowered.items(named) // size), _GROUPS_PER_UNIT * facts.units))
        space = kapi_runtime.NdRange([groups * size], [size])
        launch(built.kernel, space, [*left, *starts, *values, *made, 0, 1, 1])
        self.latest = KernelLaunch(built.kernel, space, queue, [*results, *shapes], sum(e.nbytes for e in left))
        numbers = [host_copy(each)[0] for each in left]
        return tuple(each.item() if is_weak else each for each, is_weak in zip(numbers, built.weak, strict=True))

    def _values(self, named: Mapping[str, Any]) -> list[Any]:
        return loop_values([named[each] for each in self.syntax.captured], are_strong=self.numba_types)

    def _initial(self, named: Mapping[str, Any]) -> list[Any]:
        return loop_values([named[each] for each in self.syntax.reductions], are_strong=self.numba_types)

    def _starts(self, named: Mapping[str, Any], built: _Built) -> list[Any]:
        """The values of the variables that it leaves, in the types that they have in the kernel."""
        numbers = zip(self._initial(named), built.dtypes, built.weak, strict=True)
        return [
            dtype.type(each).item() if is_weak else dtype.type(each) for each, dtype, is_weak in numbers
        ]  # fmt: skip

    def _key(self, named: Mapping[str, Any]) -> tuple[Any, ...]:
        return *map(specialization_key, self._values(named)), *map(type, self._initial(named))

    def _lowered(self, named: Mapping[str, Any]) -> _Lowered | str:
        """The loop for values of such types; or why a group cannot do it."""
        key = self._key(named)
        made = self._bodies.get(key)
        if made is None:
            try:
                made = self._lower(self._known(dict(zip(self.syntax.captured, self._values(named), strict=True))))
            except NotInKernelError as error:
                made = str(error)
            self._bodies[key] = made
        return made

    def _lower(self, known: LaunchFacts) -> _Lowered | str:
        functions = LoopFunctions(self.function, self.names, self.syntax)
        body, arrays = functions.lowered_body(known, has_numba_floats=self.numba_types), known.group
        value_of, left = functions.value_of(body.outside), self.syntax.reductions
        together = group_body(body.statements, value_of, left, is_inward=False)
        if together is None or arrays is None:
            return "its statements are in no order that a group has"
        stored = tuple(at for at, name in enumerate(self.syntax.captured) if name in together.stored)
        independent = own_elements(together)
        lengths = None if independent is None else _required_lengths(arrays, independent)
        if independent is None or lengths is None:
            return _Lowered(body, together.statements, arrays, stored, ())
        return _Lowered(body, independent.statements, arrays, stored, lengths)

    def _built(self, named: Mapping[str, Any], lowered: _Lowered) -> _Built | str:
        """The kernel for values of such types; or why there is none."""
        key = self._key(named)
        made = self._made.get(key)
        if made is None:
            try:
                made = self._build(named, lowered)
            except (ProblemsFound, KernelCompilationError, DtypeError) as error:
                made = str(error) or type(error).__name__
            self._made[key] = made
        return made

    def _build(self, named: Mapping[str, Any], lowered: _Lowered) -> _Built:
        values, initial = self._values(named), self._initial(named)
        syntax = replace(self.syntax, captured=[*self.syntax.captured, *lowered.arrays.made])
        functions = LoopFunctions(self.function, self.names, syntax)
        functions.use(lowered.body.outside)
        queue = queue_of(next(filter(is_device_array, values)))
        made = [allocate((1,) * len(e.lengths), e.dtype, "device", queue) for e in lowered.arrays.made.values()]
        dtypes, weak = reduction_types(functions, syntax, lowered.body.statements, [*values, *made], initial)
        starts = dict(zip(self.syntax.reductions, initial, strict=True))
        write = functions.independent if lowered.lengths else functions.cooperative
        kernel = kapi_runtime.kernel(fastmath=self.options.fastmath)(write(lowered.statements, starts))
        built = _Built(kernel, dtypes, weak)
        # A launch without work-items compiles, so that what it cannot be is known before it is used.
        left = [allocate((1,), each, "device", queue) for each in dtypes]
        args = [*left, *self._starts(named, built), *values, *made, 0, 1, 0]
        kapi_runtime.call_kernel_async(kernel, kapi_runtime.NdRange([0], [1]), (), *args)
        return built

    def _known(self, values: dict[str, Any]) -> LaunchFacts:
        """Facts of the values that the kernel is made for."""
        arrays = {
            name: ArrayFacts(each.dtype, [length == 1 for length in each.shape])
            for name, each in values.items() if is_device_array(each)
        }  # fmt: skip
        numbers = {name: each for name, each in values.items() if isinstance(each, (int, np.integer, np.bool_))}
        lower = {name: 0 for name, each in numbers.items() if each >= 0}
        return LaunchFacts(arrays, lower, LaunchNumbers({}), set(numbers), GroupArrays(frozenset(values)))


def _is_argument(value: Any) -> bool:
    """Whether a value is a number that kernels have, or an array: one of rank 0 may be changed as a number is not."""
    if is_device_array(value):
        return bool(value.ndim)
    if isinstance(value, int):
        return value.bit_length() < _INTEGER_BITS
    return isinstance(value, _NUMBERS)


def _has_own_elements(array: Any) -> bool:
    """Whether an array may be stored to, and has no element twice."""
    own = library(array)
    return own.is_writable(array) and not own.has_repeated_elements(array)


def _required_lengths(arrays: GroupArrays, independent: OwnElements) -> tuple[str, ...] | None:
    """The lengths of what is distributed, those of one level required to be equal; None if the launch does not tell."""
    found = []
    for level in independent.lengths:
        values = [resolve(each, arrays.meaning) for each in level]
        known = {ast.unparse(each): each for each in values if each is not None}
        if None in values:
            return None
        first, *others = known
        for each in others:
            arrays.require("A == B", A=known[first], B=known[each])
        found.append(first)
    return tuple(found)
