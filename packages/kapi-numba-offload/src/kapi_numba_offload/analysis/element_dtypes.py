"""Dtypes of the elements that a loop's variables get their numbers from.

Numba gives back Python's numbers for all of its own, and a Python number takes the type of the next operation's
other operand. A number that comes from an element is one of NumPy's, which keeps its type.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from kapi_numba_offload.analysis.syntax import root_variable
from kapi_numba_offload.libraries.installed import library_names

__all__ = ["Dtypes", "as_numpy_has_it", "dtypes_after"]

Dtypes = frozenset[str]
"""Names of dtypes; none for one of Python's numbers."""

_NONE: Dtypes = frozenset()
# What these give is a Python number, whatever they are given.
_WEAK_CALLS = frozenset(("bool", "complex", "float", "int", "len", "range"))
_WEAK_ATTRIBUTES = frozenset(("itemsize", "ndim", "shape", "size", "strides"))


def as_numpy_has_it(value: Any, dtype: np.dtype[Any], dtypes: Dtypes) -> Any:
    """One of Numba's numbers, given back as Python's, as the one that NumPy would have.

    - `dtype`: the type that Numba computed it in.
    - `dtypes`: of the elements that it comes from.

    Returns `value` itself where it comes from no element. An integer that comes from elements has 64 bits.
    """
    if dtype.name not in ("int64", "float64", "complex128"):  # Python's numbers have these types to Numba
        return dtype.type(value)
    if not dtypes:
        return value
    # A Python float takes the type of a floating operand, and promotes an integer to float64.
    known = np.result_type(*(each if np.dtype(each).kind in "fc" or dtype.kind == "i" else "f8" for each in dtypes))
    if dtype.kind == "i":
        return np.int64(value) if known.kind in "biu" else value
    if dtype.kind == "c" and known.kind == "f":
        known = np.result_type(known, np.complex64)
    return known.type(value) if known.kind == dtype.kind else value


def dtypes_after(loop: ast.stmt, before: Mapping[str, Dtypes]) -> dict[str, Dtypes]:
    """The dtypes of the elements that each variable gets its number from, after a loop.

    - `before`: the same before it; for an array, its own dtype.
    """
    known, count = dict(before), -1
    # To the fixpoint, since a name may get its number from one that is assigned below.
    while count != (count := sum(map(len, known.values()))):
        for targets, dtypes in _assignments(loop, known):
            for name in targets:
                known[name] = known.get(name, _NONE) | dtypes
    return known


def _assignments(loop: ast.stmt, known: Mapping[str, Dtypes]) -> Iterator[tuple[set[str], Dtypes]]:
    for node in ast.walk(loop):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                yield from _to_target(target, node.value, known)
        elif isinstance(node, (ast.AugAssign, ast.NamedExpr)) or (isinstance(node, ast.AnnAssign) and node.value):
            yield _names(node.target), _of(node.value, known)
        elif isinstance(node, ast.For):
            yield _names(node.target), _of(node.iter, known)


def _to_target(target: ast.expr, value: ast.expr, known: Mapping[str, Dtypes]) -> Iterator[tuple[set[str], Dtypes]]:
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        for part, its_value in zip(target.elts, value.elts, strict=True):
            yield from _to_target(part, its_value, known)
    else:
        yield _names(target), _of(value, known)


def _names(target: ast.expr) -> set[str]:
    """The variables that a target assigns; one with a subscript assigns none."""
    if isinstance(target, (ast.Tuple, ast.List)):
        return {name for each in target.elts for name in _names(each)}
    if isinstance(target, ast.Starred):
        return _names(target.value)
    return {target.id} if isinstance(target, ast.Name) else set()


def _of(value: ast.expr | None, known: Mapping[str, Dtypes]) -> Dtypes:
    """The dtypes that the operands of an expression have."""
    if isinstance(value, ast.Name):
        return known.get(value.id, _NONE)
    if isinstance(value, ast.Attribute):
        return _NONE if value.attr in _WEAK_ATTRIBUTES else _of(value.value, known)
    if isinstance(value, ast.Subscript):
        return _of(value.value, known)
    if isinstance(value, ast.IfExp):
        return _of(value.body, known) | _of(value.orelse, known)
    if isinstance(value, ast.Call):
        return _of_call(value, known)
    if value is None or isinstance(value, (ast.Compare, ast.Lambda)):
        return _NONE
    parts = [_of(each, known) for each in ast.iter_child_nodes(value) if isinstance(each, ast.expr)]
    return _NONE.union(*parts)


def _of_call(call: ast.Call, known: Mapping[str, Dtypes]) -> Dtypes:
    function = call.func
    if isinstance(function, ast.Name) and function.id in _WEAK_CALLS:
        return _NONE
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    type_ = getattr(np, name, None)
    if isinstance(type_, type) and issubclass(type_, np.number):
        return frozenset((np.dtype(type_).name,))
    given = _of(function, known).union(*(_of(each, known) for each in call.args))
    # NumPy's functions give NumPy's numbers for Python's, too; others give what they are given.
    is_numpy_s = isinstance(function, ast.Attribute) and root_variable(function) in ("np", "numpy", *library_names())
    return given or (frozenset(("float64",)) if is_numpy_s else _NONE)
