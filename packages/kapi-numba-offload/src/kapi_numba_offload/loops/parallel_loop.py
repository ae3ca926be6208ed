"""A `prange` loop at run time: a kernel for the types in hand, or the host with a warning."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np

import kapi_runtime
from kapi_numba_offload.analysis.effects import asserts
from kapi_numba_offload.analysis.random_functions import draws
from kapi_numba_offload.analysis.scope import Scope
from kapi_numba_offload.analysis.syntax import nodes_in
from kapi_numba_offload.elements.group_reduction import (
    combines_by_items,
    combining_arguments,
    combining_kernel,
    combining_space,
)
from kapi_numba_offload.elements.reduction_operators import Accumulator, as_dtype, combine
from kapi_numba_offload.elements.work_distribution import distribute, distribute_rows
from kapi_numba_offload.libraries.arrays import (
    device_facts,
    is_device_array,
    is_numpy_array,
    is_same_view,
    may_overlap,
    queue_of,
)
from kapi_numba_offload.libraries.installed import library_of_queue
from kapi_numba_offload.libraries.interface import DeviceFacts
from kapi_numba_offload.loops.body.passes.draw_random import SEED, drawn_seed
from kapi_numba_offload.loops.body.state import stored_to
from kapi_numba_offload.loops.captured_values import Described, as_tuples, described, loop_values, only_read
from kapi_numba_offload.loops.coarsening import may_coarsen
from kapi_numba_offload.loops.cooperation.schedule import ALONE, Cooperation, Team, group_range
from kapi_numba_offload.loops.host.host_loop import HostLoop
from kapi_numba_offload.loops.loop_builder import BuiltLoop, LoopBuilder
from kapi_numba_offload.loops.loop_kernel import LoopFunctions
from kapi_numba_offload.loops.loop_syntax import LoopSyntax
from kapi_numba_offload.loops.privatization import GroupCopies, PrivateRows, are_distinct, small_arrays
from kapi_numba_offload.loops.simulated_loop import simulate
from kapi_numba_offload.run.bounded_cache import BoundedCache
from kapi_numba_offload.run.fallback import Refusal, fall_back
from kapi_numba_offload.run.launch_record import KernelLaunch
from kapi_numba_offload.run.launching import launch
from kapi_numba_offload.run.options import OffloadOptions
from kapi_numba_offload.run.placement import one_queue
from kapi_numba_offload.run.simulation import is_simulating
from kapi_numba_offload.run.timing import timed
from kapi_sim.errors import KapiError, OperandError

__all__ = ["ParallelLoop"]


class _Combining(NamedTuple):
    """The launch that makes one value of the partial results of a reduction, where the host does not reach them.

    Attributes
    ----------
    kernel : Kernel
        The kernel.
    space : Range or NdRange
        Its index space.
    rest : sequence
        Its arguments after the result and the partial results.
    make : callable
        Makes the result on a queue.
    """

    kernel: kapi_runtime.Kernel
    space: Any
    rest: Sequence[Any]
    make: Callable[[Any], Any]

    def combined(self, partial: Any, queue: Any) -> Any:
        """Launch it."""
        result = self.make(queue)
        launch(self.kernel, self.space, [result, partial, *self.rest])
        return result.reshape(1)


class _Resolved(NamedTuple):
    """A launch but for its arrays and numbers.

    Attributes
    ----------
    made : BuiltLoop
        The kernel.
    space : Range or NdRange
        Its index space.
    rest : sequence of int
        Its last arguments: starts and steps of the axes, and how the iterations are shared out.
    make_partials : sequence of callable
        Each makes the partial results of a reduction on a queue, one of each work-item.
    combining : sequence
        The launches that combine them; empty where the host does.
    record : KernelLaunch
        The launch, for reports.
    """

    made: BuiltLoop
    space: Any
    rest: Sequence[int]
    make_partials: Sequence[Callable[[Any], Any]]
    combining: Sequence[_Combining]
    record: KernelLaunch


class ParallelLoop:
    """A `prange` loop.

    - `function`: that it is in.
    - `host`: the same loop on the host.
    - `numba_types`: whether numbers have the types that Numba gives them; else those of the kernel language.
    - `latest`: the latest launch, or why there was none.
    - `kind`: what reports call it.
    - `has_one_sign`: as that of `LaunchFacts`.
    """

    kind = "prange loop"
    has_one_sign = False

    def __init__(
        self,
        function: Callable[..., Any],
        names: Scope,
        syntax: LoopSyntax,
        location: Any,
        host: HostLoop,
        options: OffloadOptions,
        *,
        numba_types: bool = False,
    ) -> None:
        self._numba_types = numba_types
        self._draws = draws(syntax.body, names)
        if self._draws:
            syntax = replace(syntax, captured=[*syntax.captured, SEED])
        self.syntax, self.location, self.host, self.options = syntax, location, host, options
        self.latest: KernelLaunch | str | None = None
        self._asked: frozenset[int] = frozenset()  # positions of integers that decide on more than the launch
        self._launches: BoundedCache[tuple[Any, ...], _Resolved] = BoundedCache()
        has_asserts = asserts(syntax.body, names)

        def builder(*, has_checks: bool) -> LoopBuilder:
            functions = LoopFunctions(function, names, syntax)
            return LoopBuilder(functions, syntax, location, options, has_checks, numba_types, self.has_one_sign)

        self._builder = builder(has_checks=has_asserts)
        self._checking_builder = cache(lambda: self._builder if has_asserts else builder(has_checks=True))
        self._only_read = only_read(syntax.captured, syntax.body)
        self._checks = has_asserts or options.boundscheck
        nodes = nodes_in(syntax.body)
        self._stored = [syntax.captured.index(each) for each in sorted(stored_to(nodes) & {*syntax.captured})]

    @timed
    def __call__(self, queue: Any, bounds: Sequence[int], captured: Sequence[Any], initial: Sequence[Any]) -> Any:
        """Run the loop.

        - `queue`: of the function's arrays.
        - `bounds`: start, stop and step of each axis.
        - `captured`: values of the captured variables.
        - `initial`: values of the reductions before the loop.

        Returns values of the reductions; a single one as itself.
        """
        found = self._remembered(bounds, captured, initial)
        if found is not None:
            return self._launched(*found)
        as_given = captured, initial
        captured = loop_values(captured, are_strong=self._numba_types)
        initial = loop_values(initial, are_strong=self._numba_types)
        given, captured = captured, [*captured, 0] if self._draws else captured
        captured = as_tuples(self.syntax.captured, captured, self._only_read)
        own_queue = one_queue(self.location, self.syntax.captured, captured)
        if own_queue is not None:
            queue = own_queue
        elif not self.syntax.reductions or any(map(is_numpy_array, captured)):
            return self.host.run(bounds, given, initial)
        refusal = self.syntax.refusals[0] if self.syntax.refusals else self._array_reduction(initial)
        spans = [range(*bounds[at : at + 3]) for at in range(0, len(bounds), 3)]
        extents, facts = list(map(len, spans)), device_facts(queue)
        coarsens = may_coarsen(extents, facts)
        may_copy = (coarsens or not (facts.is_cpu or self.syntax.reductions)) and not self._checks
        small = small_arrays(captured, self._stored, extents, facts) if may_copy and self._stored else ()
        cooperates, team = None, None
        is_shared = False  # memory of arrays, so that another launch is made than where it is not
        if not (small or self._checks or facts.is_cpu):

            def cooperates(plan: Cooperation) -> Team:
                nonlocal team, is_shared
                team = plan.team(bounds, extents, captured, queue)
                if team.size and plan.shares_memory(captured):
                    team, is_shared = ALONE, True
                return team

        made = refusal or self._builder.prepared(spans, captured, initial, coarsens, small, cooperates)
        if isinstance(made, BuiltLoop) and made.private and not are_distinct(made.private_at, captured):
            is_shared = True
            made = self._builder.prepared(spans, captured, initial, coarsens)
        if isinstance(made, BuiltLoop) and all(extents) and self._needs_checks(made, captured):
            made = self._checking_builder().prepared(spans, captured, initial, False)
        if isinstance(made, BuiltLoop) and made.disjoint:
            made = self._shared(made, captured) or made
        if isinstance(made, Refusal):
            how = self.host.how(bounds, (*given, *initial))
            self.latest = fall_back(self.location, made, self.options.may_fall_back, how)
            return self.host.run(bounds, given, initial)
        if self._draws:
            captured[-1] = drawn_seed()
        if is_simulating() and all(extents):
            self._simulate(made, bounds, spans, captured, initial)
        if not all(extents):
            numbers = zip(initial, made.dtypes, strict=True)
            return _results([as_dtype(*each) for each in numbers], made.weak) if self.syntax.reductions else ()
        if not self.syntax.reductions and made.private and not made.is_coarsened:
            return self._run_in_groups(made, queue, facts, extents, _steps(bounds), captured)
        rows = self._rows(made, captured, extents, queue)
        resolved = self._resolved(made, queue, bounds, extents, team, rows)
        if rows is None and not made.has_checks and not is_shared:
            self._remember(bounds, *as_given, resolved)
        return self._launched(resolved, queue, captured, initial, rows)

    def prepared(self, spans: Sequence[range], captured: Sequence[Any]) -> BuiltLoop | Refusal:
        """The kernel of a loop without reductions for such values; or why there is none."""
        values = loop_values(captured, are_strong=self._numba_types)
        coarsens = may_coarsen(list(map(len, spans)), device_facts(queue_of(next(filter(is_device_array, values)))))
        return self._builder.prepared(spans, as_tuples(self.syntax.captured, values, self._only_read), (), coarsens)

    def _remembered(
        self, bounds: Sequence[int], captured: Sequence[Any], initial: Sequence[Any]
    ) -> tuple[_Resolved, Any, list[Any], list[Any]] | None:
        """The launch of an earlier call over arrays like these, its queue and arguments; None where there is none."""
        if not self._launches or is_simulating():
            return None
        described = self._described(bounds, captured, initial)
        resolved = None if described is None else self._launches.get(described.key)
        if described is None or resolved is None:
            return None
        made = resolved.made
        if made.disjoint and self._shared(made, described.captured) is not None:
            return None
        if made.cooperation is not None and made.cooperation.shares_memory(described.captured):
            return None
        return resolved, described.queue, described.captured, described.initial

    def _remember(
        self, bounds: Sequence[int], captured: Sequence[Any], initial: Sequence[Any], resolved: _Resolved
    ) -> None:
        """Keep a launch by a key with the numbers that were asked for."""
        described = None if self._draws else self._described(bounds, captured, initial)
        if described is not None:
            self._launches[described.key] = resolved

    def _described(self, bounds: Sequence[int], captured: Sequence[Any], initial: Sequence[Any]) -> Described | None:
        asked = self._asked | self._builder.asked_integers()
        return described(bounds, captured, initial, are_strong=self._numba_types, asked=asked)

    def _run_in_groups(
        self,
        made: BuiltLoop,
        queue: Any,
        facts: DeviceFacts,
        extents: Sequence[int],
        steps: Sequence[int],
        captured: Sequence[Any],
    ) -> tuple[()]:
        """Launch the kernel whose work-groups have copies of arrays."""
        assert made.private is not None
        copies = GroupCopies(made.private.arrays, [captured[each] for each in made.private_at], extents, facts)
        rest = [*extents[1:], math.prod(extents), *copies.accessors]
        launch(made.kernel, copies.space, [*copies.identities, *captured, *steps, *rest])
        self.latest = KernelLaunch(made.kernel, copies.space, queue, ())
        return ()

    def _resolved(
        self,
        made: BuiltLoop,
        queue: Any,
        bounds: Sequence[int],
        extents: Sequence[int],
        team: Team | None,
        rows: PrivateRows | None,
    ) -> _Resolved:
        """The launch for so many iterations."""
        facts, has_results = device_facts(queue), bool(self.syntax.reductions)
        space: kapi_runtime.Range | kapi_runtime.NdRange = kapi_runtime.Range(*extents)
        rest, items = _steps(bounds), 0
        if made.cooperation is not None and team is not None:
            space = groups = group_range(team, extents, queue, has_reductions=has_results)
            items = groups.group_range[0]
            rest += [*extents[1:], math.prod(extents)]
        elif made.is_coarsened or has_results:
            count = extents[0] if made.is_coarsened else math.prod(extents)
            shares = rows.shares if rows else (distribute_rows if made.is_coarsened else distribute)(count, facts)
            space, items = shares.single_items if made.is_coarsened else shares.space, shares.items
            rest += [*extents[1:], count, shares.steps]
        moved = (items if facts.has_host_memory else 1) * sum(dtype.itemsize for dtype in made.dtypes)
        arrays = [((items,), dtype, "device") for dtype in made.dtypes] + (rows.allocations if rows else [])
        own = library_of_queue(queue)
        make_partials = [own.allocator((items,), dtype, "device") for dtype in made.dtypes]
        combining = [] if facts.has_host_memory else [
            self._combining(operation, dtype, items, queue)
            for operation, dtype in zip(self.syntax.reductions.values(), made.dtypes, strict=True)
        ]  # fmt: skip
        record = KernelLaunch(made.kernel, space, queue, arrays, moved)
        return _Resolved(made, space, rest, make_partials, combining, record)

    def _launched(
        self,
        resolved: _Resolved,
        queue: Any,
        captured: Sequence[Any],
        initial: Sequence[Any],
        rows: PrivateRows | None = None,
    ) -> Any:
        """Launch, and combine what work-items found with the initial values of reductions."""
        made = resolved.made
        partials = [make(queue) for make in resolved.make_partials]
        private = rows.arguments if rows else ()
        args = [*partials, *made.identities, *private, *captured, *resolved.rest]
        try:
            launch(made.kernel, resolved.space, args, checks=self._checks or made.has_checks)
        except ValueError as error:
            if isinstance(error, KapiError):
                raise
            raise OperandError("\n  ".join([str(error), *error.__notes__]), code="operator-operands") from None
        if rows:
            rows.add_up(self.location)
        self.latest = resolved.record
        if not partials:
            return ()
        operations, own = self.syntax.reductions.values(), library_of_queue(queue)
        if own.is_host:
            results = own.host_views(queue, partials)
        else:
            if resolved.combining:
                partials = [
                    each.combined(partial, queue) for each, partial in zip(resolved.combining, partials, strict=True)
                ]
            results = [*map(own.host_copy, partials)]
        return _results(combine(operations, initial, results), made.weak)

    def _combining(self, operation: str, dtype: np.dtype[Any], count: int, queue: Any) -> _Combining:
        """The launch that combines so many partial results."""
        facts, accumulator = device_facts(queue), Accumulator(operation, dtype)
        by_items = combines_by_items(count, facts)
        kernel = combining_kernel(accumulator, 0, by_items, "combine", str(self.location))
        rest = accumulator.identity, *combining_arguments(accumulator, (), count, count, by_items=by_items)
        make = library_of_queue(queue).allocator((), dtype, "device")
        return _Combining(kernel, combining_space((), count, by_items=by_items), rest, make)

    def _rows(self, made: BuiltLoop, captured: Sequence[Any], extents: Sequence[int], queue: Any) -> PrivateRows | None:
        if made.private is None:
            return None
        return PrivateRows(made.private.arrays, [captured[number] for number in made.private_at], extents, queue)

    def _needs_checks(self, made: BuiltLoop, captured: Sequence[Any]) -> bool:
        """Whether operands may have different lengths, and the kernel does not raise where it comes to them."""
        if made.has_checks:
            return False
        return not made.have_equal_lengths(*captured) or (self._checks and not made.decide_all_lengths)

    def _array_reduction(self, initial: Sequence[Any]) -> Refusal | None:
        for name, value in zip(self.syntax.reductions, initial, strict=True):
            if isinstance(value, np.ndarray) or is_device_array(value):
                return Refusal("array-reduction", self.location.line, name)
        return None

    def _shared(self, made: BuiltLoop, captured: Sequence[Any]) -> Refusal | None:
        for read, stored, may_be_one in made.disjoint:
            one, other = captured[read], captured[stored]
            if may_overlap(one, other) or (not may_be_one and is_same_view(one, other)):
                return Refusal("shared-memory", self.location.line, self.syntax.captured[stored])
        return None

    def _simulate(
        self,
        made: BuiltLoop,
        bounds: Sequence[int],
        spans: Sequence[range],
        captured: Sequence[Any],
        initial: Sequence[Any],
    ) -> None:
        """Run the loop in the simulator, over copies of the arrays; it raises what it finds."""
        builder = self._checking_builder() if made.has_checks else self._builder
        plain = builder.prepared(spans, captured, initial, False)
        assert isinstance(plain, BuiltLoop)
        body = builder.lowered(spans, captured).statements
        extents = list(map(len, spans))
        simulate(builder.functions, self.syntax, body, bounds, extents, captured, plain.dtypes)


def _steps(bounds: Sequence[int]) -> list[int]:
    """Start and step of each axis."""
    return [each for at in range(0, len(bounds), 3) for each in (bounds[at], bounds[at + 2])]


def _results(found: Sequence[Any], weak: Sequence[bool]) -> Any:
    """The values of reductions: Python numbers unless a NumPy number took part."""
    values = [each.item() if is_python else each for each, is_python in zip(found, weak, strict=True)]
    return values[0] if len(values) == 1 else tuple(values)
