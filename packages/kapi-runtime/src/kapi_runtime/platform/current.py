"""The current device: a stack for each thread and asyncio task, empty at first.

What a ``with`` block puts there is told apart from what `push` does: the end of the block takes away what was pushed
inside of it and not popped, and a pop never takes what belongs to a block.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any, NamedTuple

__all__ = ["clear", "current", "enter", "leave", "pop", "push", "select"]


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
    """Take the device from the top, if it is this one and was pushed; tell whether it was."""
    stack = _stack.get()
    if not stack or stack[-1].is_block or stack[-1].device != device:
        return False
    _stack.set(stack[:-1])
    return True


def enter(device: Any) -> None:
    """Put a device on top at the beginning of a ``with`` block."""
    _stack.set((*_stack.get(), _Entry(device, is_block=True)))


def leave() -> None:
    """At the end of a ``with`` block, take away its device and all above; nothing if `clear` did it."""
    stack = _stack.get()
    while stack:
        *below, top = stack
        stack = tuple(below)
        if top.is_block:
            _stack.set(stack)
            return


def select(device: Any) -> None:
    """Put a device in the place of the one on top."""
    stack = _stack.get()
    _stack.set((*stack[:-1], _Entry(device, bool(stack) and stack[-1].is_block)))


def clear() -> None:
    """Empty the stack."""
    _stack.set(())
