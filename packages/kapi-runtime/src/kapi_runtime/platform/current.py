"""State of the calling thread or asyncio task: its current device, the queue of its NumPy arrays, whether it waits.

The current device is the top of a stack, empty at first. The end of a ``with`` block pops its device and all that was
pushed inside of it, and `pop` takes no block's device.
"""

from __future__ import annotations

import threading
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from kapi_runtime.platform.interface import Platform

__all__ = [
    "HostArrayTarget",
    "caller",
    "clear",
    "current",
    "device_array_target",
    "enter",
    "host_array_target",
    "leave",
    "pop",
    "push",
    "select",
]


class _Entry(NamedTuple):
    device: Any
    is_block: bool


# A tuple, so that a task or thread never changes what another one sees.
_stack: ContextVar[tuple[_Entry, ...]] = ContextVar("kapi_current_devices", default=())


def current() -> Any:
    """Return the device on top of the stack, or None."""
    stack = _stack.get()
    return stack[-1].device if stack else None


def push(device: Any) -> None:
    """Put a device on top."""
    _stack.set((*_stack.get(), _Entry(device, is_block=False)))


def pop(device: Any) -> bool:
    """Take the device from the top, if it is this one and was pushed; return whether it was."""
    stack = _stack.get()
    if not stack or stack[-1].is_block or stack[-1].device != device:
        return False
    _stack.set(stack[:-1])
    return True


def enter(device: Any) -> None:
    """Put a device on top at the beginning of a ``with`` block."""
    _stack.set((*_stack.get(), _Entry(device, is_block=True)))


def leave() -> None:
    """Take away a ``with`` block's device and all above at its end; nothing if `clear` did it."""
    stack = _stack.get()
    while stack:
        *below, top = stack
        stack = tuple(below)
        if top.is_block:
            _stack.set(stack)
            return


def select(device: Any) -> None:
    """Put a device in place of the one on top."""
    stack = _stack.get()
    _stack.set((*stack[:-1], _Entry(device, bool(stack) and stack[-1].is_block)))


def clear() -> None:
    """Empty the stack."""
    _stack.set(())


@dataclass(frozen=True, slots=True)
class HostArrayTarget:
    """The queue to which NumPy arrays are moved for each launch inside of a `device_context`.

    - `platform`: the platform of the queue.
    - `warn`: whether a copy is warned of.
    - `in_place`: whether arrays stay where they are if the device reads the host's memory.
    """

    platform: Platform
    queue: Any
    warn: bool
    in_place: bool = True


host_array_target: ContextVar[HostArrayTarget | None] = ContextVar("kapi_host_array_target", default=None)
"""The target of this thread or task, None outside of every `device_context`, which sets it."""


def device_array_target() -> HostArrayTarget | None:
    """Return the target; None also in the context of a platform whose kernels use NumPy arrays in place."""
    target = host_array_target.get()
    return None if target is None or target.platform.is_host else target


class _Caller(threading.local):
    waits = False


caller = _Caller()
"""The calling thread: whether it `waits` at once for what it submits now, so that a platform may let it do the work."""
