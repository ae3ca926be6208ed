"""The order in which work-items run: groups one after the other, work-items in turns between barriers.

A kernel without barriers is called in a plain loop.  A kernel with barriers is a generator function:
each work-item runs until it yields at a barrier, and the group goes on when all have arrived.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import compress, product, repeat
from types import GeneratorType
from typing import TYPE_CHECKING, Any

import numpy as np

from kapi_sim.arguments import Bound
from kapi_sim.checks.convergence import Arrival, Yielded, call_sites, check_arrivals, describe_arrivals
from kapi_sim.checks.initialisation import unwritten_read
from kapi_sim.clock import Clock
from kapi_sim.errors import DeadlockError, KernelLaunchError
from kapi_sim.items import Cluster, SimGroup, SimItem, SimNdItem, linear
from kapi_sim.memory import poison
from kapi_sim.source import Site
from kapi_sim.spec.index_space import NdRange, Range
from kapi_sim.spec.memory import MemoryScope
from kapi_sim.watchdog import SPIN, SPIN_LIMIT, TURNS, Loop, deadlock

if TYPE_CHECKING:
    from random import Random

__all__ = ["Schedule"]

_MOST_PATIENCE = 4
"""Of a group that turns in loops, so many work-items may use up the turns of one."""


@dataclass(slots=True)
class Schedule:
    """One run of a kernel over an index space.

    Attributes
    ----------
    function : function
        The rewritten kernel.
    has_barrier : bool
        Whether it may reach a barrier.
    is_generator : bool
        Whether it is a generator function.
    on_threads : bool
        Whether each work-item needs a thread, for want of a source.
    values : list
        What the kernel is called with after the work-item.
    bound : Bound
        The arguments, with the clock, which is kept at the running work-item; with no checks only
        when an error ends the run.
    is_checked : bool
        Whether any check needs the clock.
    checks_convergence : bool
        Whether a barrier that a part of a group reaches is an error.
    seed : int or None
        Permutes the order; `None` is program order.
    """

    function: Callable[..., Any]
    has_barrier: bool
    is_generator: bool
    on_threads: bool
    values: list[Any]
    bound: Bound
    is_checked: bool
    checks_convergence: bool
    seed: int | None

    @property
    def clock(self) -> Clock:
        """The launch's position."""
        return self.bound.clock

    def run(self, space: Range | NdRange) -> None:
        """Run every work-item."""
        shuffler = None if self.seed is None else _shuffler(self.seed)
        if isinstance(space, Range):
            self._run_range(space, shuffler)
        else:
            self._run_groups(space, shuffler)

    def _run_range(self, space: Range, shuffler: Random | None) -> None:
        if self.has_barrier:
            raise KernelLaunchError(
                f"kernel `{self.function.__name__}` must be launched over an NdRange, for it has a barrier, "
                f"got {space!r}"
            )
        item = SimItem(space)
        clock = self.clock
        call = partial(self.function, item, *self.values)
        try:
            if not self.is_checked:
                for item.id in _permuted(_indices(space), shuffler):
                    call()
                return
            # Every work-item is a group of its own: nothing orders it after another one.
            numbered = _permuted(enumerate(_indices(space)), shuffler)
            for clock.epoch, (clock.uid, item.id) in enumerate(numbered):
                clock.group_start = clock.epoch
                call()
        except BaseException:
            clock.uid = linear(item.id, space)
            raise

    def _run_groups(self, space: NdRange, shuffler: Random | None) -> None:
        cluster = Cluster(space)
        clock = self.clock
        trail = self.bound.local_trail
        recorder = self.bound.recorder
        can_wait = self.is_generator or self.on_threads
        run_group = self._group_with_barriers(cluster) if can_wait else self._group_in_a_loop(cluster)
        for number, cluster.id in _permuted(enumerate(_indices(space.group_range)), shuffler):
            clock.start_group()
            if recorder is not None:
                recorder.start_group()
            for array in self.bound.local_arrays:
                poison(array)
            if trail is not None:
                trail.clear()
            run_group(number * clock.group_size, shuffler)
            self._end_phase()

    def _end_phase(self) -> None:
        trail = self.bound.local_trail
        if trail is not None and trail.unwritten:
            error = unwritten_read(trail)
            if error is not None:
                raise error

    def _group_in_a_loop(self, cluster: Cluster) -> Callable[[int, Random | None], None]:
        item = SimNdItem(cluster, cluster.id)
        clock = self.clock
        call = partial(self.function, item, *self.values)

        def run(base: int, shuffler: Random | None) -> None:
            numbered = _permuted(enumerate(_indices(cluster.local_range), base), shuffler)
            if self.is_checked:
                for clock.uid, item.local in numbered:
                    call()
                return
            try:
                for _, item.local in numbered:
                    call()
            except BaseException:
                clock.uid = base + linear(item.local, cluster.local_range)
                raise

        return run

    def _group_with_barriers(self, cluster: Cluster) -> Callable[[int, Random | None], None]:
        items = [SimNdItem(cluster, local) for local in _indices(cluster.local_range)]
        values = self.values
        function: Callable[..., Any] = self.function
        if self.on_threads:
            from kapi_sim.threads import ThreadedItem

            function = partial(ThreadedItem, function)

        def run(base: int, shuffler: Random | None) -> None:
            generators = [function(item, *values) for item in items]
            try:
                if self.is_checked:
                    self._run_checked(base, generators, cluster, shuffler)
                else:
                    self._run_unchecked(base, generators, shuffler)
            finally:
                if self.on_threads:
                    for generator in generators:
                        generator.close()

        return run

    def _run_unchecked(
        self, base: int, generators: list[GeneratorType[Yielded, None, None]], shuffler: Random | None
    ) -> None:
        running = generators
        phases = 0
        try:
            while running:
                if shuffler is not None:
                    running = list(running)
                    shuffler.shuffle(running)
                # What is yielded is true; the loop over the work-items is not Python's.
                running = list(compress(running, map(next, running, repeat(None))))
                phases += 1
                if phases > SPIN_LIMIT.cell_contents:
                    raise _endless(phases)
        except BaseException:
            # Of this turn's generators, those after the one that failed have not run yet.
            failed = [generator for generator in running if generator.gi_frame is None]
            self.clock.uid = base + generators.index(failed[-1]) if failed else base
            raise

    def _run_checked(
        self,
        base: int,
        generators: list[GeneratorType[Yielded, None, None]],
        cluster: Cluster,
        shuffler: Random | None,
    ) -> None:
        clock = self.clock
        order = list(range(len(generators)))
        left: list[int] = []
        phases = 0
        recorder = self.bound.recorder
        while order:
            if shuffler is not None:
                shuffler.shuffle(order)
            arrivals: dict[int, Arrival] = {}
            spinning: dict[int, tuple[Loop, object]] = {}
            for local in order:
                clock.uid = base + local
                generator = generators[local]
                yielded = next(generator, None)
                if yielded is None:
                    left.append(local)
                elif yielded[2] is SPIN:
                    spinning[local] = yielded[:2]
                else:
                    arrivals[local] = _arrival(generator, yielded, cluster)
            if spinning:
                self._run_spinning(base, generators, cluster, spinning, arrivals, left)
            if recorder is not None:
                for local, arrival in arrivals.items():
                    recorder.note_barrier(base + local, arrival.site[0], arrival.site[1])
            self._end_phase()
            if not arrivals:
                return
            if self.checks_convergence:
                check_arrivals(clock, base, arrivals, left)
            (file, line, _), _, scope = next(iter(arrivals.values()))
            clock.pass_barrier(scope >= MemoryScope.WORK_GROUP, Site(file, line))
            if recorder is not None:
                recorder.pass_barrier()
            order = [local for local in order if local in arrivals]
            phases += 1
            if phases > SPIN_LIMIT.cell_contents:
                raise _endless(phases)

    def _run_spinning(
        self,
        base: int,
        generators: list[GeneratorType[Yielded, None, None]],
        cluster: Cluster,
        spinning: dict[int, tuple[Loop, object]],
        arrivals: dict[int, Arrival],
        left: list[int],
    ) -> None:
        """Let the work-items that turn in loops run in turns, until each came to a barrier or to its end."""
        turns = len(spinning)
        known: dict[int, object] = {}
        while spinning:
            states = {local: self._state(generators[local], run) for local, (_, run) in spinning.items()}
            # Work-items that come round to where they were, with nothing written, do so for ever.
            is_stuck = known == states and None not in states.values()
            known = states
            for local in list(spinning):
                self.clock.uid = base + local
                generator = generators[local]
                yielded = next(generator, None)
                turns += 1
                if yielded is not None and yielded[2] is SPIN:
                    spinning[local] = yielded[:2]
                    if not is_stuck and turns < TURNS * min(len(spinning), _MOST_PATIENCE):
                        continue
                    others = describe_arrivals(self.clock, base, arrivals, left)
                    stuck = {base + number: loop for number, (loop, _) in spinning.items()}
                    generator.throw(deadlock(self.bound, stuck, others, is_stuck))
                del spinning[local]
                turns = 0
                is_stuck = False
                if yielded is None:
                    left.append(local)
                else:
                    arrivals[local] = _arrival(generator, yielded, cluster)

    def _state(self, generator: Any, run: object) -> object:
        """What a work-item that turns in a loop depends on; `None` if that is not recorded."""
        bound = self.bound
        if bound.trail is None or bound.local_trail is None:
            return None
        # Only generators turn in loops: a thread cannot hand over there.
        while generator.gi_yieldfrom is not None:
            generator = generator.gi_yieldfrom
        held = generator.gi_frame.f_locals.items()
        state = {name: _held(value) for name, value in held if not name.startswith("_kapi_")}
        return run, state, bound.trail.changes, bound.local_trail.changes


def _held(value: Any) -> object:
    return (value.__class__, value) if isinstance(value, (int, float, complex, np.generic)) else id(value)


def _arrival(generator: GeneratorType[Yielded, None, None], yielded: Yielded, cluster: Cluster) -> Arrival:
    site, group, scope = yielded
    if not isinstance(group, SimGroup) or group.cluster is not cluster:
        generator.throw(_wrong_group(group))
    return Arrival(site, call_sites(generator), int(scope))


def _endless(phases: int) -> DeadlockError:
    return DeadlockError(
        f"a loop with a barrier must end, got one that the whole group passed {phases} times: make its condition "
        "change, or allow it more turns with simulation(spin_limit=...)"
    )


def _shuffler(seed: int) -> Random:
    # Imported when first asked for: most launches run in program order.
    from random import Random

    return Random(seed)


def _indices(extents: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Yield all indices, the last dimension the fastest."""
    # `product` would first make a tuple of its only range.
    return zip(range(extents[0])) if len(extents) == 1 else product(*map(range, extents))


def _permuted(values: Iterable[Any], shuffler: Random | None) -> Iterable[Any]:
    if shuffler is None:
        return values
    shuffled = list(values)
    shuffler.shuffle(shuffled)
    return shuffled


def _wrong_group(group: object) -> KernelLaunchError:
    return KernelLaunchError(
        f"group_barrier must be given the work-item's own group, got {group!r}: write nd_item.get_group()"
    )
