"""Updates of rows in place, which NumPy refuses where the array's type does not hold the result, as `x[i] /= 2`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

import numpy as np

from kapi_numba_offload.analysis.syntax import expression
from kapi_numba_offload.loops.body.state import BodyState, NotInKernelError
from kapi_numba_offload.loops.body.views import ArrayPart

__all__ = ["checked", "require_held"]

_FLOAT_RESULTS = ("sin", "cos", "tan", "exp", "log", "sqrt", "tanh", "mean", "var", "std", "true_divide", "divide")


def require_held(state: BodyState, view: ArrayPart, node: ast.AugAssign) -> None:
    """Raise `NotInKernelError` where the type of the array surely does not hold the result.

    Operands whose types are not known here make the result no narrower.
    """
    dtype = state.dtype(view.array)
    if dtype is None:
        return
    made = _promoted(node.op, [dtype, *_types(state, node.value)])
    if not np.can_cast(made, dtype, "same_kind"):
        raise NotInKernelError(f"{made} must be of the same kind as the array that it is stored to, {dtype}", node)


def checked(state: BodyState, view: ArrayPart, value: ast.expr) -> ast.expr:
    """The value of an update, which the kernel's type inference refuses where it is no integer, and the array has such.

    It finds the types that `require_held` does not know.
    """
    return expression("kapi_array_bitwise_or(X, 0)", X=value) if state.has_integers(view.array) else value


def _promoted(operation: ast.operator, types: list[Any]) -> np.dtype[Any]:
    made = np.result_type(*types)
    return np.result_type(made, np.float64) if isinstance(operation, ast.Div) and made.kind in "biu" else made


def _types(state: BodyState, node: ast.expr) -> Iterator[Any]:
    """The dtypes, and numbers of Python's types, that decide the type of an expression at least."""
    match node:
        case ast.Constant(bool() | int() | float() | complex() as value):
            yield type(value)(1)
        case ast.Subscript(ast.Attribute(attr="shape")):
            yield 1
        case ast.Name(name) | ast.Subscript(ast.Name(name)):
            if (dtype := state.dtype(name)) is not None:
                yield dtype
        case ast.UnaryOp(ast.USub() | ast.UAdd() | ast.Invert(), operand):
            yield from _types(state, operand)
        case ast.BinOp(left, ast.MatMult(), right):
            yield from ()
        case ast.BinOp(left, operation, right):
            types = [*_types(state, left), *_types(state, right)]
            if isinstance(operation, ast.Div):
                yield _promoted(operation, [*types, 1]) if any(isinstance(e, np.dtype) for e in types) else 1.0
            else:
                yield from types
        case ast.Call() if state.numpy_name(node) in _FLOAT_RESULTS:
            yield 1.0
