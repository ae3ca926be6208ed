"""Index analysis: the loop variables and integers that indices are made of, and lower bounds of their values."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Mapping, Sequence, Set

import numpy as np

from kapi_numba_offload.analysis.scope import UNKNOWN, Scope
from kapi_numba_offload.analysis.syntax import integer_literal, nodes_in
from kapi_numba_offload.loops.body.views import LaunchFacts

__all__ = ["IndexFacts", "LowerBounds", "Range", "counted_range", "is_injective"]

_NO_RANGE: Range = ast.Constant(None), ast.Constant(None), 0
_SIZES = ("shape", "size", "ndim")


class IndexFacts:
    """Facts of the variables of a body, helpers written out, whatever order its statements run in."""

    def __init__(self, names: Scope, known: LaunchFacts, parallel: Sequence[str], body: Sequence[ast.stmt]) -> None:
        self._names, self.parallel = names, tuple(parallel)
        self._has_one_sign = known.has_one_sign
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
        match node:
            case ast.Assign(targets, value):
                for target in targets:
                    self._assigned(target, value)
            case ast.AugAssign(ast.Name(name) as target, operation, value):
                self._assigned(target, ast.BinOp(ast.Name(name, ast.Load()), operation, value))
            case ast.NamedExpr(target, value) | ast.AnnAssign(target=target, value=value):
                self._assigned(target, value)
            case ast.For(ast.Name(name) as target, counted) if self._names.is_range(counted):
                self._counters[name] = counted
                self._assigned(target, ast.Constant(0))
            case ast.For(target):
                self._assigned(target, None)

    def _assigned(self, target: ast.expr, value: ast.expr | None) -> None:
        if isinstance(target, ast.Name):
            self._values.setdefault(target.id, []).append(value)
        elif isinstance(target, (ast.Tuple, ast.List)):
            values = value.elts if isinstance(value, ast.Tuple) and len(value.elts) == len(target.elts) else None
            for number, each in enumerate(target.elts):
                self._assigned(each, values[number] if values else None)

    def is_integer(self, node: ast.expr | None) -> bool:
        """Whether a value is surely an integer: to add a fraction to an element is not to add its integer part."""
        match node:
            case ast.Constant(value):
                return type(value) in (int, bool)
            case ast.Name(name):
                known = self._names.value(node)
                return name in self._integers or type(known) in (int, bool) or isinstance(known, np.integer)
            case ast.Attribute(value, attribute):
                return attribute in _SIZES or (attribute == "T" and self.is_integer(value))
            case ast.Subscript(value):
                return self.is_integer(value)
            case ast.BinOp(left, ast.Pow(), ast.Constant(int())):
                return self.is_integer(left)
            case ast.BinOp(left, operation, right):
                is_exact = not isinstance(operation, (ast.Pow, ast.Div))
                return is_exact and self.is_integer(left) and self.is_integer(right)
            case ast.UnaryOp(operation, operand):
                return isinstance(operation, ast.Not) or self.is_integer(operand)
            case ast.IfExp(_, one, other):
                return self.is_integer(one) and self.is_integer(other)
            case ast.BoolOp(values=values):
                return all(map(self.is_integer, values))
            case ast.Call(called, args, keywords):
                function = self._names.value(called)
                if function in (int, len, bool) or (isinstance(function, type) and issubclass(function, np.integer)):
                    return True
                return function in (abs, min, max) and not keywords and all(map(self.is_integer, args))
        return isinstance(node, ast.Compare)

    def is_injective(self, index: ast.expr, name: str) -> bool:
        """Whether an index has another element for each value of a loop variable, all else being equal."""
        return is_injective(index, name, self._is_invariant, has_one_sign=self._has_one_sign)

    def _is_invariant(self, node: ast.expr) -> bool:
        """Whether an expression has one value in all iterations: none assigns its variables."""
        for each in ast.walk(node):
            match each:
                case ast.Call() | ast.NamedExpr():
                    return False
                case ast.Subscript() if not _is_shape(each):
                    return False
                case ast.Name(name) if name in self._values or name in self.parallel or name.startswith("kapi_"):
                    return False
        return True

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


def is_injective(
    index: ast.expr, name: str, is_invariant: Callable[[ast.expr], bool], *, has_one_sign: bool = False
) -> bool:
    """Whether an index has another element for each value of a variable, all else being equal.

    - `is_invariant`: whether an expression has one value for all of these.
    - `has_one_sign`: whether an index counts from the start for all of them, or from the end: else one from the end and
      one from the start may be of one element.
    """
    match index:
        case ast.Name(own):
            return own == name
        case ast.Call(ast.Name("kapi_wrapped_index"), [own, _]):
            return has_one_sign and is_injective(own, name, is_invariant, has_one_sign=True)
        case ast.UnaryOp(ast.USub(), own):
            return is_injective(own, name, is_invariant, has_one_sign=has_one_sign)
        case ast.BinOp(left, ast.Add() | ast.Sub() | ast.Mult() as operation, right):
            is_product = isinstance(operation, ast.Mult)
            return any(
                is_injective(own, name, is_invariant, has_one_sign=has_one_sign)
                and (isinstance(other, ast.Constant) and bool(other.value) if is_product else is_invariant(other))
                for own, other in ((left, right), (right, left))
            )
    return False


def _is_shape(node: ast.Subscript) -> bool:
    return isinstance(node.value, ast.Attribute) and node.value.attr == "shape"


Range = tuple[ast.expr, ast.expr, int]
"""Start, stop and step of a loop over a range."""


def counted_range(loop: ast.For) -> Range | None:
    """The range of the variable of a loop; None where its step is no constant."""
    match loop:
        case ast.For(ast.Name(), ast.Call(_, [stop])):
            return ast.Constant(0), stop, 1
        case ast.For(ast.Name(), ast.Call(_, [start, stop, *steps])):
            step = integer_literal(steps[0]) if steps else 1
            return (start, stop, step) if step else None
    return None


class LowerBounds:
    """Lower bounds of a loop's integers: an index that is never negative needs no wrapping.

    - `known`: variables that are never below a number.
    - `counters`: loops around the statement whose variables nothing else assigns.
    - `kept`: variables from outside of the loop that it does not assign.
    """

    def __init__(
        self,
        names: Scope,
        known: Mapping[str, int],
        assigned_once: Set[str],
        counters: Mapping[str, Range],
        kept: Set[str] = frozenset(),
    ) -> None:
        self._names, self._lower, self._assigned_once, self._kept = names, dict(known), assigned_once, kept
        self._counters = counters

    def take_assignment(self, name: str, value: ast.expr) -> None:
        """Note what is known of a variable that is assigned a value."""
        low = self.of(value) if name in self._assigned_once else None
        if low is not None:
            self._lower[name] = low

    def take_counter(self, name: str) -> None:
        """Note that a variable counts from 0."""
        self._lower[name] = 0

    def of(self, node: ast.expr) -> int | None:
        """A number that the value is never below, None if none is known."""
        terms = self._bound(node, is_most=False)
        return None if terms is None or any(count < 0 for term, count in terms.items() if term) else terms[""]

    def _bound(self, node: ast.expr, *, is_most: bool) -> Counter[str] | None:
        """A lower or an upper bound of the value: a number, and multiples of terms that are never negative.

        Terms may cancel, as those of `n - 1 - j` do with `j` of `range(n)`.
        """
        match node:
            case ast.Name() if (value := self._names.value(node)) is not UNKNOWN:
                return Counter({"": value}) if type(value) is int else None
            case ast.Name(name) if (span := self._counters.get(name, _NO_RANGE))[2] > 0:
                start, stop, _ = span
                return self._bound(ast.BinOp(stop, ast.Sub(), ast.Constant(1)) if is_most else start, is_most=is_most)
            case ast.Name(name) if name in self._kept and name in self._lower:
                return Counter({name: 1, "": self._lower[name]})  # the term is what the variable is more than that
            case ast.Subscript(ast.Attribute(ast.Name(name), "shape"), ast.Constant()) if name in self._kept:
                return Counter({ast.unparse(node): 1, "": 0})
            case ast.BinOp(left, ast.Add() | ast.Sub() as operation, right):
                is_sum = isinstance(operation, ast.Add)
                one, other = self._bound(left, is_most=is_most), self._bound(right, is_most=is_most == is_sum)
                if one is not None and other is not None:
                    (one.update if is_sum else one.subtract)(other)
                    return one
                return None
        number = integer_literal(node)
        if number is None and not is_most:
            number = self._least(node)
        return None if number is None else Counter({"": number})

    def _least(self, node: ast.expr) -> int | None:
        """A number that the value, which is no sum, is never below."""
        match node:
            case ast.Name(name):
                return self._lower.get(name)
            case ast.Subscript(ast.Attribute(attr="shape")) | ast.Call(ast.Name("len" | "abs")):
                return 0
            case ast.Call(ast.Name("max"), args):
                return max((low for each in args if (low := self.of(each)) is not None), default=None)
            case ast.BinOp(_, ast.Mod(), right):
                operands = [right]
            case ast.BinOp(left, ast.Mult() | ast.FloorDiv(), right):
                operands = [left, right]
            case _:
                return None
        return 0 if all((low := self.of(each)) is not None and low >= 0 for each in operands) else None
