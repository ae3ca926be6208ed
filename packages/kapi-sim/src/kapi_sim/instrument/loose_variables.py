"""Variables and expressions that may be Python's number on one way and another kind on another, as far as source tells.

What is called loose here is only looked at more closely when a kernel runs, so it may be too much. The kinds are
Python's integers and floats, which are weak, and all numbers of NumPy's types, which are strong.
"""

from __future__ import annotations

import ast
import builtins
from collections import defaultdict
from collections.abc import Iterable

from kapi_sim.checks.calls import DEVICE

__all__ = ["OF_ONE_KIND", "OWN_SCOPE", "LooseVariables", "own_nodes", "spelled_choice"]

OWN_SCOPE = (ast.FunctionDef, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
"""Nodes that have variables of their own."""


_Kinds = frozenset[str]
_INTEGER, _FLOAT, _STRONG = frozenset(("integer",)), frozenset(("float",)), frozenset(("strong",))
_WEAK = _INTEGER | _FLOAT
_ANY = _WEAK | _STRONG
_NONE: _Kinds = frozenset()
OF_ONE_KIND = ("int", "float", "bool", "complex", "len", "range")
"""Functions of Python's whose results are of one kind, whatever they are given."""
_OF_INTEGERS = ("int", "bool", "len")
_A_NUMBER = ast.Constant(1)  # what an integer of Python's, known when the kernel runs, is in place of


class LooseVariables:
    """What may be a weak number on one way through a function, and of another kind on another.

    Parameters
    ----------
    tree : ast.FunctionDef
        The function, as its author wrote it.
    """

    def __init__(self, tree: ast.FunctionDef) -> None:
        self._values: dict[str, list[ast.expr | None]] = defaultdict(list)  # None is what may be of any kind
        for argument in ast.walk(tree.args):
            if isinstance(argument, ast.arg):
                self._values[argument.arg].append(None)
        for node in own_nodes(tree):
            self._note(node)
        self._kinds: dict[str, _Kinds] = {}
        self._settle_kinds()
        self._loose = {name for name, values in self._values.items() if len(values) > 1 and len(self._kinds[name]) > 1}
        while more := {
            name
            for name, values in self._values.items()
            if name not in self._loose and any(each is not None and self.of(each) for each in values)
        }:
            self._loose |= more

    def is_sum(self, name: str) -> bool:
        """Return whether a variable starts as literals of one type, and one operation makes another of it.

        Whichever type the other operand has, the sum takes it at the first turn.
        """
        values = self._values[name]
        made = [each for each in values if not isinstance(each, ast.Constant)]
        literals = {type(each.value) for each in values if isinstance(each, ast.Constant)}
        return len(literals) == len(made) == 1 and made[0] is not None and not any(map(self.of, _operands(made[0])[1:]))

    def of(self, node: ast.expr) -> str:
        """Return what is loose in an expression and decides its type, in words; empty if nothing is."""
        if isinstance(node, ast.Name):
            return f"variable `{node.id}`" if node.id in self._loose else ""
        if isinstance(node, (ast.IfExp, ast.BoolOp)):
            return spelled_choice(node) if len(self._of_all(_arms(node))) > 1 else self._first(_arms(node))
        if isinstance(node, ast.Call):
            name = node.func.id if isinstance(node.func, ast.Name) else ""
            if name in OF_ONE_KIND:
                return ""
            return self._first(node.args) or ("what the function returns" if _is_of_author(name) else "")
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Tuple):
            return "the member of the tuple" if len(self._of_all(node.value.elts)) > 1 else ""
        return self.of(node.value) if isinstance(node, ast.YieldFrom) else self._first(_operands(node))

    def _first(self, nodes: Iterable[ast.expr]) -> str:
        return next(filter(None, map(self.of, nodes)), "")

    def _note(self, node: ast.AST) -> None:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                self._note_target(target, node.value)
        elif isinstance(node, (ast.AnnAssign, ast.NamedExpr)) and node.value is not None:
            self._note_target(node.target, node.value)
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            before = ast.Name(node.target.id, ast.Load())
            self._values[node.target.id].append(ast.BinOp(before, node.op, node.value))
        elif isinstance(node, (ast.For, ast.comprehension)):
            members: list[ast.expr | None] = [None]
            if isinstance(node.iter, (ast.Tuple, ast.List)):
                members = [*node.iter.elts]
            elif (
                isinstance(node.iter, ast.Call)
                and isinstance(node.iter.func, ast.Name)
                and node.iter.func.id == "range"
            ):
                members = [_A_NUMBER]
            for each in members:
                self._note_target(node.target, each)

    def _note_target(self, target: ast.expr, value: ast.expr | None) -> None:
        if isinstance(target, ast.Name):
            self._values[target.id].append(value)
        elif isinstance(target, (ast.Tuple, ast.List)):
            is_pairwise = isinstance(value, ast.Tuple) and len(value.elts) == len(target.elts)
            values = value.elts if is_pairwise and isinstance(value, ast.Tuple) else [None] * len(target.elts)
            for each, its_value in zip(target.elts, values, strict=True):
                self._note_target(each, its_value)

    def _settle_kinds(self) -> None:
        self._kinds = dict.fromkeys(self._values, _NONE)
        is_settled = False
        while not is_settled:
            is_settled = True
            for name, values in self._values.items():
                kinds = self._of_all(values)
                if kinds != self._kinds[name]:
                    self._kinds[name] = kinds
                    is_settled = False

    def _of_all(self, nodes: Iterable[ast.expr | None]) -> _Kinds:
        return _NONE.union(*(_ANY if each is None else self._kinds_of(each) for each in nodes))

    def _kinds_of(self, node: ast.expr) -> _Kinds:
        if isinstance(node, ast.Constant):
            return _INTEGER if isinstance(node.value, int) else _FLOAT
        if isinstance(node, ast.Name):
            return self._kinds.get(node.id, _ANY)
        if isinstance(node, ast.Compare):
            return _STRONG
        if isinstance(node, ast.Call):
            return self._kinds_of_call(node)
        if isinstance(node, ast.Subscript):
            is_shape = isinstance(node.value, ast.Attribute) and node.value.attr == "shape"
            return _INTEGER if is_shape else _STRONG if isinstance(node.value, ast.Name) else _ANY
        if isinstance(node, (ast.IfExp, ast.BoolOp)):
            return self._of_all(_arms(node))
        operands = list(map(self._kinds_of, _operands(node)))
        if not operands:
            return _ANY
        kinds = _NONE.union(*operands)
        if not all(each & _WEAK for each in operands):
            kinds &= _STRONG
        if not all(each & _INTEGER for each in operands):
            kinds -= _INTEGER
        is_quotient = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div)
        return kinds - _INTEGER | _FLOAT if is_quotient and kinds & _INTEGER else kinds

    def _kinds_of_call(self, node: ast.Call) -> _Kinds:
        if isinstance(node.func, ast.Attribute) and node.func.attr.startswith("get_"):
            return _INTEGER  # an index, or a size; a group is no number
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        return _INTEGER if name in _OF_INTEGERS else _FLOAT if name == "float" else _ANY


def own_nodes(tree: ast.AST) -> list[ast.AST]:
    """The nodes of a function, without those of functions in it."""
    found: list[ast.AST] = []
    pending = list(ast.iter_child_nodes(tree))
    while pending:
        node = pending.pop()
        found.append(node)
        if not isinstance(node, OWN_SCOPE):
            pending += ast.iter_child_nodes(node)
    return found


def _is_of_author(name: str) -> bool:
    """Whether the name is that of a device function, also in a rewritten function, or of one written in it."""
    return name.startswith(DEVICE) or not (name.startswith("_kapi") or not name or hasattr(builtins, name))


def spelled_choice(node: ast.IfExp | ast.BoolOp) -> str:
    """Return what messages call the value of a choice."""
    if isinstance(node, ast.IfExp):
        return "what `if` and `else` give"
    return f"what `{'and' if isinstance(node.op, ast.And) else 'or'}` gives"


def _arms(node: ast.IfExp | ast.BoolOp) -> list[ast.expr]:
    return [node.body, node.orelse] if isinstance(node, ast.IfExp) else node.values


def _operands(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, ast.BinOp):
        return [node.left, node.right]
    return [node.operand] if isinstance(node, ast.UnaryOp) and not isinstance(node.op, ast.Not) else []
