"""Loop-invariant views: hoisted out of loops, with the prepared launches of regions over them."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kapi_numba_offload.analysis.kinds import SCALAR
from kapi_numba_offload.analysis.syntax import located
from kapi_numba_offload.partition.function_info import PREFIX, FunctionInfo, loaded
from kapi_numba_offload.regions.fused_region import FusedRegion

__all__ = ["hoist_views"]

_BLOCKS = ("body", "orelse", "finalbody")


@dataclass(eq=False)
class _Loop:
    """A loop around a statement: the names that it changes, and the variables for what it keeps, as they begin."""

    changed: frozenset[str]
    kept: dict[str, ast.expr] = field(default_factory=dict)


def hoist_views(facts: FunctionInfo, helpers: Mapping[str, Any], statements: Sequence[ast.stmt]) -> list[ast.stmt]:
    """The statements, with a variable for each view that a region is given in a loop which changes nothing of it.

    There is one for each region, too, for what it finds out about such arrays.

    A view is made when it is needed first: what the loop does not reach must not raise.

    - `helpers`: the regions, by the names under which the statements call them.
    - `statements`: its body.
    """
    return _Views(facts, helpers).block(statements, [])


class _Views:
    def __init__(self, facts: FunctionInfo, helpers: Mapping[str, Any]) -> None:
        self._facts, self._helpers = facts, helpers
        self._count = 0
        self._steady: dict[ast.expr, tuple[str, str]] = {}  # calls of regions, with the names of region and `kept`

    def block(self, statements: Sequence[ast.stmt], loops: list[_Loop]) -> list[ast.stmt]:
        made: list[ast.stmt] = []
        for statement in statements:
            if isinstance(statement, (ast.For, ast.While)):
                loop = _Loop(frozenset(_changed(statement)))
                statement.body = self.block(statement.body, [*loops, loop])
                if isinstance(statement, ast.For):
                    self._repeat(statement)
                made += [_begun(name, value, statement) for name, value in loop.kept.items()]
            elif any(hasattr(statement, each) for each in _BLOCKS):
                for each in _BLOCKS:
                    if isinstance(getattr(statement, each, None), list):
                        setattr(statement, each, self.block(getattr(statement, each), loops))
            elif loops:
                self._statement(statement, loops)
            made.append(statement)
        return made

    def _statement(self, statement: ast.stmt, loops: Sequence[_Loop]) -> None:
        for call in ast.walk(statement):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name):
                region = self._helpers.get(call.func.id)
                if isinstance(region, FusedRegion):
                    self._region(region, call, loops)

    def _repeat(self, loop: ast.For) -> None:
        """Let a region submit the iterations of a loop that does nothing but run it, each time with the same names."""
        (only, *others), over = loop.body, loop.iter
        if others or loop.orelse or not isinstance(only, ast.Expr) or only.value not in self._steady:
            return
        if isinstance(over, ast.Call) and isinstance(over.func, ast.Name) and over.func.id == "range":
            region, kept = self._steady[only.value]
            function = ast.copy_location(ast.Attribute(loaded(region, over), "repeated", ast.Load()), over)
            loop.iter = located(ast.Call(function, [loaded(kept, over), over], []), over)

    def _region(self, region: FusedRegion, call: ast.Call, loops: Sequence[_Loop]) -> None:
        read = {each.id for value in call.args for each in ast.walk(value) if isinstance(each, ast.Name)}
        is_steady = loops[-1].changed.isdisjoint(read) and not any(
            isinstance(each, (ast.Call, ast.Attribute)) for value in call.args for each in ast.walk(value)
        )
        arrays = [not self._is_number(each) for each in call.args]
        same = [self._loop(each, loops) if is_array else None for each, is_array in zip(call.args, arrays, strict=True)]
        found = [each for each in same if each is not None]
        for number, loop in enumerate(same):
            if loop is not None and isinstance(call.args[number], ast.Subscript):
                call.args[number] = self._view(call.args[number], loop)
        if not found:
            return
        region.varying = frozenset(
            number
            for number, (loop, is_array) in enumerate(zip(same, arrays, strict=True))
            if is_array and loop is None
        )
        name = self._name("kept")
        if is_steady and isinstance(call.func, ast.Name):
            self._steady[call] = call.func.id, name
        # The innermost of the loops changes none of them.
        max(found, key=loops.index).kept[name] = ast.List([], ast.Load())
        call.func = ast.copy_location(ast.Attribute(call.func, "again", ast.Load()), call)
        call.args.insert(0, loaded(name, call))

    def _is_number(self, node: ast.expr) -> bool:
        """Whether a value is a number, so that its type alone counts; no view of an element."""
        return isinstance(node, ast.Constant) or (isinstance(node, ast.Name) and self._facts.kinds.kind(node) == SCALAR)

    def _loop(self, node: ast.expr, loops: Sequence[_Loop]) -> _Loop | None:
        """The outermost loop in which an array, or a view of one, is invariant; None if there is none."""
        owner = node.value if isinstance(node, ast.Subscript) else node
        if not isinstance(owner, ast.Name) or not self._facts.is_usm(owner):
            return None
        if isinstance(node, ast.Subscript) and not self._facts.is_view(node):
            return None
        if any(isinstance(each, (ast.Call, ast.Attribute)) for each in ast.walk(node)):
            return None
        read = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
        return next((each for each in loops if each.changed.isdisjoint(read)), None)

    def _view(self, node: ast.expr, loop: _Loop) -> ast.expr:
        name = self._name("view")
        loop.kept[name] = ast.Constant(None)
        test = ast.Compare(loaded(name, node), [ast.Is()], [ast.Constant(None)])
        made = ast.IfExp(test, ast.NamedExpr(ast.Name(name, ast.Store()), node), loaded(name, node))
        return located(made, node)

    def _name(self, word: str) -> str:
        self._count += 1
        return f"{PREFIX}{word}_{self._count}"


def _begun(name: str, value: ast.expr, where: ast.stmt) -> ast.stmt:
    made = ast.Assign([ast.Name(name, ast.Store())], value)
    return located(made, where)


def _changed(loop: ast.stmt) -> Iterator[str]:
    """The variables that a loop may assign, or change other than by storing elements."""
    for node in ast.walk(loop):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
            yield from (each.id for each in ast.walk(node) if isinstance(each, ast.Name))
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, ast.ExceptHandler) and node.name is not None:
            yield node.name
        elif isinstance(node, (ast.MatchAs, ast.MatchStar)) and node.name is not None:
            yield node.name
        elif isinstance(node, ast.alias):
            yield (node.asname or node.name).partition(".")[0]
