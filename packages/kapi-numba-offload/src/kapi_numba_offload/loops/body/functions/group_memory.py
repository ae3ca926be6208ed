"""Arrays that a work-group makes in a loop that it does alone: in the device's memory, one for each variable."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kapi_numba_offload.loops.body.functions.private_arrays import Allocation, allocation, fill
from kapi_numba_offload.loops.body.state import BodyState, NotInKernelError
from kapi_numba_offload.loops.body.views import ArrayFacts, ArrayPart, Extent, Rows

__all__ = ["copied_by_group", "made_by_call"]

_LIKE = {"copy": None, "zeros_like": ast.Constant(0), "ones_like": ast.Constant(1), "empty_like": None}
"""The functions of an array like another, and what all elements are."""


def copied_by_group(
    state: BodyState, variable: str, rows: Rows, node: ast.AST, dtype: np.dtype[Any] | None = None
) -> ArrayPart:
    """A copy of rows.

    - `variable`: the variable that it is for; empty for what a statement alone has.
    - `dtype`: that of the copy, where it is not that of the rows.
    """
    return _made(state, variable, rows.shape, dtype or _dtype_of(state, rows, node), node, rows.element)


def made_by_call(state: BodyState, variable: str, call: ast.Call) -> ArrayPart | None:
    """The array of `x.copy()`, `numpy.zeros_like(x)`, `numpy.zeros(n)` and their like; None for other calls."""
    made = allocation(state, call)
    name, operands = state.called(call)
    if made is not None:
        shape, dtype, number = _shape(state, made, call), made.dtype, made.number
    elif name in _LIKE and len(operands) == 1 and not call.keywords:
        rows = state.rows(operands[0])
        if rows is None or rows.mask is not None:
            return None
        if name == "copy":
            return copied_by_group(state, variable, rows, call)
        shape, dtype, number = rows.shape, _dtype_of(state, rows, call), _LIKE[name]
    else:
        return None
    if dtype is None:
        raise NotInKernelError("an array of a dtype that the launch does not tell", call)
    value = None if number is None else state.frozen(state.scalar(number))
    return _made(state, variable, shape, dtype, call, None if value is None else lambda at: copy.deepcopy(value))


def _shape(state: BodyState, made: Allocation, call: ast.Call) -> tuple[Extent, ...]:
    lengths = made.shape.elts if isinstance(made.shape, ast.Tuple) else [made.shape]
    match made.shape:
        case ast.Attribute(owner, "shape") if (rows := state.rows(owner)) is not None:
            lengths = rows.lengths
    extents = [Extent(state.frozen(state.scalar(each)), False) for each in lengths]
    for each in extents:
        length = state.launch.resolve_so_far(each.length)
        if length is None or state.group is None:
            raise NotInKernelError("an array of a length that the launch does not tell", call)
        state.group.require("1 < A", A=length)  # the length of other ones may be that of another operand
    return tuple(extents)


def _made(
    state: BodyState,
    variable: str,
    shape: Sequence[Extent],
    dtype: np.dtype[Any],
    node: ast.AST,
    element: Callable[[list[ast.expr]], ast.expr] | None,
) -> ArrayPart:
    """An array, and statements that store an element for each index."""
    group = state.group
    assert group is not None
    name = f"kapi_made_{variable}" if variable else state.new("made")
    lengths = [state.launch.resolve_so_far(each.length) for each in shape]
    known = [each for each in lengths if each is not None]
    if len(known) < len(lengths):
        raise NotInKernelError("an array of a length that the launch does not tell", node)
    if not group.make(name, dtype, known):
        raise NotInKernelError(f"variable {variable} for several arrays", node)
    if name in state.arrays:
        state.reassign(name, node, variable)
    state.arrays[name] = ArrayFacts(dtype, [each.is_one for each in shape])
    part = ArrayPart.full(name, [Extent(state.frozen(each.length), each.is_one) for each in shape])
    if element is not None:
        fill(state, name, part.shape, node, element)
    return part


def _dtype_of(state: BodyState, rows: Rows, node: ast.AST) -> np.dtype[Any]:
    """The dtype of rows, so far as their arrays tell it."""
    if rows.is_bool:
        return np.dtype("bool")
    dtypes = {state.dtype(each.array) for each in rows.reads}
    dtype = dtypes.pop() if len(dtypes) == 1 else None
    element = rows.first
    is_same = isinstance(element, ast.Subscript) or (dtype == np.dtype("float64") and _is_arithmetic(element))
    if dtype is None or not is_same:
        raise NotInKernelError("an array of a dtype that the launch does not tell", node)
    return dtype


def _is_arithmetic(node: ast.expr) -> bool:
    """Whether an expression gives float64 of float64 numbers and of real ones."""
    match node:
        case ast.BinOp(left, ast.Add() | ast.Sub() | ast.Mult() | ast.Div() | ast.Pow(), right):
            return _is_arithmetic(left) and _is_arithmetic(right)
        case ast.UnaryOp(ast.USub(), operand):
            return _is_arithmetic(operand)
        case ast.Constant(value):
            return isinstance(value, (int, float))
        case ast.Call(ast.Attribute(_, name), args):
            return isinstance(getattr(np, name, None), np.ufunc) and all(map(_is_arithmetic, args))
        case ast.Call(ast.Name(name), args):
            return name.startswith("kapi_array_") and all(map(_is_arithmetic, args))
    return isinstance(node, (ast.Subscript, ast.Name))
