"""Scalarization of tuples and lists of rows: kernels have tuples of numbers only.

`rows = a[i], b[i]` becomes a name for each row, and `for row in (a[i], b[i])` is unrolled.
"""

from __future__ import annotations

import ast
import copy
from collections import Counter
from collections.abc import Mapping, Sequence

from kapi_numba_offload.analysis.syntax import (
    assignment,
    integer_literal,
    names_in,
    names_rows,
    nodes_in,
    rewrite_blocks,
    rewrite_expressions,
)

__all__ = ["scalarize_tuples"]

_MAX_ITERATIONS = 8  # of a loop that is unrolled


def scalarize_tuples(body: Sequence[ast.stmt], ranks: Mapping[str, int]) -> list[ast.stmt]:
    """Replace tuples that have parts of arrays by a variable for each, and unroll loops over them, nodes in place."""
    return _TupleScalarizer(body, ranks).block(body)


class _TupleScalarizer(ast.NodeTransformer):
    def __init__(self, body: Sequence[ast.stmt], ranks: Mapping[str, int]) -> None:
        nodes = nodes_in(body)
        stores = Counter(names_in(nodes, ast.Store, ast.Del))
        self._ranks = ranks
        self._once = {name for name, count in stores.items() if count == 1}
        taken = {
            id(each.value)
            for each in nodes
            if isinstance(each, ast.Subscript) and integer_literal(each.slice) is not None
        }
        taken |= {id(each.iter) for each in nodes if isinstance(each, ast.For)}
        self._used_as_tuple = {
            each.id
            for each in nodes
            if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load) and id(each) not in taken
        }
        own = {id(inner) for each in nodes if isinstance(each, ast.For) for inner in _loop_variables(each)}
        self._elsewhere = {each.id for each in nodes if isinstance(each, ast.Name) and id(each) not in own}
        self._rows: set[str] = set()
        self._named: dict[str, list[str]] = {}
        self._count = 0

    def block(self, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        """The statements, with others in their place."""
        return [made for each in statements for made in self._statement(each)]

    def _statement(self, node: ast.stmt) -> list[ast.stmt]:
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            if not isinstance(node.value, (ast.Name, ast.Tuple)) and self._is_part(node.value):
                self._rows.add(name)
            if name in self._once and name not in self._used_as_tuple and self._has_parts(node.value):
                assert isinstance(node.value, (ast.Tuple, ast.List))
                self._named[name] = [f"kapi_part_{name}_{number}" for number in range(len(node.value.elts))]
                return [
                    ast.copy_location(assignment(own, self.visit(each)), node)
                    for own, each in zip(self._named[name], node.value.elts, strict=True)
                ]
        if isinstance(node, ast.For) and not node.orelse and isinstance(node.target, (ast.Name, ast.Tuple)):
            parts = self._parts_of(node.iter)
            if parts and len(parts) <= _MAX_ITERATIONS and not _leaves(node.body):
                return [each for part in parts for each in self._unrolled(node, part)]
        rewrite_blocks(node, self.block)
        rewrite_expressions(node, self.visit)
        return [node]

    def _unrolled(self, node: ast.For, part: ast.expr) -> list[ast.stmt]:
        """The body for one member, with loop variables of its own unless other statements name them."""
        iteration = copy.deepcopy(node)
        self._count += 1
        for each in _loop_variables(iteration):
            if each.id not in self._elsewhere:
                each.id = f"kapi_iteration{self._count}_{each.id}"
        first = ast.copy_location(ast.Assign([iteration.target], self.visit(copy.deepcopy(part))), node)
        return [first, *self.block(iteration.body)]

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        """A member of such a tuple by its name."""
        index = integer_literal(node.slice)
        own = self._named.get(node.value.id) if isinstance(node.value, ast.Name) else None
        if own is not None and index is not None and -len(own) <= index < len(own):
            return ast.copy_location(ast.Name(own[index], node.ctx), node)
        self.generic_visit(node)
        return node

    def _parts_of(self, node: ast.expr) -> list[ast.expr]:
        if isinstance(node, ast.Name) and node.id in self._named:
            return [ast.copy_location(ast.Name(each, ast.Load()), node) for each in self._named[node.id]]
        return list(node.elts) if isinstance(node, (ast.Tuple, ast.List)) and self._has_parts(node) else []

    def _has_parts(self, node: ast.expr) -> bool:
        """Whether it is a tuple, or a list, of which a member surely is an array or a part of one."""
        return isinstance(node, (ast.Tuple, ast.List)) and any(map(self._is_part, node.elts))

    def _is_part(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Tuple):
            return any(map(self._is_part, node.elts))
        return names_rows(node, self._ranks, self._rows)


def _loop_variables(loop: ast.For) -> list[ast.Name]:
    """The names in a loop that are its own variables."""
    own = {each.id for each in ast.walk(loop.target) if isinstance(each, ast.Name)}
    return [each for each in ast.walk(loop) if isinstance(each, ast.Name) and each.id in own]


def _leaves(body: Sequence[ast.stmt]) -> bool:
    """Whether a body has a `break` or `continue`; one of a loop within it counts as well."""
    return any(isinstance(each, (ast.Break, ast.Continue)) for each in nodes_in(body))
