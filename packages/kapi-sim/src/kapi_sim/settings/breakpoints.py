"""Stopping in a kernel: which work-items a `breakpoint()` holds up."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kapi_sim.errors import KernelLaunchError
from kapi_sim.short_repr import short_repr

if TYPE_CHECKING:
    from kapi_sim.items.schedule_state import ScheduleState

__all__ = ["debug", "global_id", "is_debugged", "start_clock", "stops"]


@dataclass(slots=True)
class _Stop:
    item: tuple[int, ...]
    is_reached: bool = False
    spaces: list[str] = field(default_factory=list)


_stop: ContextVar[_Stop | None] = ContextVar("kapi_sim_stop", default=None)
_clock: ContextVar[ScheduleState | None] = ContextVar("kapi_sim_clock", default=None)


@contextmanager
def debug(item: int | tuple[int, ...]) -> Iterator[None]:
    """Let ``breakpoint()`` in kernels stop for one work-item only.

    Parameters
    ----------
    item : int or tuple of int
        Its global id, one number for each dimension.  Outside of this block, each work-item stops.

    Raises
    ------
    KernelLaunchError
        If `item` is no id; and at the end, if no launch inside the block had such a work-item.

    Examples
    --------
    ``breakpoint()`` stops in work-item (3, 0), at the kernel's own line, and in no other::

        with kapi_sim.debug(item=(3, 0)):
            kapi_sim.call_kernel(kernel, kapi_sim.Range(8, 8), a)
    """
    given = global_id(item)
    stop = _Stop(given)
    token = _stop.set(stop)
    try:
        yield
    finally:
        _stop.reset(token)
    if not stop.is_reached:
        raise KernelLaunchError(
            f"item must be a work-item of a launch inside the block, got {given}: "
            f"{'launched over ' + ', '.join(stop.spaces) if stop.spaces else 'nothing was launched'}",
            code="debug-item-absent",
        )


def global_id(item: int | tuple[int, ...]) -> tuple[int, ...]:
    """Return a work-item's global id as a tuple.

    Raises `KernelLaunchError` if `item` is no id.
    """
    given = item if isinstance(item, tuple) else (item,)
    if not 1 <= len(given) <= 3 or any(isinstance(i, bool) or not isinstance(i, int) or i < 0 for i in given):
        raise KernelLaunchError(
            f"item must be a global id of 1 to 3 numbers from 0 on, got {short_repr(item)}", code="debug-item"
        )
    return given


def is_debugged() -> bool:
    """Return whether it has to be known which work-item runs."""
    return _stop.get() is not None


def start_clock(clock: ScheduleState) -> None:
    """Make the clock of the launch that runs known."""
    stop = _stop.get()
    _clock.set(clock)
    if stop is not None:
        extents = clock.extents
        stop.spaces.append(repr(clock.space))
        stop.is_reached |= len(extents) == len(stop.item) and all(
            i < extent for i, extent in zip(stop.item, extents, strict=True)
        )


def stops() -> bool:
    """Return whether ``breakpoint()`` holds up the work-item that runs."""
    stop, clock = _stop.get(), _clock.get()
    return stop is None or clock is None or clock.global_id() == stop.item
