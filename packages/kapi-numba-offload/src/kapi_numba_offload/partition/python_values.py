"""Values that Python has of device arrays: numbers in containers, and elements of arrays that it iterates over."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from kapi_numba_offload.analysis.kind_inference import Kinds
from kapi_numba_offload.analysis.kinds import ANY, ArrayKind, Kind
from kapi_numba_offload.analysis.scope import Scope
from kapi_numba_offload.libraries.arrays import is_device_array
from kapi_numba_offload.run.python_numbers import as_number, element

__all__ = ["call_of_container", "elements", "is_call_of_container", "iterated_arrays", "numbers_in_containers"]

_METHODS = frozenset("add append count discard get index insert pop remove setdefault".split())
"""Methods of containers that take values or keys."""


def numbers_in_containers(definition: ast.FunctionDef, kinds: Kinds) -> set[int]:
    """The identities of expressions that are 0-d arrays on the device, and whose value something on the host needs.

    A container hashes or keeps it, or a NumPy array is combined with it.
    """
    return kinds.numbers | {
        id(each) for node in ast.walk(definition) for each in _kept(node, kinds) if kinds.is_number(each)
    }


def _kept(node: ast.AST, kinds: Kinds) -> Iterator[ast.expr]:
    if isinstance(node, ast.Set):
        yield from node.elts
    elif isinstance(node, ast.Dict):
        yield from (each for each in node.keys if each is not None)
    elif isinstance(node, ast.Compare) and any(isinstance(each, (ast.In, ast.NotIn)) for each in node.ops):
        yield node.left
    elif isinstance(node, ast.Subscript) and kinds.kind(node.value) == ANY:
        yield node.slice
    elif isinstance(node, ast.Assign):
        targets = [each for each in node.targets if isinstance(each, ast.Subscript)]
        if any(_is_of_host(kinds.kind(each.value)) for each in targets):
            yield node.value


def is_call_of_container(node: ast.Call, kinds: Kinds) -> bool:
    """Whether it may be a container's method that is given a number which is a 0-d array on the device."""
    function = node.func
    return (
        isinstance(function, ast.Attribute)
        and function.attr in _METHODS
        and not node.keywords
        and kinds.kind(function.value) == ANY
        and any(kinds.is_number(each) for each in node.args)
    )


def call_of_container(owner: Any, method: str, *args: Any) -> Any:
    """Call a method; Python's lists keep 0-d arrays until the function returns, and others get numbers."""
    return getattr(owner, method)(*(args if type(owner) is list else map(as_number, args)))


def _is_of_host(kind: Kind) -> bool:
    """Whether it may be a container, or is a NumPy array."""
    return kind == ANY or (isinstance(kind, ArrayKind) and not kind.usm)


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
