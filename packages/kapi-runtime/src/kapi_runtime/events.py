"""Events: what a launch returns, to be waited for or to be waited on by another launch."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import dpctl

from kapi_sim.errors import KernelLaunchError

__all__ = ["HostEvent", "device_events"]


class HostEvent:
    """The host's side of a launch: done when the kernel has run and its arguments are let go.

    Parameters
    ----------
    device_event : dpctl.SyclEvent
        The kernel's own event.
    release : callable
        Lets go of the arguments of launches that are done.
    """

    __slots__ = ("_release", "device_event")

    def __init__(self, device_event: Any, release: Callable[[], None]) -> None:
        self.device_event = device_event
        self._release = release

    def wait(self) -> None:
        """Wait for the kernel, and let go of its arguments.  Other threads run meanwhile."""
        self.device_event.wait()
        self._release()

    def __repr__(self) -> str:
        return f"<HostEvent: {self.device_event.execution_status.name}>"


def device_events(events: Iterable[Any]) -> list[Any]:
    """Return the `dpctl.SyclEvent` of each event that a launch is to wait for.

    Parameters
    ----------
    events : iterable of HostEvent or dpctl.SyclEvent
        Events of launches, or of anything else that dpctl knows.

    Raises
    ------
    KernelLaunchError
        If it is no iterable, or holds something else.
    """
    try:
        given = list(events)
    except TypeError:
        given = [events]
        if isinstance(events, (HostEvent, dpctl.SyclEvent)):
            raise KernelLaunchError(
                f"dependent_events must be an iterable of events, got one event: pass [{type(events).__name__}]"
            ) from None
    resolved = [event.device_event if isinstance(event, HostEvent) else event for event in given]
    for event in resolved:
        if not isinstance(event, dpctl.SyclEvent):
            raise KernelLaunchError(
                f"dependent_events must be an iterable of events, got {event!r}: pass [] if the launch depends on none"
            )
    return resolved
