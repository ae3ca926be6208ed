"""Calls that kapi's own kernels have not: methods of numbers, ufuncs with an array for results, ranges up to floats."""

from __future__ import annotations

import ast
import sys
from types import FunctionType
from typing import Any

import numpy as np

from kapi_sim.language.attributes import bound_names, dotted_path, resolve
from kapi_sim.memory.views import View
from kapi_sim.numba_cuda.values.dtypes import dtype_of

__all__ = ["with_library_calls"]

_getframe = sys._getframe
_END = "_kapi_end"


def with_library_calls(tree: ast.FunctionDef, function: FunctionType) -> dict[str, Any]:
    """Let numbers have their methods, and ufuncs be called as they are.

    Parameters
    ----------
    tree : ast.FunctionDef
        The source of a function, changed in place.
    function : function
        Whose globals and closure the names are looked up in.

    Returns
    -------
    dict of str to object
        What the new names in the source stand for.
    """
    local = bound_names(tree)
    made = {}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        path = dotted_path(node.func)
        if path == ("range",) and "range" not in local and resolve(function, path) is range:
            made[_END] = _end
            node.args = [each if isinstance(each, ast.Constant) else _converted(each) for each in node.args]
            continue
        name, called = _stand_in(node, function, local)
        if name:
            made[name] = called
            node.func = ast.copy_location(ast.Name(name, ast.Load()), node.func)
    return made


def _converted(node: ast.expr) -> ast.expr:
    return ast.copy_location(ast.Call(ast.copy_location(ast.Name(_END, ast.Load()), node), [node], []), node)


def _end(value: Any) -> Any:
    """Return an end of a range as Numba has it, which converts a float to int64."""
    return int(value) if isinstance(value, (float, np.floating)) else value


def _stand_in(node: ast.Call, function: FunctionType, local: set[str]) -> tuple[str, Any]:
    """Return what is called in place of a function or method, and its new name; empty if that stays."""
    if isinstance(node.func, ast.Attribute) and node.func.attr in _METHODS:
        node.args.insert(0, node.func.value)
        return f"_kapi_number_{node.func.attr}", _METHODS[node.func.attr]
    path = dotted_path(node.func)
    value = None if path is None or path[0] in local else resolve(function, path)
    if isinstance(value, np.ufunc) and len(node.args) == value.nin + value.nout:
        return f"_kapi_ufunc_{value.__name__}", value
    return "", None


def _item(owner: Any, *index: Any) -> Any:
    if isinstance(owner, View):
        position = index or (0,) * owner.ndim
        return owner.take_out(position if len(position) != 1 else position[0], _getframe(1))
    return owner if isinstance(owner, (int, float, complex)) and not index else owner.item(*index)


def _view(owner: Any, dtype: Any) -> Any:
    if not isinstance(owner, (int, float)):
        return owner.view(dtype)
    found = np.asarray(owner)[()].view(dtype_of(dtype, "a view of a number"))
    return found.item() if isinstance(found, np.integer) else found


_METHODS = {"item": _item, "view": _view}
