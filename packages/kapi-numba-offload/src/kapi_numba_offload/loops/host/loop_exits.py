"""Exits of an outlined loop: the values of live-out variables, and a `return` within it.

`control_flow.why_in_place` tells which loops are not moved, as results were lost when all were.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Sequence
from typing import Any

from kapi_numba_offload.analysis.control_flow import leaves_by_return
from kapi_numba_offload.analysis.syntax import assignment, located, names_in, nodes_in, targets_of, variable

__all__ = ["exit_statements", "function_body", "is_flaggable"]

_FLAG = "kapi_has_"


def function_body(loop: ast.stmt, returned: Sequence[str], flagged: Sequence[str]) -> list[ast.stmt]:
    """The body of a function that does what the loop does.

    It returns a tuple of the values of `returned` and, for each of `flagged`, whether it has one. If the loop has a
    `return`, two items come first: whether it was reached, and its value.

    - `loop`: the loop; a copy of it is used.
    - `returned`, `flagged`: variables that it leaves, and those of them that may have no value.
    """
    items: list[ast.expr] = [
        ast.IfExp(variable(_FLAG + name), variable(name), ast.Constant(None)) if name in flagged else variable(name)
        for name in returned
    ]
    items += [variable(_FLAG + name) for name in flagged]
    has_return = leaves_by_return(loop)
    if has_return:
        items = [ast.Constant(False), ast.Constant(None), *items]
    moved = copy.deepcopy(loop)
    moved = _Leaving(flagged, len(items) - 2).visit(moved)
    # A variable that is given holds its value; the others have none until they are assigned.
    start: list[ast.stmt] = [ast.copy_location(assignment(_FLAG + name, ast.Constant(False)), loop) for name in flagged]
    return [*start, moved, ast.copy_location(ast.Return(ast.Tuple(items, ast.Load())), loop)]


def exit_statements(
    call: ast.expr, result: str, loop: ast.stmt, returned: Sequence[str], flagged: Sequence[str]
) -> list[ast.stmt]:
    """The statements instead of the loop, which call the function and go on as the loop would have.

    - `result`: name of a variable for what it returns.
    - `returned`, `flagged`: as for `function_body`.
    """
    has_return = leaves_by_return(loop)
    if not returned and not has_return:
        return [located(ast.Expr(call), loop)]

    def item(number: int) -> ast.expr:
        return ast.Subscript(variable(result), ast.Constant(number), ast.Load())

    made: list[ast.stmt] = [assignment(result, call)]
    if has_return:
        made.append(ast.If(item(0), [ast.Return(item(1))], []))
    first = 2 if has_return else 0
    for number, name in enumerate(returned):
        assigned = assignment(name, item(first + number))
        if name in flagged:
            flag = item(first + len(returned) + list(flagged).index(name))
            made.append(ast.If(flag, [assigned], []))
        else:
            made.append(assigned)
    # What is kept here would be freed later than the user's own variable.
    made.append(assignment(result, ast.Constant(None)))
    return [located(each, loop) for each in made]


def is_flaggable(name: str, loop: ast.stmt) -> bool:
    """Whether all that assigns a variable in the loop is a statement that does so at its end, or a loop."""
    stores = {id(each) for each in ast.walk(loop)
              if isinstance(each, ast.Name) and each.id == name and isinstance(each.ctx, ast.Store)}  # fmt: skip
    known: set[int] = set()
    for node in ast.walk(loop):
        if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.For)):
            known |= {id(each) for each in nodes_in(targets_of(node))}
    return stores <= known


class _Leaving(ast.NodeTransformer):
    """Returns that a `return` was executed, and records assignments of flagged variables."""

    def __init__(self, flagged: Sequence[str], count: int) -> None:
        self._flagged, self._count = flagged, count

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        return node

    def visit_Lambda(self, node: ast.Lambda) -> Any:
        return node

    def visit_Return(self, node: ast.Return) -> Any:
        value = node.value if node.value is not None else ast.Constant(None)
        items = [ast.Constant(True), value, *(ast.Constant(None) for _ in range(self._count))]
        return ast.copy_location(ast.Return(ast.Tuple(items, ast.Load())), node)

    def visit_Assign(self, node: ast.Assign) -> Any:
        return [node, *self._notes(node.targets, node)]

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        return [node, *self._notes([node.target], node)]

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        return [node, *self._notes([node.target], node)] if node.value is not None else node

    def visit_For(self, node: ast.For) -> Any:
        self.generic_visit(node)
        node.body = [*self._notes([node.target], node), *node.body]
        return node

    def _notes(self, targets: Sequence[ast.expr], node: ast.stmt) -> list[ast.stmt]:
        names = names_in(nodes_in(targets), ast.Store)
        made = [assignment(_FLAG + name, ast.Constant(True)) for name in self._flagged if name in names]
        return [ast.copy_location(each, node) for each in made]
