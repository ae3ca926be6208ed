"""Variables of a kernel to which its ways give numbers of different types.

On a device, a variable has one type on all ways that meet where it is read; the simulator keeps what was assigned. So
each reading of such a variable is looked at, and two types at one reading are told.
"""

from __future__ import annotations

import ast
import sys
import warnings
from collections import Counter
from typing import Any

import numpy as np

from kapi_sim.errors import MixedTypesWarning
from kapi_sim.language.source import site_of

__all__ = ["MEETS", "MeetingTypes", "watch_readings"]

MEETS = "_kapi_meets"
"""The name of `MeetingTypes` in a rewritten kernel."""

_OWN_SCOPE = (ast.FunctionDef, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class MeetingTypes:
    """The types that each reading met in one launch; a call returns the value that was read."""

    __slots__ = ("_met", "_told")

    def __init__(self) -> None:
        self._met: dict[int, tuple[str, type[Any]]] = {}
        self._told: set[str] = set()

    def __call__(self, reading: int, name: str, value: Any) -> Any:
        kind = value.__class__
        met = self._met.get(reading)
        if met is None:
            if kind is not int and kind is not bool:
                self._met[reading] = name, kind
        elif met[1] is not kind and _differ(met[1], kind) and name not in self._told:
            self._told.add(name)
            frame = sys._getframe(1)
            first, second = sorted((met[1].__name__, kind.__name__))
            warnings.warn(
                f"variable `{name}` is {first} on one way and {second} on another, and both meet at "
                f"{site_of(frame.f_code, frame.f_lasti)}\n"
                "  on a device it has one type on all ways: convert one, or start with the other\n"
                "  silence the note with warnings.filterwarnings('ignore', category=kapi_sim.MixedTypesWarning)",
                MixedTypesWarning,
                stacklevel=2,
            )
        return value


def _differ(one: type[Any], other: type[Any]) -> bool:
    """Whether a variable of both types is of another one on a device: a weak number takes the other's type."""
    if issubclass(one, np.generic) and issubclass(other, np.generic):
        return True
    weak, strong = (other, one) if issubclass(one, np.generic) else (one, other)
    return weak is float and issubclass(strong, (np.integer, np.bool_))


def watch_readings(tree: ast.FunctionDef) -> bool:
    """Have each reading of a variable looked at that ways may give different types.

    Returns
    -------
    bool
        Whether there was any.
    """
    watcher = _Watcher(_of_several(tree))
    if watcher.names:
        tree.body = [watcher.visit(statement) for statement in tree.body]
    return watcher.readings > 0


def _of_several(tree: ast.FunctionDef) -> frozenset[str]:
    """Variables that are assigned more than once something else than a literal."""
    count: Counter[str] = Counter()
    counted: set[str] = {argument.arg for argument in ast.walk(tree.args) if isinstance(argument, ast.arg)}
    for node in _own_nodes(tree):
        if isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if isinstance(node, ast.AugAssign) or not isinstance(node.value, (ast.Constant, type(None))):
                count.update(each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name))
        elif isinstance(node, ast.NamedExpr):
            count[node.target.id] += 1
        elif isinstance(node, (ast.For, ast.comprehension)):
            # A loop over a tuple is written out on a device: each turn has variables of its own.
            counted |= {each.id for each in ast.walk(node) if isinstance(each, ast.Name) and not _is_counted(node.iter)}
    return frozenset(name for name, times in count.items() if times > 1 and not name.startswith("_kapi")) - counted


def _is_counted(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id.endswith("range")


def _own_nodes(tree: ast.AST) -> list[ast.AST]:
    """The nodes of a function, without those of functions in it."""
    found: list[ast.AST] = []
    pending = list(ast.iter_child_nodes(tree))
    while pending:
        node = pending.pop()
        found.append(node)
        if not isinstance(node, _OWN_SCOPE):
            pending += ast.iter_child_nodes(node)
    return found


class _Watcher(ast.NodeTransformer):
    def __init__(self, names: frozenset[str]) -> None:
        self.names = names
        self.readings = 0

    def visit(self, node: ast.AST) -> Any:
        return node if isinstance(node, _OWN_SCOPE) else super().visit(node)

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if not isinstance(node.ctx, ast.Load) or node.id not in self.names:
            return node
        self.readings += 1
        arguments: list[ast.expr] = [ast.Constant(self.readings), ast.Constant(node.id), node]
        call = ast.Call(ast.Name(MEETS, ast.Load()), arguments, [])
        for each in (call.func, *arguments[:2], call):
            ast.copy_location(each, node)
        return call

    def visit_Call(self, node: ast.Call) -> ast.expr:
        node.args = [self.visit(each) for each in node.args]
        for each in node.keywords:
            each.value = self.visit(each.value)
        if not isinstance(node.func, ast.Name):
            node.func = self.visit(node.func)
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        # Arrays have no numbers' types.
        node.slice = self.visit(node.slice)
        if not isinstance(node.value, ast.Name):
            node.value = self.visit(node.value)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if not isinstance(node.value, ast.Name):
            node.value = self.visit(node.value)
        return node
