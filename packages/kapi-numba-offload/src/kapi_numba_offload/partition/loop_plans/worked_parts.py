"""Parts of arrays that the statements of a loop work on, wherever they name the arrays."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence

from kapi_numba_offload.analysis.kinds import SCALAR, ArrayKind
from kapi_numba_offload.analysis.syntax import indices_of, names_in, nodes_in
from kapi_numba_offload.partition.function_info import FunctionInfo
from kapi_numba_offload.partition.loop_plans.numba_equivalence import called_function

__all__ = ["iterated", "worked_parts"]

Parts = Mapping[int, frozenset[int | str]]
"""For axes of an array, numbers of elements or the variables that have them; a full axis is left out."""

_ONE = frozenset[int | str]((1,))
_SIZES = ("shape", "dtype", "size", "ndim")


def worked_parts(facts: FunctionInfo, nodes: Sequence[ast.AST]) -> dict[str, Parts]:
    """Parts of the axes that the statements work on, for each array that is only named with indices.

    A tuple of arrays counts as its items; an array that has another name, or that a function is given, as that.
    """
    return _WorkedParts(facts, nodes).found()


class _WorkedParts:
    def __init__(self, facts: FunctionInfo, nodes: Sequence[ast.AST]) -> None:
        self._facts, self._nodes = facts, nodes
        self._stored = set(names_in(nodes, ast.Store, ast.Del))
        self._parts: dict[str, Parts] = {}
        self._measured: dict[str, Parts] = {}
        self._aliases: list[tuple[str, str]] = []
        self._counted: set[int] = set()
        for each in nodes:
            self._count(each)

    def found(self) -> dict[str, Parts]:
        """Parts by the names of arrays."""
        loads = [each for each in self._nodes if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load)]
        entire = {each.id for each in loads if id(each) not in self._counted}
        for alias, name in reversed(self._aliases):
            if alias in entire:
                entire.add(name)
            elif alias in self._parts:
                self._add(name, self._parts[alias])
        found = {**self._measured, **self._parts}
        return {name: parts for name, parts in found.items() if parts and name not in entire}

    def _add(self, name: str, parts: Parts) -> None:
        known = self._parts.get(name, parts)
        self._parts[name] = {axis: known[axis] | parts[axis] for axis in known.keys() & parts.keys()}

    def _count(self, node: ast.AST) -> None:
        for alias, owner in _aliases(node):
            self._aliases.append((alias, owner.id))
            self._counted.add(id(owner))
        if isinstance(node, ast.For):
            for each in iterated(self._facts, node.iter):
                if isinstance(each, ast.Name):
                    self._add(each.id, {0: _ONE})
                    self._counted.add(id(each))
        elif isinstance(node, ast.Subscript):
            self._count_subscript(node)
        elif isinstance(node, ast.Attribute) and node.attr in _SIZES:
            self._measure(node.value)
        elif isinstance(node, ast.Call) and self._facts.names.value(node.func) is len and len(node.args) == 1:
            self._measure(node.args[0])
        elif isinstance(node, ast.Call) and not node.keywords:
            self._count_call(node)

    def _measure(self, node: ast.expr) -> None:
        kind = self._facts.kinds.kind(node)
        if isinstance(node, ast.Name) and isinstance(kind, ArrayKind):
            self._counted.add(id(node))
            if kind.usm and kind.ndim:
                self._measured[node.id] = dict.fromkeys(range(kind.ndim), _ONE)

    def _count_subscript(self, node: ast.Subscript) -> None:
        owner = node.value
        is_item = isinstance(owner, ast.Subscript) and not self._facts.is_usm(owner.value)
        if isinstance(owner, ast.Subscript) and is_item:
            owner = owner.value  # a tuple of arrays
        owners = owner.elts if isinstance(owner, ast.Tuple) else [owner]
        names = [each for each in owners if isinstance(each, ast.Name)]
        if len(names) < len(owners) or not (self._facts.is_usm(node.value) or all(map(self._facts.is_usm, names))):
            return
        axes = indices_of(node)
        is_plain = all(isinstance(axis, ast.Slice) or self._facts.kinds.kind(axis) == SCALAR for axis in axes)
        parts = {number: frozenset((part,)) for number, axis in enumerate(axes)
                 if is_plain and (part := _part(axis, self._stored)) is not None}  # fmt: skip
        for each in names:
            self._add(each.id, parts)
            self._counted.add(id(each))

    def _count_call(self, node: ast.Call) -> None:
        """Note the parts that a function works on, of an array that is an argument or from outside."""
        called = called_function(self._facts, node)
        if called is None:
            if isinstance(node.func, ast.Name):
                self._count_local_function(node.func.id)
            return
        within = worked_parts(called[0], nodes_in(called[1]))
        for parameter, arg in zip(called[0].names.parameters, node.args, strict=False):
            own = {axis: parts for axis, parts in within.get(parameter, {}).items()
                   if all(isinstance(part, int) for part in parts)}  # fmt: skip
            if isinstance(arg, ast.Name) and own:
                self._add(arg.id, own)
                self._counted.add(id(arg))

    def _count_local_function(self, name: str) -> None:
        """The elements that a local function takes of arrays around it; an array that it names otherwise is entire."""
        for each in self._facts.local_functions:
            names = [each.name] if isinstance(each, ast.FunctionDef) else names_in(ast.walk(each), ast.Store)
            if name not in names:
                continue
            nodes = list(ast.walk(each))
            taken = {id(node.value): node for node in nodes if isinstance(node, ast.Subscript)}
            for node in nodes:
                if isinstance(node, ast.Name) and node.id in self._facts.usm_names:
                    axes = indices_of(taken[id(node)]) if id(node) in taken else []
                    self._add(node.id, {axis: _ONE for axis, at in enumerate(axes) if not isinstance(at, ast.Slice)})


def iterated(facts: FunctionInfo, node: ast.expr) -> Iterator[ast.expr]:
    """The values that a `for` statement iterates: arrays by name, and calls of `enumerate` and `zip`."""
    if isinstance(node, ast.Name) and facts.is_usm(node):
        yield node
    elif isinstance(node, ast.Call) and facts.names.value(node.func) in (enumerate, zip):
        yield node
        for each in node.args:
            yield from iterated(facts, each)


def _aliases(node: ast.AST) -> Iterator[tuple[str, ast.Name]]:
    """The variables that an assignment gives another name, with that name."""
    if not isinstance(node, ast.Assign) or len(node.targets) != 1 or not isinstance(node.targets[0], ast.Name):
        return
    values = [node.value.body, node.value.orelse] if isinstance(node.value, ast.IfExp) else [node.value]
    if all(isinstance(each, ast.Name) for each in values):
        yield from ((node.targets[0].id, each) for each in values if isinstance(each, ast.Name))


def _part(axis: ast.expr, stored: set[str]) -> int | str | None:
    """Number of elements that an index selects: one, or those of a slice such as `i:i + k`; None if unknown."""
    if not isinstance(axis, ast.Slice):
        return 1
    upper = axis.upper
    if not isinstance(upper, ast.BinOp) or not isinstance(upper.op, ast.Add) or axis.lower is None:
        return None
    if ast.unparse(upper.left) != ast.unparse(axis.lower):
        return None
    count = upper.right
    if isinstance(count, ast.Name):
        return None if count.id in stored else count.id
    return count.value if isinstance(count, ast.Constant) and type(count.value) is int else None
