"""Whether evaluating an expression may change an array or a variable, so that its place in the order counts."""

from __future__ import annotations

import ast
from collections.abc import Collection

import numba
import numpy as np

from kapi_numba_offload.analysis import positional_parameters
from kapi_numba_offload.analysis.names import UNKNOWN, Names
from kapi_numba_offload.analysis.numpy_functions import function_named, numpy_name

__all__ = ["CHANGES", "has_assignment_within", "has_effects", "may_store"]

CHANGES = {"copyto", "put", "put_along_axis", "place", "putmask", "fill_diagonal"}
"""NumPy's functions that store into an array that they are given."""

_PURE = {len, abs, int, float, bool, complex, round, min, max, range, tuple, numba.prange}
_PURE_METHODS = frozenset(
    "all any argmax argmin argsort astype clip conj conjugate copy cumsum cumprod diagonal dot flatten item max mean "
    "min nonzero prod ravel repeat reshape round squeeze std sum swapaxes take trace transpose var".split()
)


def has_effects(node: ast.AST, names: Names, besides: Collection[ast.Call] = ()) -> bool:
    """Whether a call in `node`, those of `besides` left out, may change an array, or an assignment in it a variable."""
    return any(
        isinstance(each, (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom))
        or (isinstance(each, ast.Call) and each not in besides and not _is_pure(each, names))
        for each in ast.walk(node)
    )


def has_assignment_within(node: ast.AST) -> bool:
    """Whether an expression assigns a variable or hands control over: names mean something else after it."""
    return any(isinstance(each, (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)) for each in ast.walk(node))


def may_store(definition: ast.FunctionDef, names: Names) -> bool:
    """Whether a function may change an array."""
    return has_effects(definition, names) or any(
        isinstance(each, ast.AugAssign)
        or (isinstance(each, (ast.Subscript, ast.Attribute)) and not isinstance(each.ctx, ast.Load))
        for each in ast.walk(definition)
    )


def _is_pure(call: ast.Call, names: Names) -> bool:
    if any(each.arg in ("out", None) for each in call.keywords):
        return False
    function = names.value(call.func)
    if function is UNKNOWN:
        return isinstance(call.func, ast.Attribute) and call.func.attr in _PURE_METHODS
    name = numpy_name(function)
    if name is not None:
        place = _place_of_out(name)
        is_open = any(isinstance(each, ast.Starred) for each in call.args)
        return name not in CHANGES and (place is None or not (is_open or len(call.args) > place))
    try:
        return function in _PURE or getattr(function, "__module__", None) == "math"
    except TypeError:  # not hashable
        return False


def _place_of_out(name: str) -> int | None:
    """How many arguments come before `out` in a call of a NumPy function; None if it does not take it by position."""
    names = positional_parameters.of_numpys(name)
    if isinstance(function_named(name, on_device=False), np.ufunc):
        return len(names)
    return names.index("out") if "out" in names else None
