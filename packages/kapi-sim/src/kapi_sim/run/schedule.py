"""The order in which work-items run: groups one after the other, work-items one after the other between barriers.

A kernel without barriers is called in a plain loop.  A kernel with barriers is a generator function:
each work-item runs until it yields at a barrier, and the group goes on when all have arrived.  What else
may happen at a stop, `kapi_sim.run.group_run` knows; a kernel with barriers only, unchecked, does without.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import compress, product, repeat
from threading import Lock
from typing import Any

from kapi_sim.errors import KernelLaunchError
from kapi_sim.forks import reinit_after_fork
from kapi_sim.items.items import Cluster, SimItem, SimNdItem, linear
from kapi_sim.items.schedule_state import ScheduleState, unravel
from kapi_sim.language.intrinsics.index_space import NdRange, Range
from kapi_sim.memory.arguments import Bound
from kapi_sim.memory.infinite_loops import iterations_before_hand_over
from kapi_sim.memory.views import poison
from kapi_sim.progress import follow_launch
from kapi_sim.run.execution_order import Order, Shuffler
from kapi_sim.run.group_misuse import endless
from kapi_sim.run.group_run import GroupRun, end_phase
from kapi_sim.short_repr import short_repr

__all__ = ["Schedule"]

_SELDOM = 100_000
"""Objects after which the garbage collector looks, while a launch runs."""


@dataclass(slots=True)
class Schedule:
    """One run of a kernel over an index space.

    - `function`: the rewritten kernel.
    - `has_convergent_call`: whether it may reach a barrier or a group algorithm.
    - `is_generator`: whether it is a generator function.
    - `on_threads`: whether each work-item needs a thread, for want of a source.
    - `numbers_iterations`: whether it yields where, and with whom, it converges; else only that it does.
    - `values`: what the kernel is called with after the work-item.
    - `bound`: the arguments, with the clock, which is kept at the running work-item; with no checks only when an error
      ends the run.
    - `is_checked`: whether any check needs the clock.
    - `checks_convergence`: whether a barrier that a part of a group reaches is an error.
    - `order`: in which work-items run.
    - `sample`: the numbers of the work-groups that run, of a Range launch of the work-items; `None` for all.
    - `groups_run`: how many work-groups have run.
    - `item`: the work-item of a Range launch.
    """

    function: Callable[..., Any]
    has_convergent_call: bool
    is_generator: bool
    on_threads: bool
    numbers_iterations: bool
    values: list[Any]
    bound: Bound
    is_checked: bool
    checks_convergence: bool
    order: Order
    sample: frozenset[int] | None = None
    groups_run: int = 0
    item: SimItem | None = None

    @property
    def clock(self) -> ScheduleState:
        """The launch's position."""
        return self.bound.clock

    def run(self, space: Range | NdRange) -> None:
        """Run every work-item."""
        shuffler = self.order.shuffler()
        noun, total = (
            ("work-items", space.size) if isinstance(space, Range) else ("work-groups", space.group_range.size)
        )
        total = total if self.sample is None else len(self.sample)
        follower = follow_launch(self.function.__name__, self.clock.in_words(noun), total, self._position)
        try:
            with _GARBAGE.seldom_collected():
                if isinstance(space, Range):
                    self._run_range(space, shuffler)
                else:
                    self._run_groups(space, shuffler)
        finally:
            if follower is not None:
                follower.stop()

    def _position(self) -> tuple[int, object]:
        """Return how many work-items or work-groups have run, and what changes as the launch goes on."""
        clock = self.clock
        if isinstance(clock.space, NdRange):
            return self.groups_run, (self.groups_run, clock.uid, clock.epoch)
        if self.is_checked:
            return clock.epoch, clock.epoch  # each work-item has an epoch
        done = 0 if self.item is None else linear(self.item.id, tuple(clock.space))
        return done, done

    def _run_range(self, space: Range, shuffler: Shuffler | None) -> None:
        if self.has_convergent_call:
            raise KernelLaunchError(
                f"kernel `{self.function.__name__}` must be launched over an NdRange, since it has a barrier or group "
                f"algorithm, got {short_repr(space)}",
                code="needs-nd-range",
            )
        item = self.item = SimItem(space)
        clock = self.clock
        call = partial(self.function, item, *self.values)
        try:
            if not self.is_checked and self.sample is None:
                for item.id in _permuted(_indices(space), shuffler):
                    call()
                return
            # Every work-item is a group of its own: nothing orders it after another one.
            numbered = self._chosen(space, shuffler)
            for clock.epoch, (clock.uid, item.id) in enumerate(numbered):
                clock.group_start = clock.epoch
                call()
            end_phase(self.bound)
        except BaseException:
            clock.uid = linear(item.id, space)
            raise

    def _run_groups(self, space: NdRange, shuffler: Shuffler | None) -> None:
        cluster = Cluster(space, self.clock.sub_group_size)
        clock = self.clock
        shadow = self.bound.local_shadow
        recorder = self.bound.recorder
        can_wait = self.is_generator or self.on_threads
        run_group = self._group_with_barriers(cluster) if can_wait else self._group_in_a_loop(cluster)
        waiting: list[tuple[tuple[int, ...], GroupRun]] = []
        for number, index in self._chosen(space.group_range, shuffler):
            cluster.move(index)
            clock.start_group()
            if recorder is not None:
                recorder.start_group()
            for array in self.bound.local_arrays:
                poison(array)
            if shadow is not None:
                shadow.clear()
                if not waiting:
                    shadow.initialised = set()
            stopped = run_group(number * clock.group_size, shuffler)
            if stopped is None:
                clock.end_group(number)
            else:
                waiting.append((index, stopped))
            end_phase(self.bound)
            self.groups_run += 1
        while waiting:
            waiting = self._past_grid(cluster, waiting, shuffler)

    def _past_grid(
        self, cluster: Cluster, waiting: list[tuple[tuple[int, ...], GroupRun]], shuffler: Shuffler | None
    ) -> list[tuple[tuple[int, ...], GroupRun]]:
        """Let the groups go on that wait for each other, and return those that do so again."""
        self.bound.pass_grid_barrier()
        still = []
        for index, run in _permuted(waiting, shuffler):
            cluster.move(index)
            self.clock.start_group()
            if run.run(shuffler):
                still.append((index, run))
            end_phase(self.bound)
        return still

    def _chosen(self, extents: Range, shuffler: Shuffler | None) -> Iterable[tuple[int, tuple[int, ...]]]:
        """Number and index of each group that runs, of a Range launch of each work-item."""
        only = self.order.only
        if only is not None:
            return [(only, unravel(only, extents))]
        if self.sample is not None:
            return _permuted([(number, unravel(number, extents)) for number in sorted(self.sample)], shuffler)
        return _permuted(enumerate(_indices(extents)), shuffler)

    def _group_in_a_loop(self, cluster: Cluster) -> Callable[[int, Shuffler | None], GroupRun | None]:
        item = SimNdItem(cluster, cluster.id)
        clock = self.clock
        call = partial(self.function, item, *self.values)

        def run(base: int, shuffler: Shuffler | None) -> None:
            numbered = _permuted(enumerate(_indices(cluster.local_range), base), shuffler)
            if self.is_checked:
                for clock.uid, item.local in numbered:
                    call()
                return None
            try:
                for _, item.local in numbered:
                    call()
                return None
            except BaseException:
                clock.uid = base + linear(item.local, cluster.local_range)
                raise

        return run

    def _group_with_barriers(self, cluster: Cluster) -> Callable[[int, Shuffler | None], GroupRun | None]:
        items = [SimNdItem(cluster, local) for local in _indices(cluster.local_range)]
        values = self.values
        function: Callable[..., Any] = self.function
        if self.on_threads:
            from kapi_sim.run.work_item_threads import ThreadedItem

            function = partial(ThreadedItem, iterations_before_hand_over(self.bound.spin_limit), function)

        def run(base: int, shuffler: Shuffler | None) -> GroupRun | None:
            generators = list(map(function, items, *map(repeat, values)))
            try:
                if not self.numbers_iterations:
                    self._run_unchecked(base, generators, shuffler)
                    return None
                group = GroupRun(self.bound, cluster, base, generators, self.checks_convergence)
                return group if group.run(shuffler) else None
            finally:
                if self.on_threads:
                    for generator in generators:
                        generator.close()

        return run

    def _run_unchecked(self, base: int, generators: list[Any], shuffler: Shuffler | None) -> None:
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
                if phases > self.bound.spin_limit:
                    raise endless(phases)
        except BaseException:
            # Of this round's generators, those after the one that failed have not run yet.
            failed = [generator for generator in running if generator.gi_frame is None]
            self.clock.uid = base + generators.index(failed[-1]) if failed else base
            raise


class _Garbage:
    """Python's garbage collector, which looks at each record of an access, and finds no cycle among them."""

    def __init__(self) -> None:
        self._lock = reinit_after_fork(Lock())
        self._launches = 0
        self._before = (0, 0, 0)

    @contextmanager
    def seldom_collected(self) -> Iterator[None]:
        """Let it look less often: in a launch of many work-items, it took a third of the time."""
        with self._lock:
            if not self._launches:
                self._before = gc.get_threshold()
                if 0 < self._before[0] < _SELDOM:
                    gc.set_threshold(_SELDOM, *self._before[1:])
            self._launches += 1
        try:
            yield
        finally:
            with self._lock:
                self._launches -= 1
                if not self._launches:
                    gc.set_threshold(*self._before)


_GARBAGE = _Garbage()


def _indices(extents: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Yield all indices, the last dimension the fastest."""
    if len(extents) == 1:
        return zip(range(extents[0]))
    if max(extents) <= _SELDOM:
        return product(*map(range, extents))
    # `product` would first make a tuple of each range.
    return ((*index, i) for index in _indices(extents[:-1]) for i in range(extents[-1]))


def _permuted(values: Iterable[Any], shuffler: Shuffler | None) -> Iterable[Any]:
    if shuffler is None:
        return values
    shuffled = list(values)
    shuffler.shuffle(shuffled)
    return shuffled
