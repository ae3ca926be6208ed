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


class JoinPoints(ast.NodeTransformer):
    """The join points of a function.

    Parameters
    ----------
    tree : ast.FunctionDef
        The function, as its author wrote it.
    """

    def __init__(self, tree: ast.FunctionDef) -> None:
        nodes = _own_nodes(tree)
        conditions = set(_conditions(nodes))
        self._choices = {id(each) for each in nodes if _may_join(each) and id(each) not in conditions}
        self._values: dict[str, list[ast.expr | None]] = defaultdict(list)  # None is a value that is not known
        for argument in ast.walk(tree.args):
            if isinstance(argument, ast.arg):
                self._values[argument.arg].append(None)
        for target, value in itertools.chain.from_iterable(map(_assignments, nodes)):
            self._values[target].append(value)
        self._kinds: dict[str, frozenset[str]] = dict.fromkeys(self._values, frozenset())
        before = None
        while before != self._kinds:
            before = dict(self._kinds)
            self._kinds |= {name: self._all_kinds(values) for name, values in self._values.items()}
        several = [name for name, values in self._values.items() if len(values) > 1 and len(self._kinds[name]) > 1]
        self._weak = {name for name in several if not self._is_accumulator(name)}

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
        self._returns = returns if len(returns) > 1 else []
        self._returned: defaultdict[int, int] = defaultdict(_indices.__next__)
        self._has_types = not is_kernel
        owners = (each for each in ast.walk(tree) if isinstance(each, (ast.Call, ast.Subscript, ast.Attribute)))
        self._owners = {id(each.func if isinstance(each, ast.Call) else each.value) for each in owners}
        self._has_checks = False
        tree.body = [self.visit(statement) for statement in tree.body]
        if self._has_checks and not is_kernel:
            arguments = [*tree.args.posonlyargs, *tree.args.args, *tree.args.kwonlyargs]
            call = ast.Call(_name(ARGUMENT_TYPES), [_name(each.arg) for each in arguments], [])
            tree.body.insert(0, _at(tree.body[0], ast.Assign([ast.Name(_TYPES, ast.Store())], call)))
        return self._has_checks

    def _is_joined(self, name: str) -> bool:
        """Whether a variable may have several types where it is read."""
        values = self._values.get(name, ())
        several = len([each for each in values if not isinstance(each, ast.Constant)]) > 1
        return several or name in self._weak or any(map(_is_none, values))

    def _is_accumulator(self, name: str) -> bool:
        """Whether a variable starts as literals of one type, and all else that it is assigned is computed from it."""
        literals = {type(each.value) for each in self._values[name] if isinstance(each, ast.Constant)}
        updates = [each for each in self._values[name] if not isinstance(each, ast.Constant)]
        return len(literals) == 1 and all(each is not None and _mentions(each, name) for each in updates)

    def _describe(self, node: ast.expr) -> str:
        """The variable or choice in an expression that may be weak on one path alone; empty if none is."""
        match node:
            case ast.Name():
                return f"variable `{node.id}`" if node.id in self._weak else ""
            case ast.IfExp() | ast.BoolOp():
                return _describe_choice(node) if len(self._kinds_of(node)) > 1 else self._first(_operands(node))
            case ast.Call():
                name = getattr(node.func, "id", "")
                is_of_author = name.startswith(DEVICE) or not (
                    name.startswith("_kapi") or not name or hasattr(builtins, name)
                )
                found = self._first(node.args) or ("what the function returns" if is_of_author else "")
                return "" if name in _OF_ONE_TYPE else found
            case ast.Subscript(value=ast.Tuple(elts=members)):
                return _describe_choice(node) if len(self._all_kinds(members)) > 1 else ""
            case ast.YieldFrom():
                return self._describe(node.value)
        return self._first(_operands(node))

    def _first(self, nodes: Iterable[ast.expr]) -> str:
        return next(filter(None, map(self._describe, nodes)), "")

    def _all_kinds(self, nodes: Iterable[ast.expr | None]) -> frozenset[str]:
        """Whether the values of expressions may be strong, Python integers or Python floats."""
        return frozenset[str]().union(*(_ANY if each is None else self._kinds_of(each) for each in nodes))

    def _kinds_of(self, node: ast.expr) -> frozenset[str]:
        match node:
            case ast.Constant():
                return _INT if isinstance(node.value, int) else _FLOAT
            case ast.Name():
                return self._kinds.get(node.id, _ANY)
            case ast.Compare():
                return _STRONG
            case ast.Call():  # queries of items have integers
                name = getattr(node.func, "attr", "") or getattr(node.func, "id", "")
                return _INT if name.startswith("get_") or name in _OF_INTEGERS else _FLOAT if name == "float" else _ANY
            case ast.Subscript():
                is_shape = isinstance(node.value, ast.Attribute) and node.value.attr == "shape"
                return _INT if is_shape else _STRONG if isinstance(node.value, ast.Name) else _ANY
            case ast.IfExp() | ast.BoolOp():
                return self._all_kinds(_operands(node))
        operands = list(map(self._kinds_of, _operands(node)))
        if _STRONG in operands:
            return _STRONG
        if not all(operands):  # of a variable that the fixpoint iteration has not reached yet
            return frozenset()
        kinds = frozenset[str]().union(*operands) if operands else _ANY
        return kinds | _FLOAT if isinstance(getattr(node, "op", None), ast.Div) else kinds

    def _check(
        self, node: ast.expr, name: str, method: str = "", *more: ast.expr, index: int | None = None
    ) -> ast.expr:
        """A call that checks the value of `node`, and returns it."""
        self._has_checks = True
        checker: ast.expr = _name(CHECK_JOIN)
        checker = ast.Attribute(checker, method, ast.Load()) if method else checker
        number = next(_indices) if index is None else index
        types = [_name(_TYPES)] if self._has_types else []
        call = ast.Call(checker, [ast.Constant(number), ast.Constant(name), node, *more, *types], [])
        _at(node, call)
        return call

    def visit(self, node: ast.AST) -> Any:
        return node if isinstance(node, _OWN_SCOPE) else super().visit(node)

    def visit_Name(self, node: ast.Name) -> ast.expr:
        is_read = isinstance(node.ctx, ast.Load) and id(node) not in self._owners
        return self._check(node, f"variable `{node.id}`") if is_read and self._is_joined(node.id) else node

    def _visit_choice(self, node: ast.expr) -> ast.expr:
        self.generic_visit(node)
        return self._check(node, _describe_choice(node)) if id(node) in self._choices else node

    visit_IfExp = visit_BoolOp = visit_Subscript = _visit_choice

    def _visit_operation(self, node: ast.expr) -> ast.expr:
        name = self._describe(node)
        if isinstance(node, ast.Call) and not (_may_depend_on_types(node) and any(map(self._describe, node.args))):
            name = ""
        self.generic_visit(node)
        return self._check(node, name, "result_of") if name else node

    visit_BinOp = visit_UnaryOp = visit_Call = _visit_operation

    def visit_Assign(self, node: ast.Assign) -> ast.Assign:
        target = node.targets[0]
        array = target.value if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name) else None
        name = self._describe(node.value) if array is not None else ""
        self.generic_visit(node)
        if array is not None and name:
            node.value = self._check(node.value, name, "stored", _name(array.id))
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt:
        target = node.target
        if isinstance(target, ast.Name) and self._is_joined(target.id) and not self._is_accumulator(target.id):
            value = ast.BinOp(_at(target, _name(target.id)), node.op, node.value)
            return self.visit_Assign(_at(node, ast.Assign([target], value)))
        self.generic_visit(node)
        return node

    def visit_Return(self, node: ast.Return) -> ast.Return:
        self.generic_visit(node)
        if node in self._returns and node.value is not None:
            parts = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
            checked = [
                self._check(part, "what the function returns", index=self._returned[number])
                for number, part in enumerate(parts)
            ]
            node.value = _at(node.value, ast.Tuple(checked, ast.Load())) if len(parts) > 1 else checked[0]
        return node


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


def _conditions(nodes: Iterable[ast.AST]) -> Iterator[int]:
    """The choices of which the truth alone counts."""
    pending = [each.test for each in nodes if isinstance(each, (ast.If, ast.While, ast.IfExp, ast.Assert))]
    pending += [each.operand for each in nodes if isinstance(each, ast.UnaryOp) and isinstance(each.op, ast.Not)]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.BoolOp):
            yield id(node)
            pending += node.values


def _may_join(node: ast.AST) -> bool:
    """Whether a node chooses one of several values, which may be of different types."""
    match node:
        case ast.IfExp(body=ast.Constant(), orelse=ast.Constant()):
            return _is_none(node.body) != _is_none(node.orelse)
        case ast.BoolOp():
            return not all(isinstance(each, ast.Compare) or _is_not(each) for each in node.values)
        case ast.Subscript(value=ast.Tuple(elts=members)):
            is_known = isinstance(node.slice, (ast.Constant, ast.Slice))
            return len(members) > 1 and not is_known and isinstance(node.ctx, ast.Load)
    return isinstance(node, ast.IfExp)


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
        case ast.For() | ast.comprehension():
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
        values: Sequence[ast.expr | None] = value.elts if isinstance(value, ast.Tuple) else []
        if len(values) != len(target.elts):
            values = [None] * len(target.elts)
        for each, its_value in zip(target.elts, values, strict=True):
            yield from _unpacked(each, its_value)


def _operands(node: ast.expr) -> list[ast.expr]:
    """The expressions that decide the type of a choice or an operation."""
    match node:
        case ast.BinOp():
            return [node.left, node.right]
        case ast.IfExp():
            return [node.body, node.orelse]
        case ast.BoolOp():
            return node.values
    return [node.operand] if isinstance(node, ast.UnaryOp) and not _is_not(node) else []


def _mentions(node: ast.expr, name: str) -> bool:
    return any(isinstance(each, ast.Name) and each.id == name for each in ast.walk(node))


def _is_none(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _is_not(node: ast.expr) -> bool:
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)


def _describe_choice(node: ast.expr) -> str:
    if isinstance(node, ast.BoolOp):
        return f"what `{'and' if isinstance(node.op, ast.And) else 'or'}` gives"
    return "what `if` and `else` give" if isinstance(node, ast.IfExp) else "the member of the tuple"


def _may_depend_on_types(node: ast.Call) -> bool:
    """Whether the type that a call returns may depend on its arguments' types."""
    name = getattr(node.func, "id", "")
    is_own = name.startswith("_kapi") and not name.startswith(_FUNCTIONS)
    return len(node.args) > 1 or not (is_own or name in _OF_ONE_TYPE)


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
