"""A plan for a loop: what runs it, and the statements in its place."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from kapi_numba_offload.analysis.syntax import located
from kapi_numba_offload.loops.host.loop_exits import exit_statements
from kapi_numba_offload.loops.loop_syntax import first_use
from kapi_numba_offload.partition.function_info import FunctionInfo, loaded

__all__ = [
    "HostPlan",
    "LoopInContext",
    "LoopPlan",
    "NoticedPlan",
    "Rewriter",
    "choice",
    "otherwise_statements",
    "reads",
]


class LoopInContext(NamedTuple):
    """A loop in its function.

    - `following`: what may run after it, block by block.
    """

    facts: FunctionInfo
    statement: ast.For | ast.While
    following: Sequence[Sequence[ast.stmt]]

    def is_live_after(self, name: str) -> bool:
        """Whether the blocks that may run after the loop read a variable before they assign it."""
        uses = (first_use(name, block) for block in self.following)
        return next((use for use in uses if use is not None), None) == "read"


class Rewriter(Protocol):
    """The partition of the function that the loop is in.

    - `regions`, `calls`, `loops`: what the new body has called so far.
    """

    regions: list[Any]
    calls: list[Any]
    loops: list[Any]

    def expression(self, node: ast.expr) -> ast.expr:
        """An expression, rewritten."""

    def queue(self, where: ast.AST) -> ast.expr:
        """The queue of the function's arrays."""

    def helper(self, name: str, value: Any) -> str:
        """The name under which the new body calls `value`."""

    def block(self, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        """The statements of one block, rewritten."""

    def planned(self, plan: LoopPlan) -> list[ast.stmt]:
        """The statements of another plan for the same loop."""

    def inline_loop(self, statement: ast.For | ast.While) -> list[ast.stmt]:
        """A loop that stays in the function, its blocks rewritten."""


@dataclass(frozen=True, slots=True)
class LoopPlan:
    """Plan for a loop: a subclass for each kind.

    - `loop`: the object that the function calls for the loop.
    - `statement`: the loop as written.
    """

    loop: Any
    statement: ast.For | ast.While

    def rewritten(self, rewriter: Rewriter, helper: str) -> list[ast.stmt]:
        """The statements instead of the loop.

        - `rewriter`: rewrites the loop's parts.
        - `helper`: the name of `loop` in the function.
        """
        raise NotImplementedError  # each subclass has its own


def otherwise_statements(
    rewriter: Rewriter, statement: ast.For | ast.While, otherwise: LoopPlan | None
) -> list[ast.stmt]:
    """The statements for values that do not suit a plan: those of another plan, or the loop itself."""
    return rewriter.inline_loop(statement) if otherwise is None else rewriter.planned(otherwise)


def reads(names: Sequence[str], where: ast.AST) -> list[ast.expr]:
    """The variables, read where a loop stands."""
    return [loaded(each, where) for each in names]


def choice(
    helper: str, where: ast.stmt, arguments: list[ast.expr], suited: list[ast.stmt], other: list[ast.stmt]
) -> ast.stmt:
    """An `if` statement with two versions of a loop: the first where the guard of `helper` holds for the arguments."""
    guard = ast.Attribute(loaded(helper, where), "suits", ast.Load())
    return located(ast.If(ast.Call(guard, arguments, []), suited, other), where)


@dataclass(frozen=True, slots=True)
class NoticedPlan(LoopPlan):
    """A loop that stays in the function, after a call that may warn of it.

    - `given`: variables that the call is given.
    """

    given: tuple[str, ...] = ()

    def rewritten(self, rewriter: Rewriter, helper: str) -> list[ast.stmt]:
        """The call, and the loop."""
        where = self.statement
        warns = ast.Expr(ast.Call(loaded(helper, where), reads(self.given, where), []))
        return [located(warns, where), *rewriter.inline_loop(where)]


@dataclass(frozen=True, slots=True)
class HostPlan(LoopPlan):
    """A loop that is outlined: a function on the host runs it.

    - `given`, `left`, `flagged`: variables that it is given, those that it leaves, and those of them that may have no
      value.
    """

    given: tuple[str, ...]
    left: tuple[str, ...]
    flagged: tuple[str, ...]

    def rewritten(self, rewriter: Rewriter, helper: str) -> list[ast.stmt]:
        """A call, and the statements that go on with what it returns."""
        call = ast.Call(loaded(helper, self.statement), reads(self.given, self.statement), [])
        return exit_statements(call, f"{helper}_left", self.statement, self.left, self.flagged)
