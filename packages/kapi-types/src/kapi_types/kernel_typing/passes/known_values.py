"""Which numbers a kernel's variables always hold, known from its source: constants, and what is made of them."""

from __future__ import annotations

import operator
from typing import Any

from kapi_types._numba_compat import ir
from kapi_types.kernel_typing.rules.operators import BINARY, IN_PLACE, UNARY

__all__ = ["constant_of", "definitions_of", "is_negative_literal", "made_of", "members_of"]

_DEEP = 6  # operations; each looks at two
_FAR = 64  # bits by which a power or a shift may take a number beyond those of an integer


def definitions_of(func_ir: Any) -> dict[str, Any]:
    """What each variable is assigned, for those assigned once."""
    found: dict[str, Any] = {}
    for block in func_ir.blocks.values():
        for statement in block.find_insts(ir.Assign):
            name = statement.target.name
            found[name] = None if name in found else statement.value
    return found


def made_of(definitions: dict[str, Any], variable: Any) -> Any:
    """What makes the value of a variable, or of the one that it is a copy of; None where that is not known."""
    value = definitions.get(getattr(variable, "name", ""))
    while isinstance(value, ir.Var):
        value = definitions.get(value.name)
    return value


def constant_of(definitions: dict[str, Any], variable: Any, depth: int = _DEEP) -> int | None:
    """The Python int that a variable always holds, or that a constant is; None of anything else.

    Parameters
    ----------
    definitions : dict
        What each variable is assigned, for those assigned once.
    variable : numba.core.ir.Var or numba.core.ir.Const
        The variable.
    depth : int
        How many operations on constants are worked out one after the other.
    """
    value = variable.value if isinstance(variable, ir.Const) else _known(definitions, variable, depth)
    return value if type(value) is int else None


def _known(definitions: dict[str, Any], variable: Any, depth: int = _DEEP) -> Any:
    """The value that a variable always holds, or None: a constant, or what Python's operators make of constants."""
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
        return _known(definitions, value.value)
    if op in ("unary", "binop", "inplace_binop") and depth:
        operands = (value.value,) if op == "unary" else (value.lhs, value.rhs)
        return _worked_out(value.fn, *(constant_of(definitions, each, depth - 1) for each in operands))
    return None


def _worked_out(function: Any, *numbers: int | None) -> Any:
    """What an operator gives, or None if a number is not known, or the result too far from 64 bits."""
    operation = IN_PLACE.get(function, function)
    if None in numbers or operation not in (BINARY if len(numbers) == 2 else UNARY):
        return None
    if operation in (operator.pow, operator.lshift) and not 0 <= numbers[1] <= _FAR:  # type: ignore[operator]  # no None
        return None
    try:
        return operation(*numbers)
    except (ArithmeticError, ValueError):
        return None


def members_of(definitions: dict[str, Any], variable: Any) -> list[Any]:
    """The members of a tuple as it is written, variables and constants; none if that is not known."""
    made = made_of(definitions, variable)
    op = getattr(made, "op", None)
    if op == "build_tuple":
        return list(made.items)
    if op == "exhaust_iter":
        return members_of(definitions, made.value)
    if op == "call" and hasattr(_known(definitions, made.func), "_fields"):
        return list(made.args) if not made.kws and made.vararg is None else []
    container = _known(definitions, variable)
    return [ir.Const(each, variable.loc) for each in container] if isinstance(container, tuple) else []


def _member(definitions: dict[str, Any], container: Any, place: Any) -> Any:
    """The value of a tuple's member, by its position or by its name; None if it is not known."""
    if isinstance(place, str):
        made = made_of(definitions, container)
        owner = _known(definitions, made.func if getattr(made, "op", None) == "call" else container)
        fields = getattr(owner, "_fields", ())
        place = fields.index(place) if place in fields else None
    members = members_of(definitions, container)
    if type(place) is not int or not -len(members) <= place < len(members):
        return None
    member = members[place]
    return member.value if isinstance(member, ir.Const) else _known(definitions, member)


def is_negative_literal(func_ir: Any, variable: Any) -> bool:
    """Whether an operand is written as a negative whole number in its place, and is not a name for one."""
    # What is written in its place is in a variable of the compiler's own.
    if not variable.name.startswith("$"):
        return False
    made = func_ir._definitions.get(variable.name, ())
    return len(made) == 1 and isinstance(made[0], ir.Const) and type(made[0].value) is int and made[0].value < 0
