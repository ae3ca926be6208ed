"""Loops in which each work-item has elements of its own in all statements: they need no barriers, and no one group."""

from __future__ import annotations

import ast
import copy
from collections.abc import Sequence
from dataclasses import dataclass

from kapi_numba_offload.analysis.syntax import indices_of, nodes_in
from kapi_numba_offload.loops.cooperation.group_body import GroupBody
from kapi_numba_offload.loops.cooperation.inner_loops import InnerLoop

__all__ = ["OwnElements", "own_elements"]

_Access = tuple[tuple[int, str], ...]
"""For each distributed loop the axis of an array that it goes along, and the distance of its variable to the index."""


@dataclass(frozen=True, slots=True)
class OwnElements:
    """A body whose distributed loops give each work-item the same elements.

    - `statements`: the body, without barriers.
    - `lengths`: the lengths of the distributed loops, by level; those of one level have to be equal.
    """

    statements: list[ast.stmt]
    lengths: list[list[ast.expr]]


def own_elements(body: GroupBody) -> OwnElements | None:
    """The body of a group as one of work-items of any groups; None where some have elements of others."""
    nodes = nodes_in(body.statements)
    called = {each.func.id for each in nodes if isinstance(each, ast.Call) and isinstance(each.func, ast.Name)}
    if called & _OF_GROUPS or any(loop.reductions for loop in body.loops):
        return None
    if any(isinstance(each, ast.Name) and each.id == "kapi_k" for each in _tests(nodes)):
        return None  # one work-item stores
    depth = {len(each.levels) for each in body.loops}
    if len(depth) != 1:
        return None
    accesses: dict[str, _Access] = {}
    for loop in body.loops:
        for each in nodes_in(loop.body):
            if isinstance(each, ast.Subscript) and isinstance(each.value, ast.Name) and each.value.id in body.stored:
                access = _access(each, loop)
                if access is None or accesses.setdefault(each.value.id, access) != access:
                    return None
    lengths: list[list[ast.expr]] = [[] for _ in range(depth.pop())]
    for loop in body.loops:
        for own, level in zip(lengths, loop.levels, strict=True):
            bounds = _bounds(level)
            if bounds is None:
                return None
            own.append(bounds)
    return OwnElements([_WithoutBarriers().visit(copy.deepcopy(each)) for each in body.statements], lengths)


_OF_GROUPS = {"kapi_reduce_over_group", "kapi_group_broadcast", "kapi_any_of_group", "kapi_AtomicRef"}


def _tests(nodes: Sequence[ast.AST]) -> list[ast.AST]:
    return [part for each in nodes if isinstance(each, ast.If) for part in ast.walk(each.test)]


def _access(node: ast.Subscript, loop: InnerLoop) -> _Access | None:
    found: list[tuple[int, str]] = []
    counters = [each.target.id for each in loop.levels if isinstance(each.target, ast.Name)]
    for counter in counters:
        for axis, index in enumerate(indices_of(node)):
            distance = _distance(index, counter)
            if distance is not None:
                found.append((axis, distance))
                break
        else:
            return None
    return tuple(found)


def _distance(index: ast.expr, counter: str) -> str | None:
    """The text of what is added to a counter in an index; None for other indices."""
    match index:
        case ast.Name(name) if name == counter:
            return ""
        case ast.BinOp(other, ast.Add(), ast.Name(name)) | ast.BinOp(ast.Name(name), ast.Add(), other) if (
            name == counter and _is_fixed(other)
        ):
            return ast.unparse(other)
    return None


def _is_fixed(node: ast.expr) -> bool:
    """Whether a number is the same in all of the loop: a variable that is assigned before it, or a literal."""
    return isinstance(node, ast.Constant) or (isinstance(node, ast.Name) and node.id.startswith("kapi_h"))


def _bounds(node: ast.For) -> ast.expr | None:
    """The length of a loop that counts from 0 by 1."""
    match node.iter:
        case ast.Call(_, [stop]) | ast.Call(_, [ast.Constant(0), stop]):
            return stop
    return None


class _WithoutBarriers(ast.NodeTransformer):
    def visit_Expr(self, node: ast.Expr) -> ast.stmt:
        match node.value:
            case ast.Call(ast.Name("kapi_group_barrier")):
                return ast.copy_location(ast.Pass(), node)
        return node
