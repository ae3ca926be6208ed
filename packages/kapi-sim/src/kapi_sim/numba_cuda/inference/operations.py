"""Types of what operators give."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kapi_sim.numba_cuda.inference.values import BOOL
from kapi_sim.numba_cuda.static_types.conversions import Grade, grade_of
from kapi_sim.numba_cuda.static_types.kinds import Kind, Nothing, Number, Optional, Text, Unknown

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
_INT64, _UINT64, _FLOAT64 = (Number(np.dtype(each)) for each in ("int64", "uint64", "float64"))
_WIDENING: dict[str, list[np.dtype[Any]]] = {
    "float": [np.dtype(each) for each in ("float32", "float64")],
    "complex": [np.dtype(each) for each in ("complex64", "complex128")],
}
"""The types that results of a category have, the narrowest first."""


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
    is_power = isinstance(sign, ast.Pow)
    if "" in categories or (is_power and not categories & {"float", "complex"}):
        return Number(None)  # to a constant power, an integer is one
    if "complex" in categories:
        return Number(None, None, "complex") if is_power else _widest(left, right, "complex")
    if "float" in categories:
        is_root = is_power and left.category == "float" and right.category == "int"
        return Number(left.dtype, None, "float") if is_root else _widest(left, right, "float")
    if isinstance(sign, ast.Div):
        return _FLOAT64
    if isinstance(sign, (ast.BitAnd, ast.BitOr, ast.BitXor)) and categories == {"bool"}:
        return BOOL
    return _of_integers(left) if isinstance(sign, (ast.LShift, ast.RShift)) else _of_integers(left, right)


def _of_integers(*operands: Number) -> Number:
    """Return the type of a result of integers: of 64 bits, and unsigned if all of them are."""
    if any(each.dtype is None for each in operands):
        return Number(None, None, "int")
    is_unsigned = all(each.dtype is not None and each.dtype.kind == "u" for each in operands)
    return _UINT64 if is_unsigned else _INT64


def _widest(left: Number, right: Number, category: str) -> Number:
    """Return the narrowest type that both operands convert to without a loss."""
    if left.dtype is not None and right.dtype is not None:
        for dtype in _WIDENING[category]:
            wide = Number(dtype)
            if all(_is_safe(grade_of(each, wide)) for each in (left, right)):
                return wide
    return Number(None, None, category)


def _is_safe(grade: Grade | None) -> bool:
    return grade is not None and grade <= Grade.SAFE


def of_unary(sign: ast.unaryop, kind: Number, is_literal: bool) -> Number:
    """Return the type of what a sign makes of a number."""
    if is_literal:
        value = _worked_out(sign, kind.literal)
        if isinstance(value, int) and not isinstance(value, bool) and abs(value) < _FAR:
            return Number(np.dtype(np.int64), value)
    if kind.category == "bool" and isinstance(sign, ast.Invert):
        return BOOL
    if kind.category in ("bool", "int"):
        return _of_integers(kind)
    return Number(kind.dtype, None, kind.family)


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
