"""First uses of variables: whether a value from before some statements may be read in them, or after them."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from enum import Enum

from kapi_numba_offload.analysis.control_flow import has_jump
from kapi_numba_offload.analysis.syntax import names_in, nodes_in

__all__ = ["Path", "Use", "first_use", "is_live"]

Path = Sequence[tuple[Sequence[ast.stmt], int, bool]]
"""The blocks that a statement is in, the innermost first: the block, the position in it, whether it is of a loop."""


class Use(Enum):
    """First use of a variable by statements: on some control-flow path, or on each."""

    READ = "read on some path"
    ASSIGNED = "assigned on each path"
    NEITHER = "neither"


def first_use(block: Sequence[ast.stmt], name: str) -> Use:
    """First use of a variable by statements."""
    for statement in block:
        found = _first_use(statement, name)
        if found is not Use.NEITHER:
            return found
    return Use.NEITHER


def _first_use(node: ast.stmt, name: str) -> Use:
    if isinstance(node, ast.If):
        if _reads(node.test, name):
            return Use.READ
        uses = [first_use(node.body, name), first_use(node.orelse, name)]
        return Use.READ if Use.READ in uses else uses[0] if uses[0] is uses[1] else Use.NEITHER
    if isinstance(node, (ast.For, ast.While)):
        if _reads(node.iter if isinstance(node, ast.For) else node.test, name):
            return Use.READ
        is_counter = isinstance(node, ast.For) and name in names_in(ast.walk(node.target), ast.Store)
        uses = [Use.ASSIGNED if is_counter else first_use(node.body, name), first_use(node.orelse, name)]
        return Use.READ if Use.READ in uses else Use.NEITHER  # it may have no iteration
    if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name) and node.target.id == name:
        return Use.READ
    if _reads(node, name):
        return Use.READ
    return Use.ASSIGNED if name in names_in(ast.walk(node), ast.Store) else Use.NEITHER


def _reads(node: ast.AST, name: str) -> bool:
    return name in names_in(ast.walk(node), ast.Load)


def is_live(name: str, path: Path) -> bool:
    """Whether a variable may be read after a statement.

    Parameters
    ----------
    name : str
        The variable.
    path : Path
        Where the statement is.
    """
    for block, at, is_loop in path:
        rest = [*block[at + 1 :], *(block[: at + 1] if is_loop else ())]
        if any(map(has_jump, rest)):  # which may leave out an assignment
            own, everywhere = path[0][0][path[0][1]], names_in(nodes_in(path[-1][0]), ast.Load)
            is_elsewhere = everywhere.count(name) > names_in(ast.walk(own), ast.Load).count(name)
            return is_elsewhere or first_use([own], name) is Use.READ
        found = first_use(rest, name)
        if found is Use.READ:
            return True
        if found is Use.ASSIGNED and not is_loop:
            return False
    return False
