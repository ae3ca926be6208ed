"""Whether a function runs for the first time: then nothing is compiled that can wait for its second call."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["first_run", "is_first_run"]

_state = threading.local()


@contextmanager
def first_run() -> Iterator[None]:
    """Note that this thread runs a function for the first time, and what that calls."""
    before = is_first_run()
    _state.is_first = True
    try:
        yield
    finally:
        _state.is_first = before


def is_first_run() -> bool:
    """Whether this thread runs a function for the first time, or what such a function calls."""
    return getattr(_state, "is_first", False)
