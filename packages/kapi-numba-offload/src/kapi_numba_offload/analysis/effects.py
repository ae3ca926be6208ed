"""Side effects, assertions and aliases: what an expression or statement may change or raise, and under which names."""

from __future__ import annotations

import ast
import dis
from collections.abc import Collection, Sequence
from types import CodeType
from typing import Any

import numba
import numpy as np

from kapi_numba_offload.analysis.numpy_functions import numpy_function, numpy_name, numpy_parameters
from kapi_numba_offload.analysis.scope import UNKNOWN, Scope
from kapi_numba_offload.analysis.source import user_function
from kapi_numba_offload.analysis.syntax import root_variable, targets_of

__all__ = [
    "CHANGES",
    "HELD",
    "asserts",
    "gives_indices",
    "has_aliases",
    "has_inner_assignment",
    "has_effects",
    "is_view",
    "may_store",
    "returns_new_values",
    "stores_to_given",
]

CHANGES = {"copyto", "put", "put_along_axis", "place", "putmask", "fill_diagonal"}
"""NumPy's functions that store into an array that they are given."""

HELD = "kapi_held"
"""Name in rewritten functions of the check that an array may hold what it is updated by."""

_PURE = {len, abs, int, float, bool, complex, round, min, max, range, tuple, numba.prange, enumerate, zip, reversed}
_PURE_METHODS = frozenset(
    "all any argmax argmin argsort astype clip conj conjugate copy cumsum cumprod diagonal dot flatten item max mean "
    "min nonzero prod ravel repeat reshape round squeeze std sum swapaxes take trace transpose var".split()
)


def has_effects(node: ast.AST, names: Scope, besides: Collection[ast.Call] = ()) -> bool:
    """Whether a call in `node`, those of `besides` left out, may change an array, or an assignment in it a variable."""
    return any(
        isinstance(each, (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom))
        or (isinstance(each, ast.Call) and each not in besides and not _is_pure(each, names))
        for each in ast.walk(node)
    )


def has_inner_assignment(node: ast.AST) -> bool:
    """Whether an expression assigns a variable or hands control over: names mean something else after it."""
    return any(isinstance(each, (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)) for each in ast.walk(node))


def may_store(definition: ast.FunctionDef, names: Scope) -> bool:
    """Whether a function may change an array."""
    return has_effects(definition, names) or any(
        isinstance(each, ast.AugAssign)
        or (isinstance(each, (ast.Subscript, ast.Attribute)) and not isinstance(each.ctx, ast.Load))
        for each in ast.walk(definition)
    )


def _is_pure(call: ast.Call, names: Scope) -> bool:
    if any(each.arg in ("out", None) for each in call.keywords):
        return False
    function = names.value(call.func)
    if function is UNKNOWN:
        if isinstance(call.func, ast.Name):
            return call.func.id == HELD
        return isinstance(call.func, ast.Attribute) and call.func.attr in _PURE_METHODS
    name = numpy_name(function)
    if name is not None:
        position = _position_of_out(name)
        is_open = any(isinstance(each, ast.Starred) for each in call.args)
        return name not in CHANGES and (position is None or not (is_open or len(call.args) > position))
    if isinstance(function, type) and issubclass(function, np.generic):
        return True
    try:
        return function in _PURE or getattr(function, "__module__", None) == "math"
    except TypeError:  # not hashable
        return False


def _position_of_out(name: str) -> int | None:
    """The number of arguments before `out` in a call of a NumPy function; None if it does not take it by position."""
    names = numpy_parameters(name)
    if isinstance(numpy_function(name), np.ufunc):
        return len(names)
    return names.index("out") if "out" in names else None


_VIEWS = frozenset(
    "array array_split as_strided asanyarray asarray ascontiguousarray asfortranarray astype atleast_1d atleast_2d "
    "atleast_3d broadcast_arrays broadcast_to diag diagonal dsplit expand_dims flip fliplr flipud hsplit imag "
    "matrix_transpose moveaxis nan_to_num permute_dims ravel real require reshape rollaxis rot90 sliding_window_view "
    "split squeeze swapaxes transpose trim_zeros unstack view vsplit".split()
)
"""Functions and methods that may return a view of what they are given, or that itself."""

_COUNTS = frozenset("range prange pndindex ndindex".split())
"""Functions that give indices, and no parts of arrays."""


def is_view(value: ast.expr) -> bool:
    """Whether the value of an expression may be an array that has another name, or part of one."""
    if isinstance(value, ast.Call):
        return _last_name(value.func) in _VIEWS
    return not isinstance(value, (ast.BinOp, ast.UnaryOp, ast.Compare, ast.Constant, ast.JoinedStr))


def has_aliases(node: ast.AST) -> bool:
    """Whether a statement may store to an array under another name than its parameter's."""
    return any(
        (
            isinstance(each, (ast.Assign, ast.AnnAssign))
            and each.value is not None
            and is_view(each.value)
            and not all(isinstance(target, ast.Subscript) for target in targets_of(each))
        )
        or isinstance(each, (ast.NamedExpr, ast.With))
        or (isinstance(each, (ast.For, ast.comprehension)) and not gives_indices(each.iter))
        for each in ast.walk(node)
    )


def stores_to_given(definition: ast.FunctionDef) -> bool:
    """Whether a function may store to an array that it is given; functions of the user's that it calls are left out.

    A variable that is an element, or a row, of what is given is taken for an element.
    """
    nodes = list(ast.walk(definition))
    given = {each.arg for each in ast.walk(definition.args) if isinstance(each, ast.arg)}
    new: set[str] = set()
    others, arrays = set(given), set(given)
    for each in nodes:
        if isinstance(each, ast.Assign):
            names = {target.id for target in each.targets if isinstance(target, ast.Name)}
            if is_view(each.value):
                others |= names
            else:
                new |= names
            if isinstance(each.value, (ast.Name, ast.Attribute)) or any(
                isinstance(part, ast.Slice) for part in ast.walk(each.value)
            ):
                arrays |= names
    stored: set[str | None] = set()
    for each in nodes:
        match each:
            case ast.Subscript(ctx=ast.Store() | ast.Del()):
                stored.add(root_variable(each))
            case ast.AugAssign(ast.Name(name)) if name in arrays:
                stored.add(name)
            case ast.Call(ast.Attribute(owner, "sort" | "fill")):
                stored.add(root_variable(owner))
            case ast.Expr(ast.Call(args=[*_, output])) | ast.keyword("out", output):  # as of NumPy's functions
                stored |= {root_variable(output)} - {None}
    return any(each is None or each not in new or each in others for each in stored)


def returns_new_values(definition: ast.FunctionDef) -> bool:
    """Whether a function returns no array, nor part of one, that it was given or finds outside."""
    new = {each.arg: False for each in ast.walk(definition.args) if isinstance(each, ast.arg)}
    stores = {id(each): each.id for each in ast.walk(definition)
              if isinstance(each, ast.Name) and not isinstance(each.ctx, ast.Load)}  # fmt: skip
    for each in ast.walk(definition):
        if isinstance(each, (ast.Assign, ast.AugAssign)):
            for target in targets_of(each):
                name = stores.pop(id(target), None)
                if name is not None:
                    is_new = isinstance(each, ast.AugAssign) or not is_view(each.value)
                    new[name] = new.get(name, True) and is_new
    new.update(dict.fromkeys(stores.values(), False))
    returned = [each.value for each in ast.walk(definition) if isinstance(each, ast.Return) and each.value is not None]
    parts = [part for each in returned for part in (each.elts if isinstance(each, ast.Tuple) else [each])]
    return all(new.get(each.id, False) if isinstance(each, ast.Name) else not is_view(each) for each in parts)


def gives_indices(iterated: ast.expr) -> bool:
    """Whether the items of what a loop is over are indices, and no parts of arrays."""
    if not isinstance(iterated, ast.Call):
        return False
    name = _last_name(iterated.func)
    return name in _COUNTS or (name in ("reversed", "enumerate", "zip") and all(map(gives_indices, iterated.args)))


def _last_name(function: ast.expr) -> str:
    return ast.unparse(function).rpartition(".")[2]


def asserts(statements: Sequence[ast.stmt], names: Scope) -> bool:
    """Whether statements, or functions that they name, hold an `assert` that Python would not leave out."""
    seen: set[int] = set()
    for statement in statements:
        for node in ast.walk(statement):
            if isinstance(node, ast.Assert):
                return True
            is_name = isinstance(node, (ast.Name, ast.Attribute))
            if is_name and _asserts(names.value(node), seen):  # type: ignore[arg-type]  # an expression, by its class
                return True
    return False


def _asserts(value: Any, seen: set[int]) -> bool:
    function = user_function(value)
    if function is None or id(function) in seen or function.__module__ == "math":
        return False
    seen.add(id(function))
    if _has_assertion(function.__code__):
        return True
    outside = [function.__globals__.get(name) for name in function.__code__.co_names]
    for cell in function.__closure__ or ():
        try:
            outside.append(cell.cell_contents)
        except ValueError:  # not bound yet
            continue
    return any(_asserts(each, seen) for each in outside)


def _has_assertion(code: CodeType) -> bool:
    # The one is Python 3.13's and earlier, the other, of which AssertionError is the first constant, 3.14's.
    return any(
        each.opname == "LOAD_ASSERTION_ERROR" or (each.opname == "LOAD_COMMON_CONSTANT" and each.arg == 0)
        for each in dis.get_instructions(code)
    ) or any(_has_assertion(each) for each in code.co_consts if isinstance(each, CodeType))
