"""Calls of `MixedTypeChecker`, written into a function where control-flow paths may give values of different types.

They stand at reads of variables that are assigned more than once, at choices and at returned values; and at operations
and stores of variables that may be Python's number on one path and NumPy's on another, as far as the source shows.
What the source shows saves time alone: without it, loops of Python's numbers take up to 8 times as long.
"""

from __future__ import annotations

import ast
import builtins
import itertools
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from kapi_sim.checks.call_paths import DEVICE
from kapi_sim.instrument.mixed_types import CHECK_JOIN

__all__ = ["JoinPoints"]

_OWN_SCOPE = (ast.FunctionDef, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_CHOICES = (ast.IfExp, ast.BoolOp, ast.Subscript)
_OF_ONE_TYPE = ("int", "float", "bool", "complex", "len", "range")
"""Python's functions whose results are of one type, whatever their arguments are."""

_CONVERTERS = "_kapi_to_"
"""The prefix of names that stand for types of numbers."""

_VALUE = "_kapi_joined"
"""The variable of a value that is checked."""

_RESULT = "what the function returns"
_indices = itertools.count()  # of all functions: one kernel may run several


class JoinPoints(ast.NodeTransformer):
    """The join points of a function.

    - `tree`: the function, as its author wrote it.
    - `constants`: names from outside it that are Python integers.
    """

    def __init__(self, tree: ast.FunctionDef, constants: Iterable[str]) -> None:
        nodes = _own_nodes(tree)
        self._choices = {id(each) for each in nodes if _may_join(each)} - set(_conditions(nodes))
        values: dict[str, list[ast.expr | None]] = defaultdict(list)  # None is a value that is not known
        for argument in ast.walk(tree.args):
            if isinstance(argument, ast.arg):
                values[argument.arg].append(None)
        for target, value in itertools.chain.from_iterable(map(_assignments, nodes)):
            values[target].append(value)
        values.update((name, [ast.Constant(1)]) for name in constants)
        self._integers = set(values)  # names that are Python integers on all paths
        while others := {name for name in self._integers if {*map(self._kind, values[name])} != {"integer"}}:
            self._integers -= others
        self._joined: set[str] = set()
        """Variables that may have several types where they are read."""
        self._weak: set[str] = set()
        """Those of them that may be Python's number on one path alone, as far as the source shows."""
        for name in set(values) - self._integers:
            each = values[name]
            literals = {type(value.value) for value in each if isinstance(value, ast.Constant)}
            updates = [value for value in each if not isinstance(value, ast.Constant)]
            # An accumulator starts as literals of one type, and all else that it is assigned is computed from it.
            is_accumulator = len(literals) == 1 and all(value and _mentions(value, name) for value in updates)
            if len(each) > 1 and not is_accumulator and {*map(self._kind, each)} != {"strong"}:
                self._weak.add(name)
            if name in self._weak or len(updates) > 1 or any(map(_is_none, each)):
                self._joined.add(name)

    def _kind(self, node: ast.expr | None) -> str:
        """The kind of a value, as far as the source shows it: an "integer" of Python, or a "strong" number of NumPy."""
        match node:
            case ast.Constant():
                return "integer" if isinstance(node.value, int) else ""
            case ast.Name():
                return "integer" if node.id in self._integers else ""
            case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)):  # queries of items have integers
                return "integer" if name.startswith("get_") or name in ("int", "len") else ""
            case ast.Subscript(value=ast.Attribute(attr="shape")):
                return "integer"
            case ast.Compare() | ast.Subscript(value=ast.Name()):
                return "strong"
        kinds = {self._kind(each) for each in _operands(node)}
        if len(kinds) > 1:
            return "strong" if "strong" in kinds and not isinstance(node, _CHOICES) else ""
        is_float = isinstance(getattr(node, "op", None), (ast.Div, ast.Pow)) and kinds == {"integer"}
        return "".join(kinds) if not is_float else ""

    def instrument(self, tree: ast.FunctionDef, is_kernel: bool) -> bool:
        """Check the values at each join point of the rewritten function; whether it has any.

        A kernel runs for one list of argument types in a launch, and a function for several.
        """
        returns = [] if is_kernel else _returns_of(tree)
        self._returns = returns if len(returns) > 1 else []
        self._checker = CHECK_JOIN if is_kernel else f"{CHECK_JOIN}_in_function"
        self._first, self._has_checks = next(_indices), False
        self._weak_part: dict[ast.AST, str] = {}  # what may be weak on one path alone, of an expression that has some
        tree.body = [self.visit(statement) for statement in tree.body]
        if self._has_checks and not is_kernel:
            arguments = [*tree.args.posonlyargs, *tree.args.args, *tree.args.kwonlyargs]
            checker = ast.Attribute(_name(CHECK_JOIN), "for_types_of", ast.Load())
            call = ast.Call(checker, [_name(each.arg) for each in arguments], [])
            tree.body.insert(0, _at(tree.body[0], ast.Assign([ast.Name(self._checker, ast.Store())], call)))
        return self._has_checks

    def _check(self, node: ast.expr, name: str, *use: ast.expr, index: str = "", is_weak: bool = False) -> ast.expr:
        """The value of `node`, checked by a call unless its class is the one that came before."""
        self._has_checks = True
        number = ast.Constant(index or next(_indices))
        value = node if isinstance(node, ast.Name) else _name(_VALUE)
        first = node if value is node else ast.NamedExpr(ast.Name(_VALUE, ast.Store()), node)
        kind = ast.Subscript(ast.Attribute(_name(self._checker), "kinds", ast.Load()), number, ast.Load())
        is_known = ast.Compare(ast.Attribute(first, "__class__", ast.Load()), [ast.Is()], [kind])
        call = ast.Call(_name(self._checker), [number, ast.Constant(name), value, *use], [])
        checked: ast.expr = _at(node, ast.IfExp(is_known, value, call))
        self._weak_part[checked] = name if is_weak else ""
        return checked

    def visit(self, node: ast.AST) -> Any:
        return node if isinstance(node, _OWN_SCOPE) else super().visit(node)

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if not isinstance(node.ctx, ast.Load) or node.id not in self._joined:
            return node
        return self._check(node, f"variable `{node.id}`", is_weak=node.id in self._weak)

    def _visit_choice(self, node: ast.expr) -> ast.expr:
        is_weak = self._kind(node) != "strong"
        self.generic_visit(node)
        return self._check(node, _describe_choice(node), is_weak=is_weak) if id(node) in self._choices else node

    visit_IfExp = visit_BoolOp = visit_Subscript = _visit_choice

    def _visit_operation(self, node: ast.expr) -> ast.expr:
        self.generic_visit(node)
        called = getattr(node.func, "id", "_kapi") if isinstance(node, ast.Call) else ""
        if called in _OF_ONE_TYPE or called.startswith(_CONVERTERS) or _is_not(node):
            return node
        name = next(filter(None, (self._weak_part.get(each) for each in ast.iter_child_nodes(node))), None)
        if name:
            return self._check(node, name, ast.Constant("operation"), is_weak=True)
        is_of_author = not (called.startswith("_kapi") or hasattr(builtins, called)) or called.startswith(DEVICE)
        if called and is_of_author:
            self._weak_part[node] = _RESULT
        return node

    visit_BinOp = visit_UnaryOp = visit_Call = _visit_operation

    def visit_YieldFrom(self, node: ast.YieldFrom) -> ast.YieldFrom:
        self.generic_visit(node)
        self._weak_part[node] = self._weak_part.get(node.value, "")
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.Assign:
        array = getattr(getattr(node.targets[0], "value", None), "id", "")
        self.generic_visit(node)
        if array and (name := self._weak_part.get(node.value)):
            node.value = self._check(node.value, name, _name(array))
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt:
        target = node.target
        if isinstance(target, ast.Name) and target.id in self._weak:
            value = ast.BinOp(_at(target, _name(target.id)), node.op, node.value)
            return self.visit_Assign(_at(node, ast.Assign([target], value)))
        self.generic_visit(node)
        return node

    def visit_Return(self, node: ast.Return) -> ast.Return:
        self.generic_visit(node)
        if node in self._returns and node.value is not None:
            parts = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
            checked = [self._check(part, _RESULT, index=f"{self._first} {n}") for n, part in enumerate(parts)]
            node.value = _at(node.value, ast.Tuple(checked, ast.Load())) if len(parts) > 1 else checked[0]
        return node


def _own_nodes(tree: ast.AST) -> list[ast.AST]:
    """The nodes of a function, without those of functions in it."""
    found = list(ast.iter_child_nodes(tree))
    for node in found:
        found += () if isinstance(node, _OWN_SCOPE) else ast.iter_child_nodes(node)
    return found


def _conditions(nodes: Iterable[ast.AST]) -> Iterator[int]:
    """The choices of which the truth alone counts."""
    pending = [each.test for each in nodes if isinstance(each, (ast.If, ast.While, ast.IfExp, ast.Assert))]
    pending += [each.operand for each in nodes if isinstance(each, ast.UnaryOp) and isinstance(each.op, ast.Not)]
    for node in pending:
        if isinstance(node, ast.BoolOp):
            yield id(node)
            pending += node.values


def _may_join(node: ast.AST) -> bool:
    """Whether a node chooses one of several values, which may be of different types."""
    operands = _operands(node) if isinstance(node, _CHOICES) else []
    of_one = ast.Compare if isinstance(node, ast.BoolOp) else ast.Constant
    return any(_is_none(each) or not (isinstance(each, of_one) or _is_not(each)) for each in operands)


def _assignments(node: ast.AST) -> Iterator[tuple[str, ast.expr | None]]:
    """Names that a node assigns, each with its value, or None if this is not known."""
    match node:
        case ast.Assign():
            for target in node.targets:
                yield from _unpacked(target, node.value)
        case ast.AnnAssign() | ast.NamedExpr() if node.value is not None:
            yield from _unpacked(node.target, node.value)
        case ast.AugAssign(target=ast.Name(id=name)):
            yield name, ast.BinOp(_name(name), node.op, node.value)
        case ast.For(iter=ast.Tuple(elts=members) | ast.List(elts=members)):
            for each in members:
                yield from _unpacked(node.target, each)
        case ast.For(iter=ast.Call(func=ast.Name(id="range"))):
            yield from _unpacked(node.target, ast.Constant(1))
        case ast.For():
            yield from [*_unpacked(node.target, None)] * 2


def _unpacked(target: ast.expr, value: ast.expr | None) -> Iterator[tuple[str, ast.expr | None]]:
    if isinstance(target, ast.Name):
        yield target.id, value
    elif isinstance(target, (ast.Tuple, ast.List)):
        values: Sequence[ast.expr | None] = value.elts if isinstance(value, ast.Tuple) else []
        is_known = len(values) == len(target.elts)
        for number, each in enumerate(target.elts):
            yield from _unpacked(each, values[number] if is_known else None)


def _operands(node: ast.AST | None) -> list[ast.expr]:
    """The expressions that decide the type of a choice or an operation."""
    match node:
        case ast.BinOp():
            return [node.left, node.right]
        case ast.UnaryOp() if not _is_not(node):
            return [node.operand]
        case ast.IfExp():
            return [node.body, node.orelse]
        case ast.BoolOp():
            return node.values
        case ast.Subscript(value=ast.Tuple(elts=members), ctx=ast.Load()):
            return [] if isinstance(node.slice, (ast.Constant, ast.Slice)) else members
    return []


def _mentions(node: ast.expr, name: str) -> bool:
    return any(isinstance(each, ast.Name) and each.id == name for each in ast.walk(node))


def _is_none(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _is_not(node: ast.AST | None) -> bool:
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)


def _describe_choice(node: ast.expr) -> str:
    if isinstance(node, ast.BoolOp):
        return f"what `{'and' if isinstance(node.op, ast.And) else 'or'}` gives"
    return "what `if` and `else` give" if isinstance(node, ast.IfExp) else "the member of the tuple"


def _returns_of(tree: ast.FunctionDef) -> list[ast.Return]:
    """The `return` statements of a function, if one has a value; Python returns None at the others, and at the end."""
    returns = [each for each in _own_nodes(tree) if isinstance(each, ast.Return)]
    if not any(each.value is not None for each in returns):
        return []
    if not isinstance(tree.body[-1], (ast.Return, ast.Raise)):
        returns.append(_at(tree.body[-1], ast.Return()))
        tree.body.append(returns[-1])
    for each in returns:
        each.value = each.value or _at(each, ast.Constant(None))
    return returns


def _name(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def _at(where: ast.AST, node: ast.AST) -> Any:
    """A new node with the source location of another one."""
    return ast.fix_missing_locations(ast.copy_location(node, where))
