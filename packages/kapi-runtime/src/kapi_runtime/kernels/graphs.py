"""Graphs: launches and copies that a ``with`` block records, and that one call submits again and again."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kapi_runtime.host.events import listed_events
from kapi_runtime.host.queues import require_queue
from kapi_runtime.kernels.simulator_controls import note_launch, open_reports
from kapi_runtime.launch.failures import FailureWatch
from kapi_runtime.launch.packing import with_address
from kapi_runtime.launch.preparation import Prepared
from kapi_runtime.platform import recorder
from kapi_runtime.platform.current import caller
from kapi_runtime.platform.handles import EventStatus, HostEvent
from kapi_runtime.platform.interface import NativeArgument, NativeGraph, Platform
from kapi_sim import KernelLaunchError, NdRange, Range
from kapi_sim.language.array_memory import ArrayFields
from kapi_sim.language.launchables.graph import RecordedLaunches, Slot, slot_values
from kapi_sim.log import launches

__all__ = ["Graph", "RecordedEvent", "graph"]

_NUMBERS = (int, float, complex, np.number, np.bool_)


class RecordedEvent(HostEvent):
    """The event of recorded work, for later work of the same recording; the work runs at each replay.

    - `graph`: what records the work.
    - `is_waited`: whether a wait for it is no mistake: `call_kernel` waits by itself.
    """

    __slots__ = ("_is_waited", "graph")

    def __init__(self, graph: Graph, is_waited: bool) -> None:
        self.graph, self._is_waited = graph, is_waited

    @property
    def device_event(self) -> RecordedEvent:
        """Itself, as that of the device."""
        return self

    @property
    def status(self) -> EventStatus:
        """`EventStatus.submitted`: it has not run."""
        return EventStatus.submitted

    def wait(self) -> None:
        """Raise KernelLaunchError: there is nothing to wait for until the graph is replayed."""
        if not self._is_waited:
            raise KernelLaunchError(
                "a wait for recorded work must be for the events of a replay, `graph()[0].wait()`, got one for the "
                "event of its recording: it runs at each replay",
                code="graph-host-wait",
            )


@dataclass(slots=True)
class _Launch:
    kernel: Any
    space: Range | NdRange
    given: tuple[Any, ...]  # with slots
    prepared: Prepared | None = None
    node: Any = None
    watch: FailureWatch | None = None

    @property
    def chosen(self) -> Any:
        """The kernel that the constants among the arguments choose."""
        kernel = self.kernel
        return kernel.specialized(kernel.as_declared(self.space, slot_values(self.given)))[0]

    def prepare(self) -> Prepared:
        prepared: Prepared = self.kernel.prepared(self.space, slot_values(self.given))
        if prepared.arguments.copied is not None:
            raise KernelLaunchError(
                f"arguments of the recorded kernel `{self.kernel.__name__}` must be on the device, got NumPy arrays "
                "that each launch would copy: copy them by `kapi.memory.asarray` before",
                code="graph-host-array",
            )
        return prepared


class Graph(RecordedLaunches):
    """Launches and copies that a ``with`` block records, and that a call submits in their order; `graph` makes it.

    Inside of the block they do not run.  `call_kernel` and `memory.copy` do not wait there, and the events of
    `call_kernel_async` serve later launches of the same block alone.  On a CUDA device it is a CUDA graph, which
    records what CuPy and PyTorch submit in the block as well, while on other devices all else in the block runs at
    once and once.  The graph keeps all arguments alive.

    Examples
    --------
    >>> import numpy as np
    >>> import kapi_runtime as kapi
    >>> @kapi.kernel
    ... def add(item: kapi.Item, target, value):
    ...     target[item.get_id(0)] += value
    >>> target = np.zeros(3)
    >>> with kapi.graph() as step:
    ...     value = step.slot("value", 1.0)
    ...     kapi.call_kernel(add, kapi.Range(3), target, value)
    ...     kapi.call_kernel(add, kapi.Range(3), target, value)
    >>> step.run()
    >>> step.update(value=10.0)
    >>> step.run()
    >>> target
    array([22., 22., 22.])
    """

    def __init__(self, queue: Any = None) -> None:
        super().__init__()
        self._native: NativeGraph | None = None
        self._launches: list[_Launch] = []
        self._kernels: dict[Any, int] = {}  # how often each was compiled anew
        self._owners: list[Any] = []
        self._watches: list[FailureWatch] = []
        self._held: Any = None
        self._queue = None if queue is None else require_queue(queue, "queue of graph")

    # -- recording

    def launch(
        self, kernel: Any, space: Range | NdRange, given: tuple[Any, ...], before: Iterable[Any]
    ) -> tuple[RecordedEvent, RecordedEvent]:
        """Record a launch; for kernels that are launched in the block."""
        self._require_own(given)
        self.require_own_events(before)
        step = _Launch(kernel, space, given)
        step.prepared = prepared = step.prepare()
        native = self._placed(prepared.platform, prepared.queue, kernel.__name__)
        arguments = _arguments(step, prepared)
        if prepared.global_range is not None:
            step.node = native.add_launch(prepared.made.kernel, arguments, prepared.global_range, prepared.local_range)
        self._launches.append(step)
        kernel.count_launch()
        event = RecordedEvent(self, caller.waits)
        return event, event

    def copy(
        self, platform: Platform, queue: Any, fields: tuple[ArrayFields, ArrayFields], nbytes: int, owners: Any
    ) -> RecordedEvent:
        """Record a copy; for copies that are made in the block."""
        source, target = fields
        if nbytes:
            self._placed(platform, queue, "copy").add_copy(target, source, nbytes)
        self._owners.append(owners)
        return RecordedEvent(self, False)

    def _placed(self, platform: Platform, queue: Any, what: str) -> NativeGraph:
        """The native graph, begun if this is the first work; raises if the work is of another queue."""
        if self._native is None:
            self._begin_on(platform, queue)
        native = self._native
        assert native is not None
        if native.platform is not platform or not native.is_for(queue):
            own = native.platform.describe_queue(native.queue)
            raise KernelLaunchError(
                f"work that a graph records must be of its queue, {own}, got `{what}` on "
                f"{platform.describe_queue(queue)}: record a graph for each queue, and order them by the events of "
                "their replays",
                code="graph-queue",
            )
        return native

    def _begin_on(self, platform: Platform, queue: Any) -> None:
        platform.require_usable()
        native = platform.new_graph(queue, self._queue is not None)
        native.begin()
        self._native = native

    def require_own_events(self, events: Iterable[Any]) -> None:
        """Raise unless the events that recorded work is to wait for are of this recording."""
        for event in listed_events(events):
            if not isinstance(event, RecordedEvent) or event.graph is not self:
                raise KernelLaunchError(
                    "events that recorded work waits for must be of the same recording, got one of other work: pass "
                    "it to the replay, `graph([event])`",
                    code="graph-event",
                )

    def _begin(self) -> None:
        recorder.keep_graph(self)
        try:
            if self._queue is not None:
                self._begin_on(*self._queue)
        except BaseException:
            recorder.keep_graph(None)
            raise

    def _end(self, is_complete: bool) -> None:
        recorder.keep_graph(None)
        if self._native is None:
            return
        if is_complete:
            self._native.end()
            self._settle()
        else:
            self._native.abandon()
            self._launches.clear()
            self._owners.clear()

    # -- replays

    def __call__(self, dependent_events: Iterable[Any] = ()) -> tuple[HostEvent, Any]:
        """Submit all that was recorded after these events and the queue's earlier work, without a wait.

        Parameters
        ----------
        dependent_events : iterable of events
            As for `call_kernel_async`.

        Returns
        -------
        host_event, device_event
            As of `call_kernel_async`; done when the last recorded work is.

        Raises
        ------
        KernelLaunchError
            If the graph is not recorded, or the driver refuses.
        """
        recorder.require_no_graph("a replay of a graph")
        self._require_recorded()
        before = listed_events(dependent_events)
        native = self._native
        if native is None:
            event = RecordedEvent(self, True)  # of nothing
            for each in before:
                each.wait()
            return event, event
        platform, queue = native.platform, native.queue
        platform.require_usable()
        for kernel, renewals in self._kernels.items():
            if kernel.renewals() != renewals:  # a global that is a constant of it has changed
                self._replace(self._launches, are_arrays_new=False)
                break
        events = platform.native_events(before) if before else before
        if recorder.active is None:
            event = native.submit(queue, events, self._held)
        else:
            event = recorder.submit(
                platform,
                queue,
                events,
                lambda on, after: native.submit(on, after, self._held),
                kind="launch",
                name=f"graph of {len(self._launches)} launches",
            )
        platform.note_work(queue, event)
        if launches.are_logged or open_reports():
            for step in self._launches:
                note_launch(step.kernel.__name__, step.space)
        if self._watches:
            return platform.host_event(event, self._release), event
        return event if isinstance(event, HostEvent) else platform.host_event(event, platform.release), event

    def run(self) -> None:
        """Submit all that was recorded, and wait; raise a work-item's failure.

        Raises
        ------
        KernelLaunchError
            As a call.
        """
        caller.waits = True
        try:
            host_event, _ = self()
        finally:
            caller.waits = False
        host_event.wait()

    def __repr__(self) -> str:
        where = "" if self._native is None else f" on {self._native.platform.describe_queue(self._native.queue)}"
        return f"<graph of {len(self._launches)} launches{where}, {self._state}>"

    def _release(self) -> None:
        assert self._native is not None
        self._native.platform.release()
        for watch in self._watches:
            watch.check_again()

    def _changed(self, slots: set[Slot]) -> None:
        steps = [step for step in self._launches if not slots.isdisjoint(_slots(step.given))]
        self._replace(steps, are_arrays_new=not all(isinstance(slot.value, _NUMBERS) for slot in slots))

    def _replace(self, steps: list[_Launch], are_arrays_new: bool) -> None:
        """Put the launches of these steps in place of what is recorded, all of them or none."""
        native = self._native
        prepared = [step.prepare() for step in steps]
        if are_arrays_new:  # else they are of the graph's queue, whichever stream is current now
            for step, made in zip(steps, prepared, strict=True):
                self._require_alike(step, made)
        for step, made in zip(steps, prepared, strict=True):
            step.prepared = made
            arguments = _arguments(step, made)
            if made.global_range is not None and native is not None:
                native.change_launch(step.node, made.made.kernel, arguments, made.global_range, made.local_range)
        self._settle()

    def _settle(self) -> None:
        """Note what replays need of the launches as they are."""
        chosen = [step.chosen for step in self._launches]
        self._kernels = {kernel: kernel.renewals() for kernel in chosen if hasattr(kernel, "renewals")}
        self._watches = [step.watch for step in self._launches if step.watch is not None]
        self._held = (self._native, self._owners, [step.prepared for step in self._launches], self._watches)

    def _require_alike(self, step: _Launch, made: Prepared) -> None:
        native = self._native
        assert native is not None
        if made.platform is not native.platform or not native.is_for(made.queue):
            raise KernelLaunchError(
                f"arguments that update puts into a launch of `{step.kernel.__name__}` must be of the graph's queue, "
                f"{native.platform.describe_queue(native.queue)}, got some of "
                f"{made.platform.describe_queue(made.queue)}",
                code="graph-queue",
            )


def _arguments(step: _Launch, prepared: Prepared) -> list[NativeArgument]:
    """The arguments that are submitted, with the address of a record where the kernel writes one."""
    made = prepared.made
    if made.module is None or not made.module.failures:
        step.watch = None
        return list(made.arguments)
    if step.watch is None or step.watch.module is not made.module:
        # A queue of its own: what it does to begin with is not recorded.
        platform = prepared.platform
        queue = platform.new_queue(platform.device_of(prepared.queue), True, False)
        step.watch = FailureWatch(made.module, step.space, platform, queue)
        platform.wait_for(queue)
    packed, *others = made.arguments
    assert isinstance(packed, bytes)  # what `compiled` gave
    return [with_address(packed, made.module, step.watch.address), *others]


def _slots(given: tuple[Any, ...]) -> list[Slot]:
    return [value for value in given if isinstance(value, Slot)]


def graph(queue: Any = None) -> Graph:
    """Return a graph, which records the launches and copies of a ``with`` block and replays them.

    Parameters
    ----------
    queue : Queue, optional
        The queue of the work, native ones included.  Left out, the first launch or copy decides; on a CUDA device it
        must be given, for what CuPy or PyTorch do before would not be recorded.

    Returns
    -------
    Graph

    Raises
    ------
    KernelLaunchError
        If `queue` is none.  At the beginning of the block, if another graph is recording in this thread.  In the block,
        for work of another queue, and where the host waits.

    References
    ----------
    CUDA driver API, section on graph management; SYCL extension ``sycl_ext_oneapi_graph``, whose dynamic parameters are
    slots.

    Examples
    --------
    >>> import numpy as np
    >>> import kapi_runtime as kapi
    >>> @kapi.kernel
    ... def double(item: kapi.Item, a):
    ...     a[item.get_id(0)] *= 2
    >>> a = np.ones(3)
    >>> with kapi.graph() as g:
    ...     for _ in range(3):
    ...         kapi.call_kernel(double, kapi.Range(3), a)
    >>> host_event, _ = g()
    >>> host_event.wait()
    >>> a
    array([8., 8., 8.])
    """
    return Graph(queue)
