"""Types of what operators give."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kapi_sim.numba_cuda.inference.values import BOOL
from kapi_sim.numba_cuda.kinds.kinds import Kind, Nothing, Number, Optional, Text, Unknown

__all__ = ["compared", "of_numbers", "of_unary"]

_OPERATORS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Invert: operator.invert,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_FAR = 2**63


def of_numbers(left: Number, sign: ast.operator, right: Number, is_literal: bool) -> Number:
    """Return the type of what an operator makes of two numbers.

    Parameters
    ----------
    left, right : Number
        Their types.
    sign : ast.operator
        The operator.
    is_literal : bool
        Whether Python's compiler works it out, so that it is a literal itself.
    """
    if is_literal:
        value = _worked_out(sign, left.literal, right.literal)
        if isinstance(value, int) and abs(value) < _FAR:
            return Number(np.dtype(np.int64), value)
    categories = {left.category, right.category}
    if "" in categories:
        return Number(None)
    if "complex" in categories:
        return Number(None, None, "complex")
    if isinstance(sign, ast.Div) or "float" in categories:
        return Number(None, None, "float")
    is_bitwise = isinstance(sign, (ast.BitAnd, ast.BitOr, ast.BitXor))
    if isinstance(sign, ast.Pow):
        return Number(None)  # of integers, for a constant exponent, an integer
    return BOOL if is_bitwise and categories == {"bool"} else Number(None, None, "int")


def of_unary(sign: ast.unaryop, kind: Number, is_literal: bool) -> Number:
    """Return the type of what a sign makes of a number."""
    if is_literal:
        value = _worked_out(sign, kind.literal)
        if isinstance(value, int) and not isinstance(value, bool) and abs(value) < _FAR:
            return Number(np.dtype(np.int64), value)
    category = "int" if kind.category == "bool" else kind.category
    return Number(None, None, category)


def compared(signs: Sequence[ast.cmpop], kinds: Sequence[Kind]) -> Number:
    """Return the type of a comparison, with its value where the compiler knows it."""
    if len(signs) != 1:
        return BOOL
    one, other = kinds
    if isinstance(signs[0], (ast.Is, ast.IsNot)) and Nothing() in (one, other):
        value = one if isinstance(other, Nothing) else other
        if isinstance(value, (Unknown, Optional)):
            return BOOL
        return Number(BOOL.dtype, isinstance(value, Nothing) == isinstance(signs[0], ast.Is))
    if isinstance(one, (Number, Text)) and isinstance(other, (Number, Text)):
        value_known = _worked_out(signs[0], one.literal, other.literal)
        return Number(BOOL.dtype, value_known if isinstance(value_known, bool) else None)
    return BOOL


def _worked_out(sign: ast.AST, *values: Any) -> Any:
    if None in values or type(sign) not in _OPERATORS:
        return None
    if isinstance(sign, (ast.Pow, ast.LShift)) and not 0 <= values[1] <= 64:
        return None
    try:
        return _OPERATORS[type(sign)](*values)
    except (TypeError, ValueError, ArithmeticError):
        return None
