"""Events of SYCL: what a launch returns and what marks are made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import dpctl
from dpctl.utils import SequentialOrderManager

from kapi_runtime.platform.handles import EventStatus, HostEvent
from kapi_runtime.sycl.queues.interruptible_waits import Pace, wait_for
from kapi_runtime.sycl.queues.queue import profiling_queue
from kapi_sim.errors import KernelLaunchError
from kapi_sim.short_repr import short_repr

__all__ = ["DpctlHostEvent", "hold", "mark", "native_events"]

_DONE = dpctl.SyclEvent()


class DpctlHostEvent(HostEvent, dpctl.SyclEvent):  # type: ignore[misc]  # dpctl has no types
    """The host's side of a launch on a SYCL device.

    dpctl takes it as a `dpctl.SyclEvent`, and waits for the kernel alone. `wait` lets go of the arguments, too.

    - `device_event`: the kernel's own event.
    - `release`: lets go of the arguments of launches that are done.
    - `pace`: how long launches like this one took to wait for.
    """

    __slots__ = ("_pace", "_release", "device_event")

    def __new__(cls, device_event: Any, release: Callable[[], None], pace: Pace | None = None) -> DpctlHostEvent:
        made: DpctlHostEvent = super().__new__(cls, device_event._get_capsule())
        made.device_event, made._release, made._pace = device_event, release, pace
        return made

    def wait(self) -> None:
        """Wait for the kernel, and let go of its arguments.  Other threads run meanwhile, and Ctrl-C is heard."""
        wait_for(self.device_event, self._pace)
        self._release()

    @property
    def status(self) -> EventStatus:
        """Progress of the kernel."""
        return EventStatus[self.device_event.execution_status.name]


def mark(queue: Any, timing: bool) -> tuple[Any, Any]:
    """Set a mark after all work that was submitted to a queue so far; see `Platform.mark`."""
    # SYCL's runtime may submit a barrier before a kernel that a host task holds back, unless that one is named.
    event = queue.submit_barrier([queue.submit_barrier(), *SequentialOrderManager[queue].submitted_events])
    if not timing:
        return event, None
    clock = profiling_queue(queue)
    return event, event if clock is queue else clock.submit_barrier([event])


def hold(queue: Any, event: Any) -> None:
    """Let all that is submitted to a queue from now on wait for an event."""
    barrier = queue.submit_barrier([event])
    # dpnp and kapi order their work by these events, also where the queue itself orders nothing.
    SequentialOrderManager[queue].add_event_pair(_DONE, barrier)


def native_events(events: Sequence[Any]) -> list[Any]:
    """Return the `dpctl.SyclEvent` of each event that a launch is to wait for; see `Launcher.native_events`."""
    given = [getattr(event, "device_event", event) for event in events]
    resolved = [event for event in given if event is not None]
    for event in resolved:
        if not isinstance(event, dpctl.SyclEvent):
            raise KernelLaunchError(
                f"dependent_events must be an iterable of events, got {short_repr(event)}: pass [] if the launch "
                "depends on none",
                code="dependent-events",
            )
    return resolved
