"""Arrays that a work-item makes for itself in the body of a loop."""

from __future__ import annotations

import ast
import copy
import math
import operator
from collections.abc import Callable, Sequence

import numpy as np

from kapi_numba_offload.analysis.scope import UNKNOWN
from kapi_numba_offload.loops.body.state import BodyState, NotInKernelError
from kapi_numba_offload.loops.body.syntax_parts import attribute, one, variable, zero
from kapi_numba_offload.loops.body.views import ArrayFacts, ArrayPart, FreeAxis, Rows

__all__ = ["PrivateCopies", "array_of_numbers", "private_array"]

_ARITHMETIC = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv}
MOST_ELEMENTS = 1024  # of a work-item's own array whose shape the launch knows; more would not stay near the processor
_FILLED = {"zeros": None, "empty": None, "ones": 1, "full": None}


class PrivateCopies:
    """Copies of rows in memory of the work-item, whose lengths the launch bounds.

    Parameters
    ----------
    state : BodyState
        What is known of the body.
    """

    def __init__(self, state: BodyState) -> None:
        self._state = state

    def fits(self, rows: Rows) -> bool:
        """Whether there is room for a copy."""
        sizes = [self._state.most(each) for each in rows.lengths]
        return all(each is not None and each > 0 for each in sizes) and math.prod(filter(None, sizes)) <= MOST_ELEMENTS

    def copy(self, rows: Rows, node: ast.AST) -> ArrayPart:
        """An array with the elements of rows.

        Raises
        ------
        NotInKernelError
            If there is no room, or a mask selects the elements.
        """
        if rows.mask is not None:
            raise NotInKernelError("an array of what a mask selects", node)
        name = self.like(rows, node)
        self.fill(name, rows, node, rows.element)
        return self.full_part(name, rows)

    def filled(self, rows: Rows, node: ast.AST, number: int) -> ArrayPart:
        """An array of the dtype and shape of rows, all of it one number."""
        name = self.like(rows, node)
        if number:
            self.fill(name, rows, node, lambda at: ast.Constant(number))
        return self.full_part(name, rows)

    def fill(self, name: str, rows: Rows, node: ast.AST, value: Callable[[Sequence[ast.expr]], ast.expr]) -> None:
        """Store a value for each index of rows; what `value` puts before a statement runs for each."""
        self._state.put_loops_before(rows, node, lambda at: [ast.Assign([_element(name, at)], value(at))])

    def flat(self, rows: Rows, node: ast.AST) -> tuple[str, ast.expr]:
        """An array of rank 1 with the elements of rows that there are, in C order, and their number.

        Raises
        ------
        NotInKernelError
            If there is no room.
        """
        state = self._state
        name, count = self.like(rows, node, is_flat=True), state.new("n")
        state.assigned(count, zero())
        state.put_loops_before(rows, node, lambda at: [
            ast.Assign([ast.Subscript(variable(name), variable(count), ast.Store())], rows.element(at)),
            ast.AugAssign(ast.Name(count, ast.Store()), ast.Add(), ast.Constant(1)),
        ])  # fmt: skip
        return name, variable(count)

    def like(
        self,
        rows: Rows,
        node: ast.AST,
        *,
        is_flat: bool = False,
        dtype: ast.expr | None = None,
        value: Callable[[ast.expr], ast.expr] | None = None,
    ) -> str:
        """An array with room for the elements of rows, of their dtype or another one.

        Raises
        ------
        NotInKernelError
            If there is no room.
        """
        if not self.fits(rows):
            raise NotInKernelError(
                f"a temporary array of a length that the launch does not bound by {MOST_ELEMENTS}", node
            )
        state, dtype_is_known = self._state, dtype is not None
        if dtype is None:
            first = rows.element([zero() for _ in rows.lengths])
            sample = state.assigned(state.new("x"), first if value is None else value(first))
            dtype = ast.Attribute(sample, "dtype", ast.Load())
        sizes = [state.most(each) or 1 for each in rows.lengths]
        shape = [math.prod(sizes)] if is_flat else sizes
        name = state.new("a")
        spelled = ast.Tuple([ast.Constant(each) for each in shape], ast.Load())
        made = ast.Call(variable("kapi_PrivateArray"), [spelled, dtype, ast.Constant(True)], [])
        state.put_before(ast.Assign([ast.Name(name, ast.Store())], made), node)
        state.arrays[name] = ArrayFacts(None, [False] if is_flat else rows.ones)
        if dtype_is_known or value is not None or not rows.has_narrow_integers:
            state.wide.add(name)
        for axis, size in enumerate(shape):
            state.sizes[f"{name}.shape[{axis}]"] = size
        return name

    def full_part(self, name: str, rows: Rows) -> ArrayPart:
        """All elements of an array that was made for rows."""
        axes = [FreeAxis(zero(), one(), self._state.frozen(length), is_one)
                for length, is_one in zip(rows.lengths, rows.ones, strict=True)]  # fmt: skip
        return ArrayPart(name, tuple(axes), tuple(range(len(axes))))


def _element(name: str, at: Sequence[ast.expr]) -> ast.Subscript:
    """An element of an array, to be stored to."""
    index = at[0] if len(at) == 1 else ast.Tuple(list(at), ast.Load())
    return ast.Subscript(variable(name), index, ast.Store())


def private_array(state: BodyState, name: str, value: ast.expr) -> tuple[ast.expr, ast.expr | None] | None:
    """`np.zeros`, `empty`, `ones` or `full` of constant shape as private memory, and the number that fills it.

    Parameters
    ----------
    state : BodyState
        What is known of the body.
    name : str
        The variable that it is assigned to.
    value : ast.expr
        What is assigned.

    Returns
    -------
    tuple or None
        The private array, and what fills it or None; None if `value` makes no array.

    Raises
    ------
    NotInKernelError
        If its shape is no constant.
    """
    function = state.numpy_name(value) if isinstance(value, ast.Call) else None
    if function not in _FILLED or not isinstance(value, ast.Call) or not value.args:
        return None
    given = list(value.args[1:])
    number: ast.expr | None = ast.Constant(1) if function == "ones" else None
    if function == "full":
        number = given.pop(0) if given else None
    dtype = given[0] if given else None
    for keyword in value.keywords:
        if keyword.arg == "dtype":
            dtype = keyword.value
        elif keyword.arg == "fill_value":
            number = keyword.value
    shape = _constant(state, value.args[0])
    if shape is None:
        raise NotInKernelError("a temporary array whose shape is no constant", value)
    if function == "full" and dtype is None:
        dtype = attribute("kapi_np", _dtype_of(state, number, value))
    lengths = shape if isinstance(shape, tuple) else (shape,)
    if math.prod(lengths) > MOST_ELEMENTS:
        raise NotInKernelError(f"a temporary array of {math.prod(lengths)} elements in each iteration", value)
    state.arrays[name] = ArrayFacts(None, [each == 1 for each in lengths])
    for axis, length in enumerate(lengths):
        state.sizes[f"{name}.shape[{axis}]"] = length
    spelled = ast.Tuple([ast.Constant(each) for each in lengths], ast.Load())
    parts = [spelled, _dtype(state, dtype) if dtype else attribute("kapi_np", "float64"), ast.Constant(True)]
    return ast.copy_location(ast.Call(variable("kapi_PrivateArray"), parts, []), value), number


def array_of_numbers(state: BodyState, node: ast.Call, scalar: Callable[[ast.expr], ast.expr]) -> ArrayPart | None:
    """`np.array([x, y, 1.0])` as private memory; None for other calls.

    Parameters
    ----------
    state : BodyState
        What is known of the body.
    node : ast.Call
        The call.
    scalar : callable
        An expression of rank 0, rewritten.
    """
    if state.numpy_name(node) not in ("array", "asarray") or not node.args:
        return None
    words = {each.arg: each.value for each in node.keywords}
    items = _items(node.args[0])
    if not items or len(node.args) > 2 or not words.keys() <= {"dtype"} or len(items) > MOST_ELEMENTS:
        return None
    numbers = [each for _, each in items]
    dtype = node.args[1] if len(node.args) == 2 else words.get("dtype")
    if any(isinstance(each, (ast.Starred, *_OF_TRUTH)) for each in numbers):
        return None
    values = [state.assigned(state.new("x"), _as_strong(scalar(copy.deepcopy(each)))) for each in numbers]
    if dtype is None:
        total = values[0]
        for each in values[1:]:
            total = ast.BinOp(total, ast.Add(), copy.deepcopy(each))
        own: ast.expr = ast.Attribute(state.assigned(state.new("x"), total), "dtype", ast.Load())
    else:
        own = _dtype(state, dtype)
    lengths = [1 + last for last in items[-1][0]]
    name = state.new("a")
    spelled = ast.Tuple([ast.Constant(each) for each in lengths], ast.Load())
    made = ast.Call(variable("kapi_PrivateArray"), [spelled, own, ast.Constant(True)], [])
    state.put_before(ast.Assign([ast.Name(name, ast.Store())], made), node)
    for (at, _), value in zip(items, values, strict=True):
        target = _element(name, [ast.Constant(each) for each in at])
        state.put_before(ast.Assign([target], copy.deepcopy(value)), node)
    state.arrays[name] = ArrayFacts(None, [each == 1 for each in lengths])
    for axis, length in enumerate(lengths):
        state.sizes[f"{name}.shape[{axis}]"] = length
    axes = [FreeAxis(zero(), one(), ast.Constant(length), length == 1) for length in lengths]
    return ArrayPart(name, tuple(axes), tuple(range(len(axes))))


_OF_TRUTH = (ast.Compare, ast.BoolOp)


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
    value = (
        node.operand.value
        if isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant)
        else (node.value if isinstance(node, ast.Constant) else None)
    )
    names = {int: "int64", float: "float64", complex: "complex128"}
    return ast.Call(attribute("kapi_np", names[type(value)]), [node], []) if type(value) in names else node


def _dtype(state: BodyState, node: ast.expr) -> ast.expr:
    """A dtype as a NumPy scalar type: kernels know it by no text."""
    value = node.value if isinstance(node, ast.Constant) else state.names.value(node)
    if not isinstance(value, (str, np.dtype)) and value not in (bool, int, float, complex):
        return node
    try:
        name = np.dtype(value).name
    except TypeError:
        return node  # the kernel's own words say what it is
    return attribute("kapi_np", "bool_" if name == "bool" else name)


def _dtype_of(state: BodyState, number: ast.expr | None, where: ast.AST) -> str:
    value = number.value if isinstance(number, ast.Constant) else state.names.value(number) if number else UNKNOWN
    names = {bool: "bool_", int: "int64", float: "float64", complex: "complex128"}
    if type(value) not in names:
        raise NotInKernelError("np.full without a dtype, of what is no constant", where)
    return names[type(value)]


def _constant(state: BodyState, node: ast.expr) -> int | tuple[int, ...] | None:
    if isinstance(node, ast.Tuple):
        items = [_constant(state, each) for each in node.elts]
        return tuple(items) if all(type(each) is int for each in items) else None  # type: ignore[arg-type]
    if isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC:
        left, right = _constant(state, node.left), _constant(state, node.right)
        if type(left) is int and type(right) is int:
            return _ARITHMETIC[type(node.op)](left, right)  # type: ignore[no-any-return]
        return None
    known = state.numbers.of(ast.unparse(node))
    if known is not None:
        return known
    value = node.value if isinstance(node, ast.Constant) else state.names.value(node)
    return value if type(value) is int or (isinstance(value, tuple) and value) else None
