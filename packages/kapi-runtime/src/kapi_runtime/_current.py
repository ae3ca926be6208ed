"""Which device is current: a stack for each thread and asyncio task, empty at first."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any

__all__ = ["clear", "current", "pop", "push", "select"]

# A tuple, so that a task or thread never changes what another one sees.
_stack: ContextVar[tuple[Any, ...]] = ContextVar("kapi_current_devices", default=())


def current() -> Any:
    """Return the device on top of the stack, or None."""
    stack = _stack.get()
    return stack[-1] if stack else None


def push(device: Any) -> None:
    """Put a device on top."""
    _stack.set((*_stack.get(), device))


def pop() -> Any:
    """Take the device from the top and return it, or None if there is none."""
    stack = _stack.get()
    if not stack:
        return None
    _stack.set(stack[:-1])
    return stack[-1]


def select(device: Any) -> None:
    """Put a device in the place of the one on top."""
    _stack.set((*_stack.get()[:-1], device))


def clear() -> None:
    """Empty the stack."""
    _stack.set(())
