"""Device arrays that Python iterates over: their elements are numbers, and no views that later stores change."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from kapi_numba_offload.analysis.kind_inference import Kinds
from kapi_numba_offload.analysis.kinds import ANY, ArrayKind
from kapi_numba_offload.analysis.scope import Scope
from kapi_numba_offload.libraries.arrays import is_device_array
from kapi_numba_offload.partition.calls import element

__all__ = ["elements", "iterated_arrays"]

_ITERATES = (all, any, enumerate, filter, iter, list, map, max, min, reversed, set, sorted, sum, tuple, zip)
"""Functions of Python's that iterate over what they are given."""


def iterated_arrays(definition: ast.FunctionDef, names: Scope, kinds: Kinds) -> set[int]:
    """The identities of expressions that may be such arrays, `for` statements left out."""
    return {id(each) for node in ast.walk(definition) for each in _iterated(node, names) if _may_be(each, kinds)}


def _iterated(node: ast.AST, names: Scope) -> Iterator[ast.expr]:
    if isinstance(node, ast.Assign) and any(isinstance(each, (ast.Tuple, ast.List)) for each in node.targets):
        yield node.value
    elif isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
        yield from (each.iter for each in node.generators)
    elif isinstance(node, ast.Starred) and isinstance(node.ctx, ast.Load):
        yield node.value
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        function = names.value(node.func)
        # `max(a, b)` compares its arguments.
        if any(function is each for each in _ITERATES) and not (function in (max, min) and len(node.args) > 1):
            yield from node.args


def _may_be(node: ast.expr, kinds: Kinds) -> bool:
    kind = kinds.kind(node)
    return kind == ANY or (isinstance(kind, ArrayKind) and kind.usm and kind.ndim in (1, None))


class _IteratedElements:
    """The elements of an array of one axis, each read when it is asked for."""

    def __init__(self, array: Any) -> None:
        self._array = array

    def __len__(self) -> int:
        return len(self._array)

    def __getitem__(self, at: int) -> Any:
        return element(self._array[at])

    def __iter__(self) -> Iterator[Any]:
        for at in range(len(self)):
            yield self[at]


def elements(value: Any) -> Any:
    """Iterable for a value: the numbers of a device array of one axis or of `flat`, anything else itself."""
    if type(value).__name__ == "flatiter":
        return map(element, value)
    return _IteratedElements(value) if is_device_array(value) and value.ndim == 1 else value
