"""Which functions are one array expression, and why another is not: a pure question about Numba IR."""

from __future__ import annotations

from typing import Any

from kapi_numba_offload._numba_compat import ir
from kapi_types.kernel_typing import Problem

__all__ = ["reasons_against"]

_EXPRESSIONS = ("binop", "unary", "cast")


def reasons_against(func_ir: Any) -> list[Problem]:
    """What keeps a function from being one elementwise expression of its arguments; empty if nothing does.

    Parameters
    ----------
    func_ir : numba.core.ir.FunctionIR
        Numba IR of what `numba.njit` was given, before type inference.

    Returns
    -------
    list of Problem
        Each with the line that it is about.
    """
    problems = []
    if len(func_ir.blocks) > 1:
        problems.append(_problem(func_ir.loc, "branches and loops over arrays are not offloaded"))
    for block in func_ir.blocks.values():
        for statement in block.body:
            reason = _reason(statement)
            if reason:
                problems.append(_problem(statement.loc, reason))
    return problems


def _reason(statement: Any) -> str | None:
    if isinstance(statement, (ir.SetItem, ir.StaticSetItem)):
        return "assignments to elements and slices are not offloaded"
    value = getattr(statement, "value", None)
    if not isinstance(value, ir.Expr):
        return None
    if value.op == "inplace_binop":
        return "in-place operators are not offloaded: write out `x = x + y`, which makes a new array"
    if value.op == "call":
        return "function calls on arrays are not offloaded"
    if value.op not in _EXPRESSIONS:
        return f"{value.op} is not an operator on whole arrays"
    return None


def _problem(loc: Any, text: str) -> Problem:
    return Problem(loc.filename, loc.line, text)
