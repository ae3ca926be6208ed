"""Calls of `MixedTypeChecker`, written into a function where control-flow paths may give values of different types.

They stand at reads of variables that are assigned more than once, at choices and at returned values; and at operations
and stores of what may be Python's number on one path and NumPy's on another. What the source shows of the values saves
time alone: without it, loops of Python's numbers take up to 8 times as long.
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
_CHOICES = {
    ast.IfExp: "what `if` and `else` give",
    ast.And: "what `and` gives",
    ast.Or: "what `or` gives",
    ast.Subscript: "the member of the tuple",
}
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
        truths = _truths(nodes)
        self._choices = {each: name for each in nodes if each not in truths and (name := _choice(each))}
        values: dict[str, list[ast.expr | None]] = defaultdict(list)  # None is a value that is not known
        for argument in ast.walk(tree.args):
            if isinstance(argument, ast.arg):
                values[argument.arg].append(None)
        for target, value in itertools.chain.from_iterable(map(_assignments, nodes)):
            values[target].append(value)
        self._integers = {*values, *constants}  # names that are Python integers on all paths
        while others := {each for each in values if not all(map(self._is_integer, values[each]))} & self._integers:
            self._integers -= others
        self._joined: dict[str, bool] = {}
        """Variables that may have several types where they are read; whether one may be that of Python's numbers."""
        for name in values.keys() - self._integers:
            starts = {type(each.value) for each in values[name] if isinstance(each, ast.Constant)}
            updates = [each for each in values[name] if not isinstance(each, ast.Constant)]
            # An accumulator starts as numbers of one type, and all else that it is assigned is computed from it.
            is_accumulator = len(starts - {type(None)}) == len(starts) == 1 and all(
                _mentions(each, name) for each in updates
            )
            if len(updates if is_accumulator else values[name]) > 1:
                self._joined[name] = not is_accumulator

    def _is_integer(self, node: ast.expr | None) -> bool:
        """Whether a value is an integer of Python, as far as the source shows it."""
        match node:
            case ast.Constant():
                return isinstance(node.value, int)
            case ast.Name():
                return node.id in self._integers
            case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)):  # queries of items have integers
                return name.startswith("get_") or name in ("int", "len")
            case ast.Subscript(value=ast.Attribute(attr="shape")):
                return True
            case ast.BinOp(op=ast.Div() | ast.Pow()):
                return False
        operands = _operands(node)
        return bool(operands) and all(map(self._is_integer, operands))

    def instrument(self, tree: ast.FunctionDef, is_kernel: bool) -> bool:
        """Check the values at each join point of the rewritten function; whether it has any.

        A kernel runs for one list of argument types in a launch, and a function for several.
        """
        returns = [each for each in _own_nodes(tree) if isinstance(each, ast.Return)]
        has_result = not is_kernel and any(each.value for each in returns)
        if has_result and not isinstance(tree.body[-1], (ast.Return, ast.Raise)):  # Python returns None at the end
            returns.append(_at(tree.body[-1], ast.Return()))
            tree.body.append(returns[-1])
        self._returns = returns if has_result and len(returns) > 1 else []
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

    def _check(self, node: ast.expr, name: str, *use: ast.expr, index: str = "", is_weak: bool = True) -> ast.expr:
        """The value of `node`, checked by a call unless its class is the one that came before."""
        self._has_checks = True
        number = ast.Constant(index or next(_indices))
        value = node if isinstance(node, ast.Name) else _name(_VALUE)
        first = node if value is node else ast.NamedExpr(ast.Name(_VALUE, ast.Store()), node)
        kind = ast.Subscript(ast.Attribute(_name(self._checker), "kinds", ast.Load()), number, ast.Load())
        is_known = ast.Compare(ast.Attribute(first, "__class__", ast.Load()), [ast.Is()], [kind])
        call = ast.Call(_name(self._checker), [number, ast.Constant(name), value, *use], [])
        checked: ast.expr = _at(node, ast.IfExp(is_known, value, call))
        if is_weak:
            self._weak_part[checked] = name
        return checked

    def visit(self, node: ast.AST) -> Any:
        """Check a node after its parts."""
        if isinstance(node, _OWN_SCOPE):
            return node
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name) and self._joined.get(node.target.id):
            node = _at(node, ast.Assign([node.target], ast.BinOp(_name(node.target.id), node.op, node.value)))
        array = getattr(getattr(node.targets[0], "value", None), "id", "") if isinstance(node, ast.Assign) else ""
        self.generic_visit(node)
        weak = [self._weak_part[each] for each in ast.iter_child_nodes(node) if each in self._weak_part]
        match node:
            case ast.Name(ctx=ast.Load()) if node.id in self._joined:
                return self._check(node, f"variable `{node.id}`", is_weak=self._joined[node.id])
            case ast.expr() if node in self._choices:
                return self._check(node, self._choices[node])
            case ast.UnaryOp(op=ast.Not()):
                pass
            case ast.Call(func=ast.Name(id=called)) if called in _OF_ONE_TYPE or called.startswith(_CONVERTERS):
                pass
            case ast.YieldFrom() | ast.Call(func=ast.Name(id="_kapi_checked_ring" | "_kapi_inner_ring")) if weak:
                self._weak_part[node] = weak[0]  # of a call or an operation that is checked itself
            case ast.BinOp() | ast.UnaryOp() | ast.Call() if weak:
                return self._check(node, weak[0], ast.Constant("operation"))
            case ast.Call(func=ast.Name(id=called)) if called.startswith(DEVICE) or not _is_known(called):
                self._weak_part[node] = _RESULT
            case ast.Assign() if array and node.value in self._weak_part:
                node.value = self._check(node.value, self._weak_part[node.value], _name(array))
            case ast.Return() if node in self._returns:
                value = node.value or _at(node, ast.Constant(None))
                parts = value.elts if isinstance(value, ast.Tuple) else [value]
                parts = [self._check(part, _RESULT, index=f"{self._first} {n}") for n, part in enumerate(parts)]
                node.value = _at(value, ast.Tuple(parts, ast.Load())) if isinstance(value, ast.Tuple) else parts[0]
        return node


def _own_nodes(tree: ast.AST) -> list[ast.AST]:
    """The nodes of a function, without those of functions in it."""
    found = list(ast.iter_child_nodes(tree))
    for node in found:
        found += () if isinstance(node, _OWN_SCOPE) else ast.iter_child_nodes(node)
    return found


def _truths(nodes: Iterable[ast.AST]) -> set[ast.AST]:
    """The `and` and `or` of which the truth alone counts, among nodes of which the outer ones come first."""
    found: set[ast.AST] = set()
    for node in nodes:
        is_tested = node in found or _is_not(node)
        tested = ast.iter_child_nodes(node) if is_tested else [getattr(node, "test", None)]
        found.update(each for each in tested if isinstance(each, ast.BoolOp))
    return found


def _choice(node: ast.AST) -> str:
    """The name in messages of what chooses one of several values, which may be of different types; else empty."""
    of_one = ast.Compare if isinstance(node, ast.BoolOp) else ast.Constant
    is_joined = any(_is_none(each) or not (isinstance(each, of_one) or _is_not(each)) for each in _operands(node))
    return _CHOICES.get(type(getattr(node, "op", node)), "") if is_joined else ""


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


def _mentions(node: ast.expr | None, name: str) -> bool:
    return node is not None and any(isinstance(each, ast.Name) and each.id == name for each in ast.walk(node))


def _is_known(called: str) -> bool:
    """Whether a function is Python's or the simulator's."""
    return called.startswith("_kapi") or hasattr(builtins, called)


def _is_none(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _is_not(node: ast.AST | None) -> bool:
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)


def _name(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def _at(where: ast.AST, node: ast.AST) -> Any:
    """A new node with the source location of another one."""
    return ast.fix_missing_locations(ast.copy_location(node, where))
