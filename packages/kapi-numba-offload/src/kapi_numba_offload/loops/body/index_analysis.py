"""Index analysis: the loop variables and integers that indices are made of, and lower bounds of their values."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

import numpy as np

from kapi_numba_offload.analysis.scope import UNKNOWN, Scope
from kapi_numba_offload.analysis.syntax import nodes_in
from kapi_numba_offload.loops.body.views import LaunchFacts

__all__ = ["IndexFacts", "LowerBounds"]

_SIZES = ("shape", "size", "ndim")


class IndexFacts:
    """Facts of the body's variables, whatever order its statements run in.

    Parameters
    ----------
    names : Scope
        What names mean.
    known : LaunchFacts
        Facts of the values of the launch.
    parallel : sequence of str
        The variables of the parallel loops.
    body : sequence of ast.stmt
        The body, helpers written out.
    """

    def __init__(self, names: Scope, known: LaunchFacts, parallel: Sequence[str], body: Sequence[ast.stmt]) -> None:
        self._names, self.parallel = names, tuple(parallel)
        self._values: dict[str, list[ast.expr | None]] = {}
        self._counters: dict[str, ast.expr] = {}
        for node in nodes_in(body):
            self._note(node)
        full = {name for name, facts in known.arrays.items() if facts.dtype is not None and facts.dtype.kind in "iub"}
        self._integers = full | {*parallel, *known.integers} | self._values.keys()
        while found := {name for name, values in self._values.items()
                        if name in self._integers and not all(map(self.is_integer, values))}:  # fmt: skip
            self._integers -= found

    def _note(self, node: ast.AST) -> None:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                self._assigned(target, node.value)
        elif isinstance(node, (ast.AugAssign, ast.NamedExpr, ast.AnnAssign)):
            value = node.value
            if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
                value = ast.BinOp(ast.Name(node.target.id, ast.Load()), node.op, node.value)
            self._assigned(node.target, value)
        elif isinstance(node, ast.For):
            if self._names.is_range(node.iter) and isinstance(node.target, ast.Name):
                self._counters[node.target.id] = node.iter
                self._assigned(node.target, ast.Constant(0))
            else:
                self._assigned(node.target, None)

    def _assigned(self, target: ast.expr, value: ast.expr | None) -> None:
        if isinstance(target, ast.Name):
            self._values.setdefault(target.id, []).append(value)
        elif isinstance(target, (ast.Tuple, ast.List)):
            values = value.elts if isinstance(value, ast.Tuple) and len(value.elts) == len(target.elts) else None
            for number, each in enumerate(target.elts):
                self._assigned(each, values[number] if values else None)

    def is_integer(self, node: ast.expr | None) -> bool:
        """Whether a value is surely an integer: to add a fraction to an element is not to add its integer part."""
        if isinstance(node, ast.Constant):
            return type(node.value) in (int, bool)
        if isinstance(node, ast.Name):
            value = self._names.value(node)
            return node.id in self._integers or type(value) in (int, bool) or isinstance(value, np.integer)
        if isinstance(node, ast.Attribute):
            return node.attr in _SIZES or (node.attr == "T" and self.is_integer(node.value))
        if isinstance(node, ast.Subscript):
            return self.is_integer(node.value)
        if isinstance(node, ast.BinOp):
            is_power = isinstance(node.op, ast.Pow)
            is_exact = not is_power or (isinstance(node.right, ast.Constant) and isinstance(node.right.value, int))
            return is_exact and not isinstance(node.op, ast.Div) and all(map(self.is_integer, (node.left, node.right)))
        if isinstance(node, ast.UnaryOp):
            return isinstance(node.op, ast.Not) or self.is_integer(node.operand)
        if isinstance(node, ast.IfExp):
            return self.is_integer(node.body) and self.is_integer(node.orelse)
        if isinstance(node, ast.BoolOp):
            return all(map(self.is_integer, node.values))
        return isinstance(node, ast.Compare) or (isinstance(node, ast.Call) and self._is_integer_call(node))

    def _is_integer_call(self, node: ast.Call) -> bool:
        function = self._names.value(node.func)
        if function is UNKNOWN:
            return False
        if function in (int, len, bool) or (isinstance(function, type) and issubclass(function, np.integer)):
            return True
        return function in (abs, min, max) and not node.keywords and all(map(self.is_integer, node.args))

    def is_injective(self, index: ast.expr, name: str) -> bool:
        """Whether an index has another value for each value of a loop variable, all else being equal."""
        if isinstance(index, ast.Name):
            return index.id == name
        if isinstance(index, ast.UnaryOp):
            return isinstance(index.op, ast.USub) and self.is_injective(index.operand, name)
        if isinstance(index, ast.BinOp) and isinstance(index.op, (ast.Add, ast.Sub)):
            sides = (index.left, index.right)
            return any(self.is_injective(own, name) and self._is_invariant(other)
                       for own, other in (sides, sides[::-1]))  # fmt: skip
        if isinstance(index, ast.BinOp) and isinstance(index.op, ast.Mult):
            sides = (index.left, index.right)
            return any(
                self.is_injective(own, name) and isinstance(other, ast.Constant) and bool(other.value)
                for own, other in (sides, sides[::-1])
            )
        is_wrapped = isinstance(index, ast.Call) and isinstance(index.func, ast.Name)
        return is_wrapped and index.func.id == "kapi_wrapped_index" and self.is_injective(index.args[0], name)  # type: ignore[attr-defined]

    def _is_invariant(self, node: ast.expr) -> bool:
        """Whether an expression has one value in all iterations: none assigns its variables."""
        return not any(
            isinstance(each, (ast.Call, ast.NamedExpr))
            or (isinstance(each, ast.Subscript) and not _is_shape(each))
            or (
                isinstance(each, ast.Name)
                and (each.id in self._values or each.id in self.parallel or each.id.startswith("kapi_"))
            )
            for each in ast.walk(node)
        )

    def may_collide(self, indices: Sequence[ast.expr]) -> bool:
        """Whether several iterations may have the same elements at these indices, surely or by the data.

        Arithmetic of the loop variables is taken to give each iteration its own.
        """
        if all(any(self.is_injective(each, name) for each in indices) for name in self.parallel):
            return False
        reached = [self._reached(each, frozenset()) for each in indices]
        return None in reached or not frozenset(self.parallel).issubset(frozenset().union(*filter(None, reached)))

    def is_common(self, indices: Sequence[ast.expr]) -> bool:
        """Whether all iterations have the same elements at these indices, whatever the data are."""
        return all(self._reached(each, frozenset()) == frozenset() for each in indices)

    def _reached(self, node: ast.expr | None, seen: frozenset[str]) -> frozenset[str] | None:
        """The loop variables that an expression is made of; None if it is made of elements of arrays, too."""
        if node is None:
            return None
        found: frozenset[str] = frozenset()
        for each in ast.walk(node):
            if isinstance(each, ast.Subscript) and not _is_shape(each):
                return None
            if isinstance(each, ast.Name) and each.id not in seen:
                inner = self._made_of(each.id, seen | {each.id})
                if inner is None:
                    return None
                found |= inner
        return found

    def _made_of(self, name: str, seen: frozenset[str]) -> frozenset[str] | None:
        if name in self.parallel:
            return frozenset((name,))
        if name in self._counters:  # an iteration's own range, wherever it begins
            named = {each.id for each in ast.walk(self._counters[name]) if isinstance(each, ast.Name)}
            return frozenset().union(*(self._made_of(each, seen | {each}) or frozenset() for each in named - seen))
        found: frozenset[str] = frozenset()
        for value in self._values.get(name, ()):
            inner = self._reached(value, seen)
            if inner is None:
                return None
            found |= inner
        return found


def _is_shape(node: ast.Subscript) -> bool:
    return isinstance(node.value, ast.Attribute) and node.value.attr == "shape"


class LowerBounds:
    """Lower bounds of a loop's integers: an index that is never negative needs no wrapping.

    Parameters
    ----------
    names : Scope
        What the function's names mean.
    known : mapping of str to int
        Variables that are never below a number.

    Attributes
    ----------
    assigned_once : set of str
        Variables that have one assignment in the loop.
    """

    def __init__(self, names: Scope, known: Mapping[str, int]) -> None:
        self._names = names
        self._lower = dict(known)
        self.assigned_once: set[str] = set()

    def take_assignment(self, name: str, value: ast.expr) -> None:
        """Note what is known of a variable that is assigned a value."""
        low = self.of(value) if name in self.assigned_once else None
        if low is not None:
            self._lower[name] = low

    def take_counter(self, name: str) -> None:
        """Note that a variable counts from 0."""
        self._lower[name] = 0

    def take_loop(self, node: ast.For) -> None:
        """Note what is known of the variable of a loop."""
        if not isinstance(node.iter, ast.Call) or not isinstance(node.target, ast.Name):
            return
        args = node.iter.args
        step = args[2].value if len(args) == 3 and isinstance(args[2], ast.Constant) else 1 if len(args) < 3 else None
        if isinstance(step, int) and step > 0 and node.target.id in self.assigned_once:
            low = 0 if len(args) == 1 else self.of(args[0])
            if low is not None:
                self._lower[node.target.id] = low

    def of(self, node: ast.expr) -> int | None:
        """A number that the value is never below, None if none is known."""
        if isinstance(node, ast.Constant):
            return node.value if type(node.value) is int else None
        if isinstance(node, ast.Name):
            value = self._names.value(node)
            return self._lower.get(node.id) if value is UNKNOWN else value if type(value) is int else None
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute) and node.value.attr == "shape":
            return 0
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("len", "abs", "max"):
            lows = [self.of(each) for each in node.args]
            known = [each for each in lows if each is not None]
            return 0 if node.func.id != "max" else max(known) if known else None
        if not isinstance(node, ast.BinOp):
            return None
        left, right = self.of(node.left), self.of(node.right)
        if isinstance(node.op, ast.Sub):
            constant = node.right.value if isinstance(node.right, ast.Constant) else None
            return left - constant if left is not None and type(constant) is int else None
        if isinstance(node.op, ast.Mod):
            return 0 if right is not None and right >= 0 else None
        if left is None or right is None:
            return None
        if isinstance(node.op, ast.Add):
            return left + right
        if isinstance(node.op, (ast.Mult, ast.FloorDiv)) and left >= 0 and right >= 0:
            return 0
        return None
