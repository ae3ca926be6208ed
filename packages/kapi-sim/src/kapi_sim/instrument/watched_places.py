"""Calls of `MeetingTypes` written into a function: at variables, choices, returned values, operations and stores."""

from __future__ import annotations

import ast
import itertools
from collections import Counter
from collections.abc import Sequence
from typing import Any

from kapi_sim.checks.calls import DEVICE
from kapi_sim.instrument.loose_variables import OF_ONE_KIND, OWN_SCOPE, LooseVariables, own_nodes, spelled_choice
from kapi_sim.instrument.meeting_types import GIVEN, MEETS

__all__ = ["choices_in", "watch_meetings"]

_places = itertools.count()  # of all functions: one kernel may run several


def choices_in(tree: ast.FunctionDef) -> list[ast.AST]:
    """Return the choices that are written in a function."""
    return [each for each in own_nodes(tree) if isinstance(each, (ast.IfExp, ast.BoolOp))]


def watch_meetings(tree: ast.FunctionDef, choices: list[ast.AST], loose: LooseVariables, is_kernel: bool) -> bool:
    """Have each place looked at to which the ways of a function may give different types.

    Parameters
    ----------
    tree : ast.FunctionDef
        The function, which is changed.
    choices : list of ast.AST
        Its author's choices.
    loose : LooseVariables
        Its author's variables that may be weak on one way alone.
    is_kernel : bool
        Whether it runs for one list of argument types in a launch.

    Returns
    -------
    bool
        Whether there was any.
    """
    returns = [] if is_kernel else _returns_of(tree)
    watcher = _Watcher(_of_several(tree), loose, choices, returns if len(returns) > 1 else [], has_types=not is_kernel)
    tree.body = [watcher.visit(statement) for statement in tree.body]
    if watcher.has_places and not is_kernel:
        given = [*tree.args.posonlyargs, *tree.args.args, *tree.args.kwonlyargs]
        call = ast.Call(_name(GIVEN), [_name(each.arg) for each in given], [])
        types = ast.Assign([ast.Name(_TYPES, ast.Store())], call)
        for node in ast.walk(types):
            ast.copy_location(node, tree.body[0])
        tree.body.insert(0, types)
    return watcher.has_places


def _returns_of(tree: ast.FunctionDef) -> list[ast.Return]:
    """The places that a function returns from, each with a value if one has: Python returns None at the others."""
    returns = [each for each in own_nodes(tree) if isinstance(each, ast.Return)]
    if not any(each.value is not None for each in returns):
        return []
    if not isinstance(tree.body[-1], (ast.Return, ast.Raise)):
        returns.append(ast.copy_location(ast.Return(), tree.body[-1]))
        tree.body.append(returns[-1])
    for each in returns:
        each.value = each.value or ast.copy_location(ast.Constant(None), each)
    return returns


_TYPES = f"{GIVEN}_types"
_FUNCTIONS = (DEVICE, "_kapi_math_")
"""How the names of functions begin that stand for those of the author and of `math`."""


def _method(name: str) -> ast.Attribute:
    return ast.Attribute(_name(MEETS), name, ast.Load())


def _name(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def _of_several(tree: ast.FunctionDef) -> frozenset[str]:
    """Variables that get more than once something else than a literal."""
    count = Counter({argument.arg: 1 for argument in ast.walk(tree.args) if isinstance(argument, ast.arg)})
    for node in own_nodes(tree):
        targets: list[ast.expr] = []
        if isinstance(node, ast.Assign):
            targets = [] if isinstance(node.value, ast.Constant) else node.targets
            targets = node.targets * 2 if _is_none(node.value) else targets
        elif isinstance(node, ast.AnnAssign):
            targets = [] if isinstance(node.value, (ast.Constant, type(None))) else [node.target]
        elif isinstance(node, (ast.AugAssign, ast.NamedExpr)):
            targets = [node.target]
        elif isinstance(node, (ast.For, ast.comprehension)):
            targets = [node.target] if _is_counted(node.iter) else [node.target] * 2
        count.update(
            each.id
            for target in targets
            for each in ast.walk(target)
            if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
        )
    return frozenset(name for name, times in count.items() if times > 1 and not name.startswith("_kapi"))


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _is_counted(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id.endswith("range")


class _Watcher(ast.NodeTransformer):
    def __init__(
        self,
        names: frozenset[str],
        loose: LooseVariables,
        choices: list[ast.AST],
        returns: list[ast.Return],
        has_types: bool,
    ) -> None:
        self._names = names
        self._loose = loose
        self._choices = set(map(id, choices))
        self._returns = returns
        self._has_types = has_types
        self._returned: dict[int, int] = {}
        self._updates: set[int] = set()  # operations that always give the type that they gave before
        self._tests: set[int] = set()  # choices of which the truth alone counts
        self.has_places = False

    def visit(self, node: ast.AST) -> Any:
        if isinstance(node, (ast.If, ast.While, ast.IfExp, ast.Assert)):
            self._mark_test(node.test)
        return node if isinstance(node, OWN_SCOPE) else super().visit(node)

    def _mark_test(self, node: ast.expr) -> None:
        if isinstance(node, ast.BoolOp):
            self._tests.add(id(node))
            for each in node.values:
                self._mark_test(each)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            self._mark_test(node.operand)

    def _place(
        self, node: ast.expr, name: str, place: int, look: ast.expr | None = None, more: Sequence[ast.expr] = ()
    ) -> ast.expr:
        self.has_places = True
        arguments: list[ast.expr] = [ast.Constant(place), ast.Constant(name), node, *more]
        if self._has_types:
            arguments.append(_name(_TYPES))
        call = ast.Call(look or _name(MEETS), arguments, [])
        for each in (call, *ast.walk(call.func), *arguments[:2], *arguments[3:]):
            ast.copy_location(each, node)
        return call

    def _result(self, node: ast.expr, name: str) -> ast.expr:
        return self._place(node, name, next(_places), _method("result_of"))

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt:
        target = node.target
        if isinstance(target, ast.Name) and target.id in self._names and not self._loose.is_sum(target.id):
            value = ast.BinOp(_name(target.id), node.op, node.value)
            made = ast.copy_location(ast.Assign([target], ast.copy_location(value, node)), node)
            ast.copy_location(value.left, target)
            return self.visit_Assign(made)
        is_element = isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name)
        loose = self._loose.of(node.value) if is_element else ""
        self.generic_visit(node)
        if loose and isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
            call = self._place(node.value, loose, next(_places), _method("operand_of"), [_name(target.value.id)])
            node.value = call
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        loose = "" if id(node) in self._updates else self._loose.of(node)
        self.generic_visit(node)
        return self._result(node, loose) if loose else node

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if not isinstance(node.ctx, ast.Load) or node.id not in self._names:
            return node
        return self._place(node, f"variable `{node.id}`", next(_places))

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        self.generic_visit(node)
        are_literals = isinstance(node.body, ast.Constant) and isinstance(node.orelse, ast.Constant)
        are_literals = are_literals and _is_none(node.body) == _is_none(node.orelse)
        if are_literals or id(node) not in self._choices:
            return node
        return self._place(node, spelled_choice(node), next(_places))

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        is_test = id(node) not in self._choices or id(node) in self._tests or all(map(_is_truth, node.values))
        self.generic_visit(node)
        return node if is_test else self._place(node, spelled_choice(node), next(_places))

    def visit_Assign(self, node: ast.Assign) -> ast.Assign:
        target, value = node.targets[0], node.value
        while isinstance(value, ast.Call) and len(value.args) == 1:
            value = value.args[0]
        if isinstance(target, ast.Name) and isinstance(value, ast.BinOp) and isinstance(value.left, ast.Name):
            if value.left.id == target.id and self._loose.is_sum(target.id):
                self._updates.add(id(value))
        is_element = isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name)
        loose = self._loose.of(node.value) if is_element else ""
        self.generic_visit(node)
        if loose and isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
            node.value = self._place(node.value, loose, next(_places), _method("stored"), [_name(target.value.id)])
        return node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        if isinstance(node.op, ast.Not):
            self._mark_test(node)
        loose = "" if isinstance(node.op, ast.Not) else self._loose.of(node)
        self.generic_visit(node)
        return self._result(node, loose) if loose else node

    def visit_Return(self, node: ast.Return) -> ast.Return:
        self.generic_visit(node)
        if node in self._returns and node.value is not None:
            parts = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
            for number, part in enumerate(parts):
                place = self._returned.setdefault(number, next(_places))
                parts[number] = self._place(part, "what the function returns", place)
            if not isinstance(node.value, ast.Tuple):
                node.value = parts[0]
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        loose = next(filter(None, map(self._loose.of, node.args)), "") if _is_looked_at(node) else ""
        node.args = [self.visit(each) for each in node.args]
        for each in node.keywords:
            each.value = self.visit(each.value)
        if not isinstance(node.func, ast.Name):
            node.func = self.visit(node.func)
        return self._result(node, loose) if loose else node

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        # Arrays have no numbers' types.
        node.slice = self.visit(node.slice)
        if isinstance(node.value, ast.Tuple) and len(node.value.elts) > 1 and isinstance(node.ctx, ast.Load):
            node.value = self.visit(node.value)
            is_known = isinstance(node.slice, (ast.Constant, ast.Slice))
            return node if is_known else self._place(node, "the member of the tuple", next(_places))
        if not isinstance(node.value, ast.Name):
            node.value = self.visit(node.value)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if not isinstance(node.value, ast.Name):
            node.value = self.visit(node.value)
        return node


def _is_looked_at(node: ast.Call) -> bool:
    """Whether the type that a call gives may depend on its arguments' types."""
    name = node.func.id if isinstance(node.func, ast.Name) else ""
    is_own = name.startswith("_kapi") and not name.startswith(_FUNCTIONS)
    return len(node.args) > 1 or not (is_own or name in OF_ONE_KIND)


def _is_truth(node: ast.expr) -> bool:
    return isinstance(node, ast.Compare) or (isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not))
