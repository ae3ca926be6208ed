"""Numbers that go into sets, dictionaries, typed containers and NumPy arrays: Python's, and no 0-d device arrays."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from kapi_numba_offload.analysis.kind_inference import Kinds
from kapi_numba_offload.analysis.kinds import ANY, ArrayKind, Kind
from kapi_numba_offload.run.python_numbers import as_number

__all__ = ["call_of_container", "is_call_of_container", "numbers_in_containers"]

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
