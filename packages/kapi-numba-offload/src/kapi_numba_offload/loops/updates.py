"""Updates: statements that change a variable or an element by what it is, as sums, products and extrema do."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

__all__ = [
    "COMMUTATIVE", "IN_ANY_ORDER", "LAST", "SAME", "Extremum", "added_terms", "added_values", "are_made_of",
    "as_update", "extremum_of", "kept",
]  # fmt: skip

COMMUTATIVE = (ast.Add, ast.Mult, ast.BitAnd, ast.BitOr, ast.BitXor)
IN_ANY_ORDER: dict[type[ast.operator], str] = {
    ast.Add: "sum", ast.Sub: "sum", ast.Mult: "prod", ast.Div: "prod", ast.BitAnd: "and", ast.BitOr: "or",
    ast.BitXor: "xor",
}  # fmt: skip
"""The kind of updates by an operator: those of one kind give the same numbers in any order, but for rounding."""

LAST = "last"
"""The kind of stores of which the last iteration's value stays."""
SAME = "same"
"""The first word of the kind of stores of one value, in any order."""


def as_update(node: ast.Assign) -> ast.AugAssign | None:
    """`a[i] += x` for `a[i] = a[i] + x`, and `a[i] *= x` for `a[i] = x * a[i]`; None for anything else."""
    match node:
        case ast.Assign([ast.Subscript() as target], ast.BinOp(left, operation, right)):
            if type(operation) not in IN_ANY_ORDER:
                return None
            spelled = ast.unparse(target)
            if ast.unparse(left) == spelled:
                return ast.copy_location(ast.AugAssign(target, operation, right), node)
            if ast.unparse(right) == spelled and type(operation) in COMMUTATIVE:
                return ast.copy_location(ast.AugAssign(target, operation, left), node)
    return None


def added_values(node: ast.Assign) -> list[ast.expr]:
    """Terms that `a[i] = x + a[i] - y` adds to the element or subtracts: x and y; none for anything else.

    What is computed of the element itself is no term: it depends on the order of the updates.
    """
    terms = [value for _, value in added_terms(node.value, ast.unparse(node.targets[0]))]
    return [] if are_made_of(node.targets[0], terms) else terms


def are_made_of(element: ast.expr, values: Sequence[ast.expr]) -> bool:
    """Whether values are computed of an element, or of a row, by the name that it is stored to."""
    spelled = ast.unparse(element)
    parts = (each for value in values for each in ast.walk(value) if isinstance(each, (ast.Name, ast.Subscript)))
    return any(ast.unparse(each) == spelled for each in parts)


def added_terms(value: ast.expr, spelled: str) -> Iterator[tuple[ast.operator, ast.expr]]:
    """The operations that update what is spelled so, one after the other; none if the value is something else."""
    if not isinstance(value, ast.BinOp) or not isinstance(value.op, (ast.Add, ast.Sub)):
        return
    if ast.unparse(value.left) == spelled:
        yield value.op, value.right
    elif isinstance(value.op, ast.Add) and ast.unparse(value.right) == spelled:
        yield value.op, value.left
    else:
        inner = list(added_terms(value.left, spelled))
        if inner:
            yield from inner
            yield value.op, value.right


_FUNCTIONS: Mapping[Any, type[ast.cmpop]] = {
    max: ast.Gt, min: ast.Lt, np.maximum: ast.Gt, np.minimum: ast.Lt, np.fmax: ast.Gt, np.fmin: ast.Lt,
}  # fmt: skip
_ORDERS: Mapping[type[ast.cmpop], tuple[type[ast.cmpop], bool]] = {
    ast.Gt: (ast.Gt, True), ast.Lt: (ast.Lt, True), ast.GtE: (ast.Gt, False), ast.LtE: (ast.Lt, False),
}  # fmt: skip
"""The strict comparison of each one, and whether it is that."""
_SWAPPED: Mapping[type[ast.cmpop], type[ast.cmpop]] = {ast.Gt: ast.Lt, ast.Lt: ast.Gt}


class Extremum(NamedTuple):
    """A statement that keeps the larger or the smaller of an element and a value.

    - `target`: the element, as it is stored to.
    - `value`: what it becomes if the comparison says so.
    - `comparison`: `ast.Gt` if the value is stored where it is larger than the element, `ast.Lt` where it is smaller.
    - `is_of_integers`: whether it is one of integers alone, as signs of zeros and what is no number would show another
      order.
    """

    target: ast.Subscript
    value: ast.expr
    comparison: type[ast.cmpop]
    is_of_integers: bool = False

    @property
    def kind(self) -> str:
        """A name for extrema that may be kept in any order."""
        return f"{self.comparison.__name__}{' of integers' * self.is_of_integers}"


def extremum_of(node: ast.stmt, value_of: Callable[[ast.expr], Any]) -> Extremum | None:
    """The extremum that a statement keeps; None for other statements.

    `a[k] = max(a[k], x)` is Python's `max`, which keeps its first argument unless the second one is larger: what is not
    a number is kept in an element, and is no reason to store it. `max(x, a[k])` and NumPy's functions differ in that.

    - `value_of`: the value of a name outside of the function.
    """
    match node:
        case ast.Assign([ast.Subscript() as target], value):
            found = _chosen(ast.unparse(target), value, value_of)
        # `if x > a[k]: a[k] = x`, and the same with its sides swapped
        case ast.If(test, [ast.Assign([ast.Subscript() as target], value)], []):
            found = kept(ast.unparse(target), test, value)
        case _:
            return None
    if found is None:
        return None
    # Other iterations may change what the value reads of the array itself.
    owner = ast.unparse(target.value)
    reads = any(ast.unparse(each) == owner for each in ast.walk(found[0]) if isinstance(each, ast.expr))
    return None if reads else Extremum(target, *found)


_Found = tuple[ast.expr, type[ast.cmpop], bool]
"""A value, how it compares with the element if it takes its place, and whether this is so for integers alone."""


def _chosen(element: str, value: ast.expr, value_of: Callable[[ast.expr], Any]) -> _Found | None:
    """The extremum that a value is of an element, spelled so, and of something else."""
    match value:
        case ast.Call(called, [first, second], []):
            function = value_of(called)
            comparison = next((each for known, each in _FUNCTIONS.items() if function is known), None)
            is_first = ast.unparse(first) == element
            if comparison is None or (not is_first and ast.unparse(second) != element):
                return None
            return second if is_first else first, comparison, not is_first or function not in (max, min)
        case ast.IfExp(test, chosen, other) if ast.unparse(other) == element:
            return kept(element, test, chosen)
        case ast.IfExp(test, chosen, other) if ast.unparse(chosen) == element:
            found = kept(element, test, other)
            return None if found is None else (other, _SWAPPED[found[1]], True)
    return None


def kept(element: str, test: ast.expr, value: ast.expr) -> _Found | None:
    """The extremum of `value if test else element`; None if the test compares something else."""
    match test:
        case ast.Compare(left, [operation], [right]) if type(operation) in _ORDERS:
            comparison, is_strict = _ORDERS[type(operation)]
        case _:
            return None
    if ast.unparse(left) == element:
        left, right, comparison = right, left, _SWAPPED[comparison]
    if (ast.unparse(left), ast.unparse(right)) != (ast.unparse(value), element):
        return None
    return value, comparison, not is_strict
