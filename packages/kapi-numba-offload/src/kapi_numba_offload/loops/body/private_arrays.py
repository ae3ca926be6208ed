"""Arrays that a work-item makes for itself in the body of a loop."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Sequence

import numpy as np

from kapi_numba_offload.analysis.numpy_functions import numpy_name
from kapi_numba_offload.analysis.scope import UNKNOWN, Scope
from kapi_numba_offload.loops.body.state import BodyState, NotInKernelError
from kapi_numba_offload.loops.body.syntax_parts import attribute, variable
from kapi_numba_offload.loops.body.views import ArrayFacts

__all__ = ["lengths_of", "private_array"]

_ARITHMETIC = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv}
_MOST_ELEMENTS = 1024  # of a work-item's own array whose shape the launch knows; more would not stay near the processor
_FILLED = {"zeros": None, "empty": None, "ones": 1, "full": None}


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
    if math.prod(lengths) > _MOST_ELEMENTS:
        raise NotInKernelError(f"a temporary array of {math.prod(lengths)} elements in each iteration", value)
    state.arrays[name] = ArrayFacts(None, [each == 1 for each in lengths])
    spelled = ast.Tuple([ast.Constant(each) for each in lengths], ast.Load())
    parts = [spelled, _dtype(state, dtype) if dtype else attribute("kapi_np", "float64"), ast.Constant(True)]
    return ast.copy_location(ast.Call(variable("kapi_PrivateArray"), parts, []), value), number


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
    if ast.unparse(node) in state.constants:
        return state.constants[ast.unparse(node)]
    value = node.value if isinstance(node, ast.Constant) else state.names.value(node)
    return value if type(value) is int or (isinstance(value, tuple) and value) else None


def lengths_of(body: Sequence[ast.stmt], names: Scope) -> set[str]:
    """Variables and lengths such as `array.shape[0]` in the shapes of arrays that a body allocates."""
    found: set[str] = set()
    for statement in body:
        for node in ast.walk(statement):
            function = names.value(node.func) if isinstance(node, ast.Call) else UNKNOWN
            if function is UNKNOWN or numpy_name(function) not in _FILLED or not node.args:  # type: ignore[attr-defined]
                continue
            for part in ast.walk(node.args[0]):  # type: ignore[attr-defined]
                is_length = isinstance(part, ast.Subscript) and isinstance(part.value, ast.Attribute)
                if isinstance(part, ast.Name) or is_length:
                    found.add(ast.unparse(part))
    return found
