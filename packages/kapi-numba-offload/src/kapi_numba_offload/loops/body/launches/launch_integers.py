"""Integers of a loop's body that its launch tells: lengths, and bounds of indices."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Mapping

from kapi_numba_offload.analysis.scope import Scope
from kapi_numba_offload.analysis.syntax import expression, variable
from kapi_numba_offload.loops.body.index_analysis import Range
from kapi_numba_offload.loops.body.launches.integer_expressions import evaluated, resolve, resolve_partly
from kapi_numba_offload.loops.body.views import LaunchFacts

__all__ = ["LaunchIntegers", "add_terms"]


class LaunchIntegers:
    """Integers of a body that its launch tells, by the statements that have been lowered.

    - `values`: variables that have one value wherever they are read, and the value.
    - `made`: temporaries of the lowering, and all values that are assigned to each.
    - `sizes`: the lengths of private arrays, such as `a.shape[0]`.
    - `bounds`: variables of lengths, by their names, and what tells the most that each may be, or None.
    """

    def __init__(
        self,
        names: Scope,
        known: LaunchFacts,
        assignments: Counter[str],
        counters: Mapping[str, Range],
        loops: list[set[str]],
    ) -> None:
        self._names, self._known, self._assignments = names, known, assignments
        self._counters, self._loops = counters, loops
        self._relied_on: dict[str, list[tuple[set[str], Callable[[ast.expr], bool]]]] = {}
        self.values: dict[str, ast.expr] = {}
        self.made: dict[str, list[ast.expr]] = {}
        self.sizes: dict[str, int] = {}
        self.bounds: dict[str, Callable[[], int | None]] = {}

    # ------------------------------------------------------------------------------------------- expressions

    def resolve(self, node: ast.expr) -> ast.expr | None:
        """An integer as an expression of what the launch gives; None if that does not tell it."""
        return resolve(node, self.meaning)

    def resolve_partly(self, node: ast.expr) -> ast.expr:
        """An integer as such an expression, as far as it is told."""
        return resolve_partly(node, self._meaning_so_far)

    def resolve_so_far(self, node: ast.expr) -> ast.expr | None:
        """An integer as such an expression, temporaries of a group with the one value that they have so far."""
        return resolve(node, self._meaning_so_far)

    def meaning(self, text: str) -> ast.expr | None:
        """A variable or an extent as an expression of what the launch gives; None if that does not tell it."""
        if text in self.values:
            return self.values[text]
        group = self._known.group
        name, _, axis = text.partition(".shape[")
        if text in self.sizes:
            return ast.Constant(self.sizes[text]) if self._assignments[name] <= 1 else None
        if group is not None and axis:
            return group.meaning(text)  # an array stays one when it is updated
        if self._assignments[name]:
            return None
        if axis:
            return expression(text) if name in self._known.arrays else None
        value = self._names.value(expression(text))
        if type(value) is int:
            return ast.Constant(value)
        return variable(name) if name in self._known.integers else None

    def _meaning_so_far(self, text: str) -> ast.expr | None:
        values = {ast.unparse(each): each for each in self.made.get(text, ())}
        if self._known.group is None or len(values) != 1:
            return self.meaning(text)
        ((own, value),) = values.items()
        self._rely(text, lambda other: ast.unparse(other) == own)
        return value

    def extreme(self, node: ast.expr, *, is_most: bool) -> ast.expr | None:
        """The most or the least that an integer is in any iteration, as such an expression, if that is told."""
        found = self.resolve_so_far(node)
        if found is not None:
            return found
        match node:
            case ast.Subscript() if is_most and (size := self.sizes.get(text := ast.unparse(node))) is not None:
                most_of_array = ast.Constant(size)
                self._rely(text, lambda other: self._is_within(other, most_of_array, is_most=True))
                return most_of_array
            case ast.Name(name) if name in self.bounds and is_most:
                most = self.bounds[name]()
                return None if most is None else ast.Constant(most)
            case ast.Name(name) if name in self._counters:
                start, stop, step = self._counters[name]
                if is_most != (step > 0):
                    return self.extreme(start, is_most=is_most)
                last = self.extreme(stop, is_most=is_most)
                return None if last is None else ast.BinOp(last, ast.Sub() if step > 0 else ast.Add(), ast.Constant(1))
            case ast.Name(name) if name in self.made:
                made = self._extreme_of("max" if is_most else "min", self.made[name], is_most=is_most)
                self._rely(name, lambda other: self._is_within(other, made, is_most=is_most))
                return made
            case ast.Call(ast.Name("max" | "min" as function), args, []):
                return self._extreme_of(function, args, is_most=is_most)
            case ast.BinOp(left, ast.Add() | ast.Sub() as operation, right):
                one = self.extreme(left, is_most=is_most)
                other = self.extreme(right, is_most=is_most == isinstance(operation, ast.Add))
                return None if one is None or other is None else ast.BinOp(one, operation, other)
        return None

    def _extreme_of(self, function: str, nodes: list[ast.expr], *, is_most: bool) -> ast.expr | None:
        found = [self.extreme(each, is_most=is_most) for each in nodes]
        known = {ast.unparse(each): each for each in found if each is not None}
        if None in found or not known:
            return None
        return next(iter(known.values())) if len(known) == 1 else expression(f"{function}({', '.join(known)})")

    # ----------------------------------------------------------------------------------------------- numbers

    def number(self, node: ast.expr) -> int | None:
        """The value of an integer, for the numbers of the launch; None if they do not tell it."""
        made = self.resolve(node)
        return None if made is None else self._number(made)

    def most(self, node: ast.expr) -> int | None:
        """The most that an integer may be, for the numbers of the launch; None if they do not tell."""
        made = self.extreme(node, is_most=True)
        return None if made is None else self._number(made)

    def _number(self, made: ast.expr) -> int | None:
        """The value of an expression of what the launch gives."""

        def number(text: str) -> ast.expr | None:
            value = self._known.numbers.of(text)
            return None if value is None else ast.Constant(value)

        found = resolve(made, number)
        try:
            return None if found is None else int(evaluated(ast.unparse(found), {}))
        except ZeroDivisionError:
            return None

    def difference(self, upper: ast.expr, lower: ast.expr) -> int | None:
        """The difference of two integers, if it is the same in all iterations and the launch tells it; else None."""
        terms: Counter[str] = Counter()
        add_terms(upper, 1, terms)
        add_terms(lower, -1, terms)
        found = terms.pop("", 0)
        for text, factor in terms.items():
            value = self.number(expression(text)) if factor else 0
            if value is None:
                return None
            found += factor * value
        return found

    # ---------------------------------------------------------------------------------------------- reliance

    def _rely(self, name: str, suits: Callable[[ast.expr], bool]) -> None:
        """Note that statements in a loop are right only for values of a variable, or extent, that suit them."""
        if self._loops:
            self._relied_on.setdefault(name, []).append((self._loops[0], suits))

    def _is_within(self, node: ast.expr, extreme: ast.expr | None, *, is_most: bool) -> bool:
        """Whether an integer is surely within what was taken for the extreme one of its variable."""
        own = self.extreme(node, is_most=is_most)
        if extreme is None or own is None or ast.unparse(own) == ast.unparse(extreme):
            return extreme is None or own is not None
        numbers = self._number(own), self._number(extreme)
        return is_most and None not in numbers and numbers[0] <= numbers[1]  # type: ignore[operator]

    def may_get(self, name: str, value: ast.expr) -> bool:
        """Whether a variable, or extent, may get a value that statements before have in the loop's next iteration."""
        relied_on = self._relied_on.get(name, ())
        return all(suits(value) for loop, suits in relied_on if self._loops and loop is self._loops[0])


def add_terms(node: ast.expr, sign: int, terms: Counter[str]) -> None:
    """Add the terms of a sum: their texts, and the empty text for numbers."""
    match node:
        case ast.Constant(value=int(value)):
            terms[""] += sign * value
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as operation, right=right):
            add_terms(left, sign, terms)
            add_terms(right, sign if isinstance(operation, ast.Add) else -sign, terms)
        case _:
            terms[ast.unparse(node)] += sign
