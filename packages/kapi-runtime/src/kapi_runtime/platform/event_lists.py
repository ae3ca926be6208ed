"""The events that a launch is told to wait for, as a list; which platform's they are is asked later."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kapi_sim import KernelLaunchError
from kapi_sim.short_repr import short_repr

__all__ = ["listed_events"]

_NONE: list[Any] = []  # no events; never changed


def listed_events(events: Iterable[Any]) -> list[Any]:
    """Return the events of an iterable; KernelLaunchError if it holds something else, or is none."""
    if isinstance(events, (tuple, list)) and not events:
        return _NONE
    try:
        listed = list(events)
    except TypeError:
        wrong = f"got {short_repr(events)}: pass [] if the launch depends on none"
        if hasattr(events, "wait"):
            wrong = f"got one event: pass [{type(events).__name__}]"
        raise KernelLaunchError(
            f"dependent_events must be an iterable of events, {wrong}", code="dependent-events"
        ) from None
    for event in listed:
        # Whose event it is, its platform knows.
        if not hasattr(event, "wait") and not hasattr(event, "synchronize"):
            raise KernelLaunchError(
                f"dependent_events must be an iterable of events, got {short_repr(event)}: pass [] if the launch "
                "depends on none",
                code="dependent-events",
            )
    return listed
