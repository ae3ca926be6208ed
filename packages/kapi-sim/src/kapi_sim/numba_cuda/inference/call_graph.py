"""The call graph of a kernel, by types, and the signatures of device functions that calls take."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Set
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cached_property
from types import CodeType, FrameType, FunctionType

from kapi_sim.language.source import expression_span
from kapi_sim.numba_cuda.static_types.kinds import Kind

__all__ = ["CallGraph", "Followed", "calling", "taken_by"]

Followed = tuple[FunctionType, tuple[Kind, ...]]
"""A function, and the types of its parameters."""
CallSite = tuple[str, object]
"""A call: its file, and where it starts and ends."""


def _call_site(code: CodeType, node: ast.Call) -> CallSite:
    return code.co_filename, (node.lineno, node.end_lineno, node.col_offset, node.end_col_offset)


@dataclass
class CallGraph:
    """The calls of device functions in a kernel."""

    start: Followed | None = None
    _followed: dict[tuple[Followed, CallSite], set[Followed | None]] = field(default_factory=dict)
    _taken: dict[tuple[Followed, CallSite], set[int]] = field(default_factory=dict)

    def follow(self, caller: Followed, node: ast.Call, called: Followed | None) -> None:
        """Keep that a call in `caller` runs a function for these types; `None` if it was not followed."""
        self._followed.setdefault((caller, _call_site(caller[0].__code__, node)), set()).add(called)

    def take(self, caller: Followed, node: ast.Call, numbers: Iterable[int]) -> None:
        """Keep which signatures a call in `caller` may take, by their numbers."""
        self._taken.setdefault((caller, _call_site(caller[0].__code__, node)), set()).update(numbers)

    @cached_property
    def _by_site(self) -> dict[CallSite, set[int]]:
        found: dict[CallSite, set[int]] = {}
        for (_, site), numbers in self._taken.items():
            found.setdefault(site, set()).update(numbers)
        return found

    @cached_property
    def _is_complete(self) -> bool:
        """Whether all calls were followed."""
        return all(None not in called for called in self._followed.values())

    @cached_property
    def _files(self) -> set[str]:
        """Files that calls stand in."""
        return {file for _, (file, _) in (*self._followed, *self._taken)}

    def taken(self, frame: FrameType) -> Set[int]:
        """Return the numbers of the signatures that the innermost call may take; none if that is not known.

        A call in a function that is called for several types depends on who calls the function.
        """
        path = self._path(frame)
        site = next(path, None)
        numbers = self._by_site.get(site, set()) if site is not None else set()
        if not numbers or (len(numbers) == 1 and self._is_complete):
            return numbers
        callers: set[Followed | None] = {self.start}
        for each in reversed(list(path)):
            called = [self._followed.get((caller, each), set()) for caller in callers if caller is not None]
            callers = set().union(*called) or callers
        if None in callers or site is None:
            return set()
        return set().union(*(self._taken.get((caller, site), set()) for caller in callers if caller is not None))

    def _path(self, frame: FrameType | None) -> Iterator[CallSite]:
        """Return the calls that run in a frame and those around it, the innermost first."""
        while frame is not None:
            if frame.f_code.co_filename in self._files:
                yield frame.f_code.co_filename, expression_span(frame.f_code, frame.f_lasti)
            frame = frame.f_back


_current: ContextVar[CallGraph | None] = ContextVar("kapi_sim_numba_cuda_calls", default=None)


@contextmanager
def calling(graph: CallGraph) -> Iterator[None]:
    """Let the kernel run whose calls these are."""
    token = _current.set(graph)
    try:
        yield
    finally:
        _current.reset(token)


def taken_by(frame: FrameType) -> Set[int]:
    """Return the numbers of the signatures that the innermost call may take; none if that is not known."""
    graph = _current.get()
    return set() if graph is None else graph.taken(frame)
