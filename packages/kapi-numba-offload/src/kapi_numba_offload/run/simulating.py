"""Simulation of parallel loops before they run on the device."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["is_simulating", "simulating"]

_state = threading.local()


@contextmanager
def simulating() -> Iterator[None]:
    """Let the parallel loops that this thread runs be simulated."""
    _state.depth = getattr(_state, "depth", 0) + 1
    try:
        yield
    finally:
        _state.depth -= 1


def is_simulating() -> bool:
    """Whether this thread's parallel loops are simulated."""
    return getattr(_state, "depth", 0) > 0
