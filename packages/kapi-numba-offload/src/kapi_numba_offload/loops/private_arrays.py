"""Arrays that a work-item makes for itself in the body of a loop."""

from __future__ import annotations

import ast

import numpy as np

from kapi_numba_offload.analysis.names import UNKNOWN
from kapi_numba_offload.loops.body_state import ArrayFacts, BodyState, NotInKernelError
from kapi_numba_offload.loops.syntax_parts import attribute, variable

__all__ = ["private_array"]

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
    value = node.value if isinstance(node, ast.Constant) else state.names.value(node)
    return value if type(value) is int or (isinstance(value, tuple) and value) else None
