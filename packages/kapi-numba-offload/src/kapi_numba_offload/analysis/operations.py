"""The elementwise operations, Python's operators and NumPy's functions: they share the rows of the intrinsic table."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kapi_sim.language.table.intrinsics import rows

__all__ = ["ELEMENTWISE", "IN_PLACE", "OPERATORS", "Elementwise", "operator_operands"]


@dataclass(frozen=True, slots=True)
class Elementwise:
    """One operation.

    - `name`: its name in NumPy, array libraries and kernels.
    - `arity`: how many operands it has.
    - `gives_truth`: whether its results are truth values, whatever it is given.
    - `apply`: Python's operator for arrays; None where it is the array library's function of that name.
    """

    name: str
    arity: int
    gives_truth: bool
    apply: Callable[..., Any] | None = None


OPERATORS: dict[type[Any], str] = {
    ast.Add: "add", ast.Sub: "subtract", ast.Mult: "multiply", ast.Div: "divide", ast.FloorDiv: "floor_divide",
    ast.Mod: "remainder", ast.Pow: "power", ast.BitAnd: "bitwise_and", ast.BitOr: "bitwise_or",
    ast.BitXor: "bitwise_xor", ast.LShift: "left_shift", ast.RShift: "right_shift",
    ast.USub: "negative", ast.UAdd: "positive", ast.Invert: "invert",
    ast.Eq: "equal", ast.NotEq: "not_equal", ast.Lt: "less", ast.LtE: "less_equal", ast.Gt: "greater",
    ast.GtE: "greater_equal",
}  # fmt: skip
"""Python's operators by the class of their syntax."""

_APPLIED: dict[str, Callable[..., Any]] = {
    "add": operator.add, "subtract": operator.sub, "multiply": operator.mul, "divide": operator.truediv,
    "floor_divide": operator.floordiv, "remainder": operator.mod, "power": operator.pow, "bitwise_and": operator.and_,
    "bitwise_or": operator.or_, "bitwise_xor": operator.xor, "left_shift": operator.lshift,
    "right_shift": operator.rshift, "negative": operator.neg, "positive": operator.pos, "invert": operator.invert,
    "equal": operator.eq, "not_equal": operator.ne, "less": operator.lt, "less_equal": operator.le,
    "greater": operator.gt, "greater_equal": operator.ge, "absolute": operator.abs,
}  # fmt: skip

IN_PLACE: dict[str, Callable[..., Any]] = {
    "add": operator.iadd, "subtract": operator.isub, "multiply": operator.imul, "divide": operator.itruediv,
    "floor_divide": operator.ifloordiv, "remainder": operator.imod, "power": operator.ipow,
    "bitwise_and": operator.iand, "bitwise_or": operator.ior, "bitwise_xor": operator.ixor,
    "left_shift": operator.ilshift, "right_shift": operator.irshift,
}  # fmt: skip
"""The in-place operators by the name of the operation."""

_NOT_ELEMENTWISE = {
    "divmod", "frexp", "modf",  # of two results
    "clip",  # its bounds may be left out
    "ldexp", "bitwise_count",  # of operands that have another type than the result
}  # fmt: skip


def _gives_truth(function: Any) -> bool:
    loops = [each for each in getattr(function, "types", ()) if "O" not in each]  # for numbers, not for objects
    return bool(loops) and all(each.endswith("->?") for each in loops)


ELEMENTWISE = {
    row.name: Elementwise(row.name, len(row.parameters), _gives_truth(getattr(np, row.name)), _APPLIED.get(row.name))
    for row in rows("numpy")
    if row.name not in _NOT_ELEMENTWISE
}
"""The operations by NumPy's names for them: those that kernels have, as array libraries do."""


def operator_operands(node: ast.expr) -> tuple[str, list[ast.expr]] | None:
    """Name and operands of an operation that is written with one of Python's operators; None for anything else."""
    found: tuple[Any, list[ast.expr]] | None = None
    if isinstance(node, ast.BinOp):
        found = node.op, [node.left, node.right]
    elif isinstance(node, ast.UnaryOp):
        found = node.op, [node.operand]
    elif isinstance(node, ast.Compare) and len(node.ops) == 1:
        found = node.ops[0], [node.left, *node.comparators]
    name = None if found is None else OPERATORS.get(type(found[0]))
    return None if found is None or name is None else (name, found[1])
