"""Calls of `MixedTypeChecker`, written into a function where control-flow paths may give values of different types.

They stand at reads of variables that are assigned more than once, at choices and at returned values; and at operations
and stores of variables that may be Python's number on one path and NumPy's on another, as far as the source shows.
"""

from __future__ import annotations

import ast
import builtins
import itertools
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from kapi_sim.checks.calls import DEVICE
from kapi_sim.instrument.mixed_types import ARGUMENT_TYPES, CHECK_JOIN

__all__ = ["JoinPoints"]

_OWN_SCOPE = (ast.FunctionDef, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_OF_ONE_TYPE = ("int", "float", "bool", "complex", "len", "range")
"""Python's functions whose results are of one type, whatever their arguments are."""

_FUNCTIONS = (DEVICE, "_kapi_math_")
"""The prefixes of names that stand for the author's functions and for those of `math`."""

_TYPES = f"{ARGUMENT_TYPES}_of_call"
_OF_INTEGERS = ("int", "bool", "len")
_STRONG, _INT, _FLOAT = frozenset(("strong",)), frozenset(("int",)), frozenset(("float",))
_ANY = _STRONG | _INT | _FLOAT
_indices = itertools.count()  # of all functions: one kernel may run several


class JoinPoints:
    """The join points of a function.

    Parameters
    ----------
    tree : ast.FunctionDef
        The function, as its author wrote it.
    """

    def __init__(self, tree: ast.FunctionDef) -> None:
        nodes = _own_nodes(tree)
        self.choices = {id(each) for each in nodes if isinstance(each, (ast.IfExp, ast.BoolOp))}
        self._values: dict[str, list[ast.expr | None]] = defaultdict(list)  # None is a value that is not known
        for argument in ast.walk(tree.args):
            if isinstance(argument, ast.arg):
                self._values[argument.arg].append(None)
        for node in nodes:
            for target, value in _assignments(node):
                self._values[target].append(value)
        self._kinds: dict[str, frozenset[str]] = dict.fromkeys(self._values, frozenset())
        before = None
        while before != self._kinds:
            before = dict(self._kinds)
            self._kinds |= {name: self._all_kinds(values) for name, values in self._values.items()}
        self._weak = {name for name, values in self._values.items() if len(values) > 1 and len(self._kinds[name]) > 1}
        self._weak -= {name for name in self._weak if self.is_accumulator(name)}

    def instrument(self, tree: ast.FunctionDef, is_kernel: bool) -> bool:
        """Check the values at each join point.

        Parameters
        ----------
        tree : ast.FunctionDef
            The rewritten function, which is changed.
        is_kernel : bool
            Whether it runs for one list of argument types in a launch.

        Returns
        -------
        bool
            Whether it has any.
        """
        returns = [] if is_kernel else _returns_of(tree)
        writer = _CheckWriter(self, returns if len(returns) > 1 else [], has_types=not is_kernel)
        tree.body = [writer.visit(statement) for statement in tree.body]
        if writer.has_checks and not is_kernel:
            arguments = [*tree.args.posonlyargs, *tree.args.args, *tree.args.kwonlyargs]
            call = ast.Call(_name(ARGUMENT_TYPES), [_name(each.arg) for each in arguments], [])
            types = ast.Assign([ast.Name(_TYPES, ast.Store())], call)
            for node in ast.walk(types):
                ast.copy_location(node, tree.body[0])
            tree.body.insert(0, types)
        return writer.has_checks

    def is_joined(self, name: str) -> bool:
        """Whether a variable may have several types where it is read."""
        values = self._values.get(name, ())
        several = len([each for each in values if not isinstance(each, ast.Constant)]) > 1
        return several or name in self._weak or any(map(_is_none, values))

    def is_accumulator(self, name: str) -> bool:
        """Whether a variable starts as literals of one type, and all else that it is assigned is computed from it."""
        values = self._values[name]
        updates = [each for each in values if not isinstance(each, ast.Constant)]
        literals = {type(each.value) for each in values if isinstance(each, ast.Constant)}
        return len(literals) == 1 and all(each is not None and _mentions(each, name) for each in updates)

    def describe(self, node: ast.expr) -> str:
        """The variable or choice in an expression that may be weak on one path alone; empty if none is."""
        if isinstance(node, ast.Name):
            return f"variable `{node.id}`" if node.id in self._weak else ""
        if isinstance(node, (ast.IfExp, ast.BoolOp)):
            return _describe_choice(node) if len(self._kinds_of(node)) > 1 else self._first(_arms(node))
        if isinstance(node, ast.Call):
            name = node.func.id if isinstance(node.func, ast.Name) else ""
            if name in _OF_ONE_TYPE:
                return ""
            return self._first(node.args) or ("what the function returns" if _is_of_author(name) else "")
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Tuple):
            return "the member of the tuple" if len(self._all_kinds(node.value.elts)) > 1 else ""
        return self.describe(node.value) if isinstance(node, ast.YieldFrom) else self._first(_operands(node))

    def _all_kinds(self, nodes: Iterable[ast.expr | None]) -> frozenset[str]:
        """Whether the values of expressions may be strong, Python integers or Python floats."""
        return frozenset[str]().union(*(_ANY if each is None else self._kinds_of(each) for each in nodes))

    def _kinds_of(self, node: ast.expr) -> frozenset[str]:
        if isinstance(node, ast.Constant):
            return _INT if isinstance(node.value, int) else _FLOAT
        if isinstance(node, ast.Name):
            return self._kinds.get(node.id, _ANY)
        if isinstance(node, ast.Compare):
            return _STRONG
        if isinstance(node, ast.Call):  # queries of items have integers
            name = getattr(node.func, "attr", "") or getattr(node.func, "id", "")
            return _INT if name.startswith("get_") or name in _OF_INTEGERS else _FLOAT if name == "float" else _ANY
        if isinstance(node, ast.Subscript):
            is_shape = isinstance(node.value, ast.Attribute) and node.value.attr == "shape"
            return _INT if is_shape else _STRONG if isinstance(node.value, ast.Name) else _ANY
        if isinstance(node, (ast.IfExp, ast.BoolOp)):
            return self._all_kinds(_arms(node))
        operands = list(map(self._kinds_of, _operands(node)))
        if _STRONG in operands:
            return _STRONG
        if not all(operands):  # of a variable that the fixpoint iteration has not reached yet
            return frozenset()
        kinds = frozenset[str]().union(*operands) if operands else _ANY
        return kinds | _FLOAT if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div) else kinds

    def _first(self, nodes: Iterable[ast.expr]) -> str:
        return next(filter(None, map(self.describe, nodes)), "")


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


def _assignments(node: ast.AST) -> Iterator[tuple[str, ast.expr | None]]:
    """Names that a node assigns, each with its value, or None if this is not known."""
    if isinstance(node, ast.Assign):
        for target in node.targets:
            yield from _unpacked(target, node.value)
    elif isinstance(node, (ast.AnnAssign, ast.NamedExpr)) and node.value is not None:
        yield from _unpacked(node.target, node.value)
    elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
        yield node.target.id, ast.BinOp(_name(node.target.id), node.op, node.value)
    elif isinstance(node, (ast.For, ast.comprehension)):
        members: Sequence[ast.expr | None] = [None, None]
        if isinstance(node.iter, (ast.Tuple, ast.List)):
            members = node.iter.elts
        elif isinstance(node.iter, ast.Call) and getattr(node.iter.func, "id", "") == "range":
            members = [ast.Constant(1)]
        for each in members:
            yield from _unpacked(node.target, each)


def _unpacked(target: ast.expr, value: ast.expr | None) -> Iterator[tuple[str, ast.expr | None]]:
    if isinstance(target, ast.Name):
        yield target.id, value
    elif isinstance(target, (ast.Tuple, ast.List)):
        values: Sequence[ast.expr | None] = [None] * len(target.elts)
        if isinstance(value, ast.Tuple) and len(value.elts) == len(target.elts):
            values = value.elts
        for each, its_value in zip(target.elts, values, strict=True):
            yield from _unpacked(each, its_value)


def _operands(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, ast.BinOp):
        return [node.left, node.right]
    return [node.operand] if isinstance(node, ast.UnaryOp) and not isinstance(node.op, ast.Not) else []


def _arms(node: ast.IfExp | ast.BoolOp) -> list[ast.expr]:
    return [node.body, node.orelse] if isinstance(node, ast.IfExp) else node.values


def _mentions(node: ast.expr, name: str) -> bool:
    return any(isinstance(each, ast.Name) and each.id == name for each in ast.walk(node))


def _is_none(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _is_of_author(name: str) -> bool:
    """Whether the name is that of a device function, also in a rewritten function, or of one written in it."""
    return name.startswith(DEVICE) or not (name.startswith("_kapi") or not name or hasattr(builtins, name))


def _describe_choice(node: ast.IfExp | ast.BoolOp) -> str:
    if isinstance(node, ast.IfExp):
        return "what `if` and `else` give"
    return f"what `{'and' if isinstance(node.op, ast.And) else 'or'}` gives"


def _returns_of(tree: ast.FunctionDef) -> list[ast.Return]:
    """The `return` statements of a function, if one has a value; Python returns None at the others, and at the end."""
    returns = [each for each in _own_nodes(tree) if isinstance(each, ast.Return)]
    if not any(each.value is not None for each in returns):
        return []
    if not isinstance(tree.body[-1], (ast.Return, ast.Raise)):
        returns.append(ast.copy_location(ast.Return(), tree.body[-1]))
        tree.body.append(returns[-1])
    for each in returns:
        each.value = each.value or ast.copy_location(ast.Constant(None), each)
    return returns


def _name(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


class _CheckWriter(ast.NodeTransformer):
    def __init__(self, points: JoinPoints, returns: list[ast.Return], has_types: bool) -> None:
        self._points = points
        self._returns = returns
        self._has_types = has_types
        self._returned: defaultdict[int, int] = defaultdict(_indices.__next__)
        self._conditions: set[int] = set()  # choices of which the truth alone counts
        self.has_checks = False

    def visit(self, node: ast.AST) -> Any:
        if isinstance(node, (ast.If, ast.While, ast.IfExp, ast.Assert)):
            self._mark_condition(node.test)
        return node if isinstance(node, _OWN_SCOPE) else super().visit(node)

    def _mark_condition(self, node: ast.expr) -> None:
        if isinstance(node, ast.BoolOp):
            self._conditions.add(id(node))
            for each in node.values:
                self._mark_condition(each)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            self._mark_condition(node.operand)

    def _check(
        self, node: ast.expr, name: str, method: str = "", more: Sequence[ast.expr] = (), index: int | None = None
    ) -> ast.expr:
        """A call that checks the value of `node`, and returns it."""
        self.has_checks = True
        checker: ast.expr = _name(CHECK_JOIN)
        checker = ast.Attribute(checker, method, ast.Load()) if method else checker
        number = next(_indices) if index is None else index
        types = [_name(_TYPES)] if self._has_types else []
        call = ast.Call(checker, [ast.Constant(number), ast.Constant(name), node, *more, *types], [])
        for each in (call, *ast.walk(checker), *(argument for argument in call.args if argument is not node)):
            ast.copy_location(each, node)
        return call

    def _with_checked_result(self, node: ast.expr) -> ast.expr:
        name = self._points.describe(node)
        self.generic_visit(node)
        return self._check(node, name, "result_of") if name else node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt:
        target = node.target
        is_joined = isinstance(target, ast.Name) and self._points.is_joined(target.id)
        if isinstance(target, ast.Name) and is_joined and not self._points.is_accumulator(target.id):
            left = ast.copy_location(_name(target.id), target)
            value = ast.copy_location(ast.BinOp(left, node.op, node.value), node)
            return self.visit_Assign(ast.copy_location(ast.Assign([target], value), node))
        self.generic_visit(node)
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        return self._with_checked_result(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        if not isinstance(node.op, ast.Not):
            return self._with_checked_result(node)
        self._mark_condition(node)
        self.generic_visit(node)
        return node

    def visit_Name(self, node: ast.Name) -> ast.expr:
        is_read = isinstance(node.ctx, ast.Load) and self._points.is_joined(node.id)
        return self._check(node, f"variable `{node.id}`") if is_read else node

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        self.generic_visit(node)
        are_literals = isinstance(node.body, ast.Constant) and isinstance(node.orelse, ast.Constant)
        if id(node) not in self._points.choices or (are_literals and _is_none(node.body) == _is_none(node.orelse)):
            return node
        return self._check(node, _describe_choice(node))

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        is_condition = id(node) in self._conditions or all(map(_is_truth, node.values))
        self.generic_visit(node)
        is_checked = id(node) in self._points.choices and not is_condition
        return self._check(node, _describe_choice(node)) if is_checked else node

    def visit_Assign(self, node: ast.Assign) -> ast.Assign:
        target = node.targets[0]
        array = target.value if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name) else None
        name = self._points.describe(node.value) if array is not None else ""
        self.generic_visit(node)
        if array is not None and name:
            node.value = self._check(node.value, name, "stored", [ast.copy_location(_name(array.id), array)])
        return node

    def visit_Return(self, node: ast.Return) -> ast.Return:
        self.generic_visit(node)
        if node in self._returns and node.value is not None:
            parts = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
            checked = [
                self._check(part, "what the function returns", index=self._returned[number])
                for number, part in enumerate(parts)
            ]
            node.value = ast.copy_location(ast.Tuple(checked, ast.Load()), node.value) if len(parts) > 1 else checked[0]
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        name = self._points.describe(node) if _may_depend_on_types(node) else ""
        name = name if any(map(self._points.describe, node.args)) else ""
        node.args = [self.visit(each) for each in node.args]
        for keyword in node.keywords:
            keyword.value = self.visit(keyword.value)
        if not isinstance(node.func, ast.Name):
            node.func = self.visit(node.func)
        return self._check(node, name, "result_of") if name else node

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        node.slice = self.visit(node.slice)
        is_choice = isinstance(node.value, ast.Tuple) and len(node.value.elts) > 1 and isinstance(node.ctx, ast.Load)
        if not isinstance(node.value, ast.Name):  # arrays have no number's type
            node.value = self.visit(node.value)
        is_known = isinstance(node.slice, (ast.Constant, ast.Slice))
        return self._check(node, "the member of the tuple") if is_choice and not is_known else node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if not isinstance(node.value, ast.Name):
            node.value = self.visit(node.value)
        return node


def _may_depend_on_types(node: ast.Call) -> bool:
    """Whether the type that a call returns may depend on its arguments' types."""
    name = node.func.id if isinstance(node.func, ast.Name) else ""
    is_own = name.startswith("_kapi") and not name.startswith(_FUNCTIONS)
    return len(node.args) > 1 or not (is_own or name in _OF_ONE_TYPE)


def _is_truth(node: ast.expr) -> bool:
    return isinstance(node, ast.Compare) or (isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not))
