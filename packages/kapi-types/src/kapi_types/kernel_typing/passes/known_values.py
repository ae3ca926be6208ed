"""Constant propagation: the values that variables of a kernel always hold, and their definitions."""

from __future__ import annotations

import operator
from types import ModuleType
from typing import Any

from kapi_types._numba_compat import ir
from kapi_types.kernel_typing.rules.operators import BINARY, INPLACE, UNARY

__all__ = [
    "axes_from_end",
    "constant_of",
    "definitions_of",
    "folded",
    "is_negative_literal",
    "known_value",
    "made_of",
    "members_of",
]

_MAX_DEPTH = 6  # operations; each has two operands
_MAX_EXPONENT = 64  # bits that a power or a shift may add


def definitions_of(func_ir: Any) -> dict[str, Any]:
    """The value assigned to each variable that is assigned once."""
    found: dict[str, Any] = {}
    for block in func_ir.blocks.values():
        for statement in block.find_insts(ir.Assign):
            name = statement.target.name
            found[name] = None if name in found else statement.value
    return found


def made_of(definitions: dict[str, Any], variable: Any) -> Any:
    """The definition of a variable, or of the one that it is a copy of; None if that is not known."""
    value = definitions.get(variable if isinstance(variable, str) else getattr(variable, "name", ""))
    while isinstance(value, ir.Var):
        value = definitions.get(value.name)
    return value


def constant_of(definitions: dict[str, Any], variable: Any, depth: int = _MAX_DEPTH) -> int | None:
    """The Python int that a variable always holds, or that a constant is; None of anything else.

    Parameters
    ----------
    definitions : dict
        The value assigned to each variable that is assigned once.
    variable : numba.core.ir.Var or numba.core.ir.Const
        The variable.
    depth : int
        How many operations on constants are folded one after the other.
    """
    value = variable.value if isinstance(variable, ir.Const) else known_value(definitions, variable, depth)
    return value if type(value) is int else None


def known_value(definitions: dict[str, Any], variable: Any, depth: int = _MAX_DEPTH) -> Any:
    """The value that a variable always holds, a constant or the result of operators on constants; else None."""
    value = made_of(definitions, variable)
    if isinstance(value, (ir.Const, ir.Global, ir.FreeVar)):
        return value.value
    op = getattr(value, "op", None)
    if op == "getattr":
        return _member(definitions, value.value, value.attr)
    if op in ("static_getitem", "getitem"):
        index = value.index if op == "static_getitem" else constant_of(definitions, value.index)
        return _member(definitions, value.value, index)
    if op == "exhaust_iter":
        return known_value(definitions, value.value)
    if op in ("unary", "binop", "inplace_binop") and depth:
        operands = (value.value,) if op == "unary" else (value.lhs, value.rhs)
        return folded(value.fn, *(known_value(definitions, each, depth - 1) for each in operands))
    if op == "call" and depth and not value.kws and value.vararg is None:
        function = known_value(definitions, value.func)
        if getattr(function, "__module__", "") == "math":
            return folded(function, *(known_value(definitions, each, depth - 1) for each in value.args))
    return None


def folded(function: Any, *numbers: Any) -> Any:
    """The result of an operator or function of `math`; None if a number is not known, or it is far beyond 64 bits."""
    operation = INPLACE.get(function, function)
    is_known = operation in (BINARY if len(numbers) == 2 else UNARY) or operation.__module__ == "math"
    if not is_known or not all(type(each) in (int, float, complex) for each in numbers):
        return None
    try:
        if operation in (operator.pow, operator.lshift) and not 0 <= numbers[1] <= _MAX_EXPONENT:
            return None
        return operation(*numbers)
    except (ArithmeticError, TypeError, ValueError):
        return None


def members_of(definitions: dict[str, Any], variable: Any) -> list[Any]:
    """The members of a tuple as it is written, variables and constants; none if that is not known."""
    made = made_of(definitions, variable)
    op = getattr(made, "op", None)
    if op == "build_tuple":
        return list(made.items)
    if op == "exhaust_iter":
        return members_of(definitions, made.value)
    if op == "call" and hasattr(known_value(definitions, made.func), "_fields"):
        return list(made.args) if not made.kws and made.vararg is None else []
    container = known_value(definitions, variable)
    return [ir.Const(each, variable.loc) for each in container] if isinstance(container, tuple) else []


def _member(definitions: dict[str, Any], container: Any, index: Any) -> Any:
    """The value of a tuple's or a module's member, by its position or by its name; None if it is not known."""
    if isinstance(index, str):
        made = made_of(definitions, container)
        owner = known_value(definitions, made.func if getattr(made, "op", None) == "call" else container)
        if isinstance(owner, ModuleType):
            return getattr(owner, index, None)
        fields = getattr(owner, "_fields", ())
        index = fields.index(index) if index in fields else None
    members = members_of(definitions, container)
    if type(index) is not int or not -len(members) <= index < len(members):
        return None
    member = members[index]
    return member.value if isinstance(member, ir.Const) else known_value(definitions, member)


def axes_from_end(definitions: dict[str, Any], index: Any) -> frozenset[int]:
    """The axes along which an index of an array, a number or a tuple of numbers, is a constant below zero."""
    number = constant_of(definitions, index)
    axes = (
        [number] if number is not None else [constant_of(definitions, each) for each in members_of(definitions, index)]
    )
    return frozenset(axis for axis, value in enumerate(axes) if value is not None and value < 0)


def is_negative_literal(func_ir: Any, variable: Any) -> bool:
    """Whether an operand is written as a negative whole number in its place, and is not a name for one."""
    # What is written in its place is in a variable of the compiler's own.
    if not variable.name.startswith("$"):
        return False
    made = func_ir._definitions.get(variable.name, ())
    return len(made) == 1 and isinstance(made[0], ir.Const) and type(made[0].value) is int and made[0].value < 0
