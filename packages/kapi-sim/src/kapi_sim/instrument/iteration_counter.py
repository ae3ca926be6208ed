"""Loops of functions without source: their iterations are counted as Python runs them, for nothing can be rewritten."""

from __future__ import annotations

import opcode
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any

from kapi_sim.memory.infinite_loops import RANGE_ITERATIONS, Loop, spin

__all__ = ["IterationCounter", "counting", "has_loop"]

_FOR = opcode.opmap["FOR_ITER"]
_BACK = frozenset(number for name, number in opcode.opmap.items() if "JUMP" in name and "BACKWARD" in name)


def has_loop(code: CodeType) -> bool:
    """Return whether a function jumps back in its code."""
    return not _BACK.isdisjoint(code.co_code[::2])


class IterationCounter:
    """A trace function that counts how often the lines of loops come again.

    - `codes`: the functions to watch.
    - `limit`: iterations of a `while` loop after which it is given up.
    - `give_up`: called with the loop then; what it raises ends the work-item.
    """

    def __init__(self, codes: Iterable[CodeType], limit: int, give_up: Callable[[Loop], None]) -> None:
        self._codes = frozenset(codes)
        self._limit = limit
        self._give_up = give_up

    def with_end(self, limit: int, give_up: Callable[[Loop], None]) -> IterationCounter:
        """Return a counter of the same functions that gives up otherwise."""
        return IterationCounter(self._codes, limit, give_up)

    def __call__(self, frame: FrameType, event: str, argument: object) -> Any:
        """Watch a call of one of the functions; Python calls this for each call."""
        return self._of_call(frame.f_code) if frame.f_code in self._codes else None

    def _of_call(self, code: CodeType) -> Callable[[FrameType, str, object], Any]:
        iterations: dict[int, int] = {}
        last = -1

        def count(frame: FrameType, event: str, argument: object) -> Any:
            nonlocal last
            if event == "line":
                here = frame.f_lasti
                if here <= last:
                    iterations[here] = iterations.get(here, 0) + 1
                    # An iteration of an outer loop starts the inner ones, which stand behind, anew.
                    for inner in [location for location in iterations if location > here]:
                        del iterations[inner]
                    most = self._limit * RANGE_ITERATIONS if code.co_code[here] == _FOR else self._limit
                    if iterations[here] > most:
                        iterations[here] = 0
                        self._give_up((code.co_filename, frame.f_lineno, frame.f_lineno))
                last = here
            return count

        return count


@contextmanager
def counting(codes: Iterable[CodeType], limit: int) -> Iterator[None]:
    """Give up loops of these functions, while the block runs, that run more than `limit` times."""
    watched = [code for code in codes if has_loop(code)]
    before = sys.gettrace()
    # A debugger goes on: who steps through a loop can end it.
    if not watched or getattr(before, "__name__", "") == "trace_dispatch":
        yield
        return
    sys.settrace(IterationCounter(watched, limit, lambda loop: spin(loop, True)))
    try:
        yield
    finally:
        sys.settrace(before)
