"""Call graph of offloaded functions: reports of a function include those that it called."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["OffloadedParts", "recording", "run_recorded", "transitive_calls"]


class _State(threading.local):
    """The function that a thread runs, and the functions that it has run while they are noted."""

    running: OffloadedParts | None = None
    recorded: dict[int, OffloadedParts] | None = None


_state = _State()


class OffloadedParts:
    """A function specialized for argument types, and the parts that reports name.

    - `library_name`: the name of the array library that runs what is no kernel.
    - `called`: the offloaded functions that its calls called themselves, by identity.
    """

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    library_name: str

    def __init__(self) -> None:
        self.called: dict[int, OffloadedParts] = {}

    @property
    def reported(self) -> tuple[Any, ...]:
        """The parts that reports name."""
        raise TypeError(f"{type(self).__name__} must define reported")

    @property
    def explained(self) -> tuple[Any, ...]:
        """The reported parts, and the calls of NumPy's functions."""
        return self.reported


def run_recorded(one: OffloadedParts, call: Callable[..., Any], args: Iterable[Any]) -> Any:
    """Call what runs a function, and note that the function that this thread runs has called it."""
    outer, noted = _state.running, _state.recorded
    if outer is not None:
        outer.called.setdefault(id(one), one)
    if noted is not None:
        noted.setdefault(id(one), one)
    _state.running = one
    try:
        return call(*args)
    finally:
        _state.running = outer


@contextmanager
def recording() -> Iterator[dict[int, OffloadedParts]]:
    """Note all functions that this thread runs, by identity, in the order of their first calls."""
    recorded: dict[int, OffloadedParts] = {}
    _state.recorded = recorded
    try:
        yield recorded
    finally:
        _state.recorded = None


def transitive_calls(first: Iterable[OffloadedParts]) -> list[OffloadedParts]:
    """The functions, and all that they called, in the order in which they were first called; each once."""
    found: dict[int, OffloadedParts] = {}
    waiting = list(first)
    while waiting:
        each = waiting.pop(0)
        if id(each) not in found:
            found[id(each)] = each
            waiting += each.called.values()
    return list(found.values())
