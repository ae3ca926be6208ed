"""A plain loop over small arrays that one work-group does in one launch, all of its iterations.

Statements of whole arrays are shared among the work-items, with barriers between them, which take less time than
launches do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
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
    is_numpy_array,
    may_share_memory,
    queue_of,
)
from kapi_numba_offload.loops.body.group_arrays import GroupArrays
from kapi_numba_offload.loops.body.state import NotInKernelError
from kapi_numba_offload.loops.body.views import ArrayFacts, LaunchFacts, LaunchNumbers
from kapi_numba_offload.loops.captured_values import loop_values, specialization_key
from kapi_numba_offload.loops.cooperation.group_body import group_body
from kapi_numba_offload.loops.host.step_sizes import StepSizes
from kapi_numba_offload.loops.host.worked_axes import most_elements
from kapi_numba_offload.loops.loop_builder import reduction_types
from kapi_numba_offload.loops.loop_kernel import LoopFunctions
from kapi_numba_offload.loops.loop_syntax import LoopSyntax
from kapi_numba_offload.run.kernel_launch import KernelLaunch
from kapi_numba_offload.run.launching import launch
from kapi_numba_offload.run.options import OffloadOptions
from kapi_numba_offload.run.remembered import Remembered
from kapi_numba_offload.run.simulation import is_simulating
from kapi_numba_offload.run.timing import timed
from kapi_sim.errors import DtypeError, KernelCompilationError
from kapi_types.kernel_typing import ProblemsFound

__all__ = ["GroupLoop"]

_WORK_ITEMS = 512  # of the group: more of them have too few registers each for long expressions
_NUMBERS = (int, float, complex, np.generic)


@dataclass(frozen=True, slots=True)
class _Built:
    """The kernel for some types.

    - `arrays`: what the group makes, and the conditions of its launches.
    - `stored`: positions of the captured arrays that it stores to.
    - `dtypes`, `weak`: those of the variables that it leaves, and which of them are Python's own numbers.
    """

    kernel: kapi_runtime.Kernel
    arrays: GroupArrays
    stored: tuple[int, ...]
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
    _made: Remembered[tuple[Any, ...], _Built | str] = field(default_factory=Remembered)

    def suits(self, *captured: Any) -> bool:
        """Whether one group is to do it for these values."""
        self.latest = None
        arrays = [each for each in captured if is_device_array(each)]
        if not arrays or not most_elements() or is_simulating() or self.options.boundscheck:
            return False
        if any(is_numpy_array(each) or isinstance(each, (list, tuple)) for each in captured):
            return False
        queue, named = queue_of(arrays[0]), dict(zip(self.sizes.given, captured, strict=True))
        facts = device_facts(queue)
        if facts.is_cpu or facts.has_host_memory or any(queue_of(each) != queue for each in arrays):
            return False
        if not all(isinstance(named[each], _NUMBERS) for each in self.syntax.reductions):
            return False
        if not self.sizes.are_quickest_in_a_group(captured):
            return False
        built = self._built(named)
        if not isinstance(built, _Built) or not built.arrays.hold(named):
            return False
        own = [named[each] for each in self.syntax.captured]
        return not any(
            may_share_memory(own[at], other)
            for at in built.stored for number, other in enumerate(own) if number != at and is_device_array(other)
        )  # fmt: skip

    @timed
    def __call__(self, *captured: Any) -> tuple[Any, ...]:
        """Run the loop; the variables that it leaves."""
        named = dict(zip(self.sizes.given, captured, strict=True))
        built = self._built(named)
        assert isinstance(built, _Built)
        values, starts = self._values(named), self._starts(named, built)
        queue = queue_of(next(filter(is_device_array, values)))
        shapes = [(each.shape(named), each.dtype, "device") for each in built.arrays.made.values()]
        results = [((1,), each, "device") for each in built.dtypes]
        made, left = ([allocate(*each, queue) for each in group] for group in (shapes, results))
        size = min(_WORK_ITEMS, device_facts(queue).max_work_group_size)
        space = kapi_runtime.NdRange([size], [size])
        launch(built.kernel, space, [*left, *starts, *values, *made, 0, 1, 1])
        self.latest = KernelLaunch(built.kernel, space, queue, [*results, *shapes], sum(e.nbytes for e in left))
        numbers = [host_copy(each)[0] for each in left]
        return tuple(each.item() if is_weak else each for each, is_weak in zip(numbers, built.weak, strict=True))

    def _values(self, named: dict[str, Any]) -> list[Any]:
        return loop_values([named[each] for each in self.syntax.captured], are_strong=self.numba_types)

    def _initial(self, named: dict[str, Any]) -> list[Any]:
        return loop_values([named[each] for each in self.syntax.reductions], are_strong=self.numba_types)

    def _starts(self, named: dict[str, Any], built: _Built) -> list[Any]:
        """The values of the variables that it leaves, in the types that they have in the kernel."""
        numbers = zip(self._initial(named), built.dtypes, built.weak, strict=True)
        return [
            dtype.type(each).item() if is_weak else dtype.type(each) for each, dtype, is_weak in numbers
        ]  # fmt: skip

    def _built(self, named: dict[str, Any]) -> _Built | str:
        """The kernel for values of such types; or why there is none."""
        values, initial = self._values(named), self._initial(named)
        key = (*map(specialization_key, values), *map(type, initial))
        made = self._made.get(key)
        if made is None:
            try:
                made = self._build(named, values, initial)
            except (NotInKernelError, ProblemsFound, KernelCompilationError, DtypeError) as error:
                made = str(error) or type(error).__name__
            self._made[key] = made
        return made

    def _build(self, named: dict[str, Any], values: Sequence[Any], initial: Sequence[Any]) -> _Built | str:
        known = self._known(dict(zip(self.syntax.captured, values, strict=True)))
        functions = LoopFunctions(self.function, self.names, self.syntax)
        lowered = functions.lowered_body(known, has_numba_floats=self.numba_types)
        arrays = known.group
        assert arrays is not None
        body = group_body(lowered.statements, functions.value_of(lowered.outside), (), is_inward=False)
        if body is None:
            return "its statements are in no order that a group has"
        syntax = replace(self.syntax, captured=[*self.syntax.captured, *arrays.made])
        functions = LoopFunctions(self.function, self.names, syntax)
        functions.use(lowered.outside)
        queue = queue_of(next(filter(is_device_array, values)))
        made = [allocate((1,) * len(each.lengths), each.dtype, "device", queue) for each in arrays.made.values()]
        dtypes, weak = reduction_types(functions, syntax, lowered.statements, [*values, *made], initial)
        starts = dict(zip(self.syntax.reductions, initial, strict=True))
        kernel = kapi_runtime.kernel(fastmath=self.options.fastmath)(functions.cooperative(body.statements, starts))
        stored = tuple(at for at, name in enumerate(self.syntax.captured) if name in body.stored)
        built = _Built(kernel, arrays, stored, dtypes, weak)
        # A launch without work-items compiles, so that what it cannot be is known before it is used.
        left = [allocate((1,), each, "device", queue) for each in dtypes]
        args = [*left, *self._starts(named, built), *values, *made, 0, 1, 0]
        kapi_runtime.call_kernel_async(kernel, kapi_runtime.NdRange([0], [1]), (), *args)
        return built

    def _known(self, values: dict[str, Any]) -> LaunchFacts:
        """What the kernel is made for."""
        arrays = {
            name: ArrayFacts(each.dtype, [length == 1 for length in each.shape])
            for name, each in values.items() if is_device_array(each)
        }  # fmt: skip
        numbers = {name: each for name, each in values.items() if isinstance(each, (int, np.integer, np.bool_))}
        lower = {name: 0 for name, each in numbers.items() if each >= 0}
        return LaunchFacts(arrays, lower, LaunchNumbers({}), set(numbers), GroupArrays(frozenset(values)))
