"""One analysis of a kernel: which functions were followed for which types, what they return, and what was found."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FunctionType

from kapi_sim.errors import Finding, KernelProblem
from kapi_sim.language.source import parse_function
from kapi_sim.numba_cuda.inference.call_graph import CallGraph, Followed
from kapi_sim.numba_cuda.static_types.kinds import UNKNOWN, Kind

__all__ = ["Session"]


@dataclass(slots=True)
class _Found:
    """The outcome of inference for a function and some types."""

    result: Kind
    problems: list[KernelProblem]


@dataclass(slots=True)
class Session:
    """Follows functions, each once for each list of types.

    Attributes
    ----------
    follow : callable
        Takes this, a function, its source and the types of its parameters, and returns the type of its result.
    problems : list of KernelProblem
        What was found so far.
    calls : CallGraph
        The calls that were followed so far.
    is_quiet : bool
        Whether nothing is kept, since the types in a loop are not settled yet.
    """

    follow: Callable[[Session, FunctionType, ast.FunctionDef, tuple[Kind, ...]], Kind]
    problems: list[KernelProblem] = field(default_factory=list)
    calls: CallGraph = field(default_factory=CallGraph)
    is_quiet: bool = False
    _known: dict[Followed, _Found] = field(default_factory=dict)
    _running: list[Followed] = field(default_factory=list)

    def report(self, function: FunctionType, line: int, finding: Finding) -> None:
        """Keep a problem, unless it is known."""
        problem = finding.at(function.__code__.co_filename, line)
        if not self.is_quiet and problem not in self.problems:
            self.problems.append(problem)

    def leave(self, node: ast.Call) -> None:
        """Keep that a call is not followed."""
        if not self.is_quiet:
            self.calls.follow(self._running[-1], node, None)

    def take(self, node: ast.Call, numbers: Iterable[int]) -> None:
        """Keep which signatures a call may take, by their numbers."""
        if not self.is_quiet:
            self.calls.take(self._running[-1], node, numbers)

    @contextmanager
    def following(self, function: FunctionType, kinds: tuple[Kind, ...]) -> Iterator[None]:
        """Take note that a function is being followed for these types."""
        self._running.append((function, kinds))
        self.calls.start = self._running[0]
        try:
            yield
        finally:
            self._running.pop()

    def is_running(self, function: FunctionType) -> bool:
        """Return whether a function is being followed: a call of it is a recursion."""
        return any(each is function for each, _ in self._running)

    def own_call(self, function: FunctionType) -> tuple[Kind, ...] | None:
        """Return the types for which a function is followed that calls itself; `None` if another one calls it."""
        running, kinds = self._running[-1]
        return kinds if running is function else None

    def result_of(self, node: ast.Call, function: FunctionType, kinds: tuple[Kind, ...]) -> Kind:
        """Return the type of what a call of a function for these types returns; the caller has its problems, too."""
        key = (function, kinds)
        if not self.is_quiet:
            self.calls.follow(self._running[-1], node, key)
        known = self._known.get(key)
        if known is None:
            before = self.problems, self.is_quiet
            self.problems, self.is_quiet = [], False
            tree = parse_function(function)
            with self.following(function, kinds):
                result = UNKNOWN if tree is None else self.follow(self, function, tree, kinds)
            known = self._known[key] = _Found(result, self.problems)
            self.problems, self.is_quiet = before
        if not self.is_quiet:
            self.problems += [each for each in known.problems if each not in self.problems]
        return known.result
