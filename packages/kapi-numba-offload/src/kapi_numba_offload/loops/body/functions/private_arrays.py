"""Arrays that a work-item makes for itself in the body of a loop, of lengths that the launch bounds."""

from __future__ import annotations

import ast
import copy
import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from kapi_numba_offload.analysis.scope import UNKNOWN
from kapi_numba_offload.analysis.syntax import (
    expression,
    index_of,
    is_number,
    named_arguments,
    statements,
    times,
    variable,
)
from kapi_numba_offload.loops.body.state import BodyState, NotInKernelError
from kapi_numba_offload.loops.body.views import ArrayFacts, ArrayPart, Extent, Rows

__all__ = [
    "Allocation", "allocation", "array_of_numbers", "known_dtype", "fill", "filled", "fits", "flat",
    "full_part", "like", "private_array", "size", "stored",
]  # fmt: skip

_STRONG = {bool: "bool_", int: "int64", float: "float64", complex: "complex128"}
"""NumPy's types of Python's numbers."""
MOST_ELEMENTS = 1024  # of a work-item's own array whose shape the launch knows; more would not stay near the processor


def fits(state: BodyState, rows: Rows) -> bool:
    """Whether there is room for a copy of rows."""
    if state.group is not None:
        return True
    sizes = [state.launch.most(each.length) or 0 for each in rows.shape]
    return min(sizes) > 0 and math.prod(sizes) <= MOST_ELEMENTS


def filled(
    state: BodyState,
    rows: Rows,
    node: ast.AST,
    value: Callable[[list[ast.expr]], ast.expr] | None,
    *,
    dtype: str | None = None,
    sample: ast.expr | None = None,
) -> ArrayPart:
    """An array as that of `like`, with a value for each index; without one, it is of zeros."""
    name = like(state, rows, node, dtype=dtype, sample=sample)
    if value is not None:
        fill(state, name, rows.shape, node, value)
    return full_part(state, name, rows.shape)


def fill(
    state: BodyState, name: str, shape: Sequence[Extent], node: ast.AST, value: Callable[[list[ast.expr]], ast.expr]
) -> None:
    """Store a value for each index of a shape; what `value` puts before a statement runs for each."""
    state.put_loops(shape, node, lambda at: [ast.Assign([stored(name, at)], value(at))])


def stored(name: str, at: Sequence[ast.expr]) -> ast.Subscript:
    """The element of an array at an index, as it is stored to."""
    return ast.Subscript(variable(name), copy.deepcopy(index_of(at)), ast.Store())


def flat(state: BodyState, rows: Rows, node: ast.AST) -> tuple[str, ast.expr]:
    """An array of rank 1 with the elements of rows that there are, in C order, and their number."""
    name, count = like(state, rows, node, is_flat=True), state.new("n")
    state.started(count, ast.Constant(0))
    text = "ARRAY[COUNT] = X\nCOUNT += 1"
    state.put_loops(
        rows.shape, node, lambda at: statements(text, ARRAY=name, COUNT=count, X=rows.element(at)), rows.mask
    )
    return name, variable(count) if rows.mask is not None else state.frozen(size(rows))


def size(rows: Rows) -> ast.expr:
    """The number of elements of rows."""
    one: ast.expr = ast.Constant(1)
    return functools.reduce(times, rows.lengths, one)


def like(
    state: BodyState,
    rows: Rows,
    node: ast.AST,
    *,
    is_flat: bool = False,
    dtype: str | None = None,
    sample: ast.expr | None = None,
) -> str:
    """An array with room for the elements of rows, of their dtype, that of a sample, or another one of NumPy's."""
    if not fits(state, rows):
        raise NotInKernelError(f"a temporary array of a length that the launch does not bound by {MOST_ELEMENTS}", node)
    if dtype is None:
        own = expression("X.dtype", X=state.assigned(state.new("x"), sample or rows.first))
    else:
        own = expression(f"kapi_np.{dtype}")
    sizes = [state.launch.most(each.length) or 1 for each in rows.shape]
    is_copy = dtype is None and sample is None
    known: np.dtype[Any] | None = None if dtype is None else np.dtype(dtype)
    if is_copy and rows.is_bool:
        known = np.dtype(bool)
    ones: list[bool | None] = [False] if is_flat else [each.is_one for each in rows.shape]
    facts = ArrayFacts(known, ones, rows.has_narrow_integers, is_copy and state.holds_integers(rows))
    return _allocated(state, [math.prod(sizes)] if is_flat else sizes, own, node, facts)


def _allocated(
    state: BodyState, lengths: Sequence[int], dtype: ast.expr, node: ast.AST, facts: ArrayFacts, name: str = ""
) -> str:
    """The name of an array of constant lengths that is made before the statement."""
    if state.group is not None:
        raise NotInKernelError("an array that each work-item of a group would have", node)
    name = name or state.new("a")
    state.put(f"ARRAY = kapi_PrivateArray({(*lengths,)}, DTYPE, True)", node, ARRAY=name, DTYPE=dtype)
    state.arrays[name] = facts
    sizes = {f"{name}.shape[{axis}]": length for axis, length in enumerate(lengths)}
    if not all(state.launch.may_get(text, ast.Constant(length)) for text, length in sizes.items()):
        raise NotInKernelError(f"variable {name} for arrays of several lengths", node)
    state.launch.sizes |= sizes
    return name


def full_part(state: BodyState, name: str, shape: Sequence[Extent]) -> ArrayPart:
    """All elements of an array that was made for rows."""
    return ArrayPart.full(name, [Extent(state.frozen(each.length), each.is_one) for each in shape])


class Allocation(NamedTuple):
    """A call of `numpy.zeros`, `ones`, `empty` or `full`.

    - `number`: what all elements are; None if they have no value yet.
    - `dtype`, `named_dtype`: the dtype, if it is known, and as an expression of the kernel.
    """

    shape: ast.expr
    number: ast.expr | None
    dtype: np.dtype[Any] | None
    named_dtype: ast.expr


def allocation(state: BodyState, call: ast.expr) -> Allocation | None:
    """The array that a call allocates; None for other expressions."""
    function = state.numpy_name(call) if isinstance(call, ast.Call) else None
    if function not in ("zeros", "empty", "ones", "full") or not isinstance(call, ast.Call) or not call.args:
        return None
    given = named_arguments(call, ("shape", "fill_value", "dtype") if function == "full" else ("shape", "dtype"))
    numbers = {"zeros": ast.Constant(0), "ones": ast.Constant(1), "full": given.get("fill_value")}
    number = numbers.get(function)
    if "dtype" not in given:
        dtype = np.dtype(_kind_of(state, number, call) if function == "full" else float)
        return Allocation(call.args[0], number, dtype, _spelled(dtype))
    known = known_dtype(state, given["dtype"])
    return Allocation(call.args[0], number, known, given["dtype"] if known is None else _spelled(known))


def private_array(state: BodyState, name: str, value: ast.expr) -> bool:
    """Make the array of `name = np.zeros(...)` and its like, of constant shape; whether the value is one of these."""
    made = allocation(state, value)
    if made is None:
        return False
    lengths = _shape(state, made.shape)
    if lengths is None:
        raise NotInKernelError("a temporary array whose shape is no constant", value)
    if math.prod(lengths) > MOST_ELEMENTS:
        raise NotInKernelError(f"a temporary array of {math.prod(lengths)} elements in each iteration", value)
    state.reassign(name, value)
    facts = ArrayFacts(made.dtype, [each == 1 for each in lengths])
    _allocated(state, lengths, made.named_dtype, value, facts, name)
    if made.number is not None and not is_number(made.number, 0):
        filling = state.frozen(state.scalar(made.number))
        fill(state, name, [Extent(ast.Constant(each)) for each in lengths], value, lambda at: filling)
    return True


def array_of_numbers(state: BodyState, node: ast.Call) -> ArrayPart | None:
    """`np.array([x, y, 1.0])` as private memory; None for other calls."""
    if state.numpy_name(node) not in ("array", "asarray") or not node.args:
        return None
    given = named_arguments(node, ("items", "dtype"))
    items = _items(node.args[0])
    if not items or len(node.args) > 2 or not given.keys() <= {"items", "dtype"} or len(items) > MOST_ELEMENTS:
        return None
    if any(isinstance(each, (ast.Starred, ast.Compare, ast.BoolOp)) for _, each in items):
        return None
    values = [state.assigned(state.new("x"), _as_strong(state.scalar(copy.deepcopy(each)))) for _, each in items]
    known = known_dtype(state, given["dtype"]) if "dtype" in given else None
    if "dtype" in given:
        dtype = given["dtype"] if known is None else _spelled(known)
    else:
        total = expression(" + ".join(map(ast.unparse, values)))
        dtype = expression("X.dtype", X=state.assigned(state.new("x"), total))
    shape = [1 + last for last in items[-1][0]]
    name = _allocated(state, shape, dtype, node, ArrayFacts(known, [each == 1 for each in shape]))
    for (at, _), value in zip(items, values, strict=True):
        state.put(f"ARRAY[{', '.join(map(str, at))}] = X", node, ARRAY=name, X=value)
    return ArrayPart.full(name, [Extent(ast.Constant(length), length == 1) for length in shape])


def _items(node: ast.expr) -> list[tuple[tuple[int, ...], ast.expr]]:
    """The numbers of a list, or of lists of one length, with their indices; none for other expressions."""
    if not isinstance(node, (ast.List, ast.Tuple)) or not node.elts:
        return []
    is_nested = [isinstance(each, (ast.List, ast.Tuple)) for each in node.elts]
    if not any(is_nested):
        return [((number,), each) for number, each in enumerate(node.elts)]
    inner = [_items(each) for each in node.elts]
    if not all(is_nested) or len({tuple(at for at, _ in each) for each in inner}) != 1:
        return []
    return [((number, *at), value) for number, each in enumerate(inner) for at, value in each]


def _as_strong(node: ast.expr) -> ast.expr:
    """A number of a literal as NumPy has it in an array."""
    literal = node.operand if isinstance(node, ast.UnaryOp) else node
    kind = type(literal.value) if isinstance(literal, ast.Constant) else bool
    return node if kind is bool or kind not in _STRONG else expression(f"kapi_np.{_STRONG[kind]}(X)", X=node)


def known_dtype(state: BodyState, node: ast.expr) -> np.dtype[Any] | None:
    """The dtype of numbers that an expression names; None if that is not known."""
    match node:
        case ast.Attribute(ast.Name(name), "dtype") if name in state.arrays:
            return state.arrays[name].dtype
    value = node.value if isinstance(node, ast.Constant) else state.names.value(node)
    try:
        found = np.dtype(value) if isinstance(value, (str, type, np.dtype)) else None
    except TypeError:
        return None  # the kernel's own words say what it is
    return found if found is not None and found.kind in "biufc" else None


def _spelled(dtype: np.dtype[Any]) -> ast.expr:
    """A dtype as a NumPy scalar type: kernels know it by no text."""
    return expression(f"kapi_np.{'bool_' if dtype.kind == 'b' else dtype.name}")


def _kind_of(state: BodyState, number: ast.expr | None, where: ast.AST) -> type[Any]:
    value = number.value if isinstance(number, ast.Constant) else state.names.value(number) if number else UNKNOWN
    if type(value) not in _STRONG:
        raise NotInKernelError("np.full without a dtype, of what is no constant", where)
    return type(value)


def _shape(state: BodyState, node: ast.expr) -> list[int] | None:
    """The lengths of a shape that the launch knows; None for others."""
    known = node.value if isinstance(node, ast.Constant) else state.names.value(node)
    parts = node.elts if isinstance(node, ast.Tuple) else [node]
    found = list(known) if isinstance(known, tuple) and known else [state.launch.number(each) for each in parts]
    lengths = [each for each in found if type(each) is int and each >= 0]
    return lengths if len(lengths) == len(found) else None
