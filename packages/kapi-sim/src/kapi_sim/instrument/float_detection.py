"""Detection of kernels that can produce a float, which might be stored to an integer, or a complex number."""

from __future__ import annotations

import ast
import builtins
import cmath
from collections.abc import Callable
from typing import Any

import numpy as np

from kapi_sim.errors import KapiError
from kapi_sim.language.attributes import MISSING, bound_names, called_function, resolve

__all__ = ["may_make_complex", "may_make_floats"]

_INTEGRAL_BUILTINS = ("range", "len", "min", "max", "abs", "int", "bool", "print", "breakpoint", "enumerate", "zip")


_COMPLEX_NAMES = ("csingle", "cdouble")


def may_make_floats(tree: ast.FunctionDef, function: Callable[..., Any]) -> bool:
    """Return whether `function` itself might make a float out of integers; if in doubt, it might.

    - `tree`: its source.
    - `function`: whose globals and closure the names are looked up in.
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


def may_make_complex(tree: ast.FunctionDef, function: Callable[..., Any]) -> bool:
    """Return whether `function` might make a complex number of what is none; if in doubt, it might.

    - `tree`: its source.
    - `function`: whose globals and closure the names are looked up in.
    """
    local = bound_names(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, complex):
            return True
        if isinstance(node, ast.Attribute) and ("complex" in node.attr or node.attr in _COMPLEX_NAMES):
            return True
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id not in local:
            if _is_complex(resolve(function, (node.id,))):
                return True
    return False


def _is_complex(value: Any) -> bool:
    if isinstance(value, tuple):
        return any(map(_is_complex, value))
    kind = value if isinstance(value, type) else type(value)
    try:
        dtype = getattr(value, "dtype", None)
    except KapiError:  # an array of numba.cuda's that only a running kernel may read
        return True
    is_array = isinstance(dtype, np.dtype) and dtype.kind == "c"
    is_module = value is cmath or getattr(value, "__module__", None) == "cmath"
    return issubclass(kind, (complex, np.complexfloating)) or is_array or is_module


def _is_integral(value: Any, name: str) -> bool:
    if value is MISSING or isinstance(value, (int, np.integer)) or called_function(value) is not None:
        return True
    if getattr(builtins, name, MISSING) is value:
        return name in _INTEGRAL_BUILTINS or (isinstance(value, type) and issubclass(value, BaseException))
    module = str(getattr(value, "__module__", None) or getattr(value, "__name__", ""))
    return module.partition(".")[0] in ("kapi_sim", "kapi_runtime")
