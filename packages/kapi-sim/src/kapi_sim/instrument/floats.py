"""Whether a kernel can come by a float, so that one might be stored to an integer."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable
from typing import Any

import numpy as np

from kapi_sim.language.attributes import MISSING, bound_names, called_function, resolve

__all__ = ["may_make_floats"]

_INTEGRAL_BUILTINS = ("range", "len", "min", "max", "abs", "int", "bool", "print", "breakpoint", "enumerate", "zip")


def may_make_floats(tree: ast.FunctionDef, function: Callable[..., Any]) -> bool:
    """Tell whether `function` itself might make a float out of integers; if in doubt, it might.

    Parameters
    ----------
    tree : ast.FunctionDef
        Its source.
    function : function
        Whose globals and closure the names are looked up in.
    """
    local = bound_names(tree)
    for node in ast.walk(tree):
        if isinstance(node, (ast.Div, ast.Pow, ast.Lambda)):
            return True
        if isinstance(node, ast.Constant) and isinstance(node.value, (float, complex)):
            return True
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id not in local:
            if not _is_integral(resolve(function, (node.id,)), node.id):
                return True
    return False


def _is_integral(value: Any, name: str) -> bool:
    if value is MISSING or isinstance(value, (int, np.integer)) or called_function(value) is not None:
        return True
    if getattr(builtins, name, MISSING) is value:
        return name in _INTEGRAL_BUILTINS or (isinstance(value, type) and issubclass(value, BaseException))
    module = str(getattr(value, "__module__", None) or getattr(value, "__name__", ""))
    return module.partition(".")[0] in ("kapi_sim", "kapi_runtime")
