"""Lengths that operands must have in common, or extrema at least: a loop over elements would not notice a wrong one.

A launch decides most of them, by its shapes and integers. Where these differ, the kernel is compiled with checks, and
raises if it comes to such operands. Lengths that an iteration decides are checked in such a kernel alone.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FunctionType, SimpleNamespace
from typing import NamedTuple

from kapi_numba_offload.analysis.syntax import expression, statements
from kapi_types.kernel_typing.library import index_functions

__all__ = ["EqualLengths", "LengthConditions", "value_of_length"]

_OF_PYTHON = SimpleNamespace(int64=int)  # NumPy's integers take ten times as long on the host
_FUNCTIONS = {
    "max": max, "min": min, "abs": abs,
    **{f"kapi_{name}": FunctionType(getattr(index_functions, name).__code__, {"np": _OF_PYTHON})
       for name in index_functions.__all__},
}  # fmt: skip
_SCOPE = {"__builtins__": {}, **_FUNCTIONS}


def value_of_length(node: ast.expr) -> int:
    """The value of a length that is made of integers."""
    return int(eval(ast.unparse(node), _SCOPE))


class LengthConditions(NamedTuple):
    """Conditions that operands have the same lengths, and extrema have elements.

    - `tests`: those that a launch decides, as texts of its variables.
    - `read_integers`: whether these are made of integers of the launch, and not of shapes alone.
    - `are_all`: whether there are no others, which iterations decide.
    """

    tests: tuple[str, ...] = ()
    read_integers: bool = False
    are_all: bool = True

    def function(self, names: Sequence[str]) -> Callable[..., bool]:
        """Whether a launch meets the conditions, as a function of the values of variables."""
        test: Callable[..., bool] = eval(f"lambda {', '.join(names)}: {' and '.join(self.tests) or True}", _SCOPE)
        return test


class EqualLengths:
    """Values of lengths, and conditions that some are equal.

    - `values`: variables that have one value wherever they are read, and the value.
    - `of_launch`: integers and extents of the launch, and extents that are constant, by their texts; None for others.
    - `are_checked`: whether the kernel checks the lengths that it comes to.
    """

    def __init__(self, of_launch: Callable[[str], ast.expr | None], *, are_checked: bool) -> None:
        self.values: dict[str, ast.expr] = {}
        self._of_launch, self._are_checked = of_launch, are_checked
        self._tests: dict[str, None] = {}
        self._read_integers, self._are_all = False, True
        self._path: list[ast.expr | None] = []

    @property
    def conditions(self) -> LengthConditions:
        """The conditions of all lengths that must be equal."""
        return LengthConditions(tuple(self._tests), self._read_integers, self._are_all)

    @contextmanager
    def where(self, test: ast.expr | None) -> Iterator[None]:
        """Let the kernel check lengths only where a test holds, as in a conditional expression, or nowhere if None."""
        self._path.append(test)
        yield
        self._path.pop()

    def required(self, one: ast.expr, other: ast.expr, text: str, ones: Sequence[ast.expr] = ()) -> list[ast.stmt]:
        """Note that two lengths must be equal, and return the statements that check it.

        - `text`: the words of the error.
        - `ones`: those of the two that may be 1 instead.
        """
        test = _test(one, other, ones)
        if test is None:
            return []
        known = [each for length in (one, other, *ones) if (each := self.made_of(length, self._of_launch)) is not None]
        if len(known) < 2 + len(ones):
            self._are_all = False
        else:
            of_launch = _test(known[0], known[1], known[2:])
            if of_launch is None:
                return []
            self._note(of_launch, known)
        return self._checks(test, text)

    def required_element(self, length: ast.expr, text: str) -> list[ast.stmt]:
        """Note that an axis must have elements, and return the statements that check it.

        - `text`: the words of the error.
        """
        known = self.made_of(length, self._of_launch)
        if isinstance(known, ast.Constant) and value_of_length(known) > 0:
            return []
        if known is None:
            self._are_all = False
        else:
            self._note(expression("LENGTH > 0", LENGTH=known), [known])
        return self._checks(expression("LENGTH > 0", LENGTH=length), text)

    def _note(self, test: ast.expr, lengths: Sequence[ast.expr]) -> None:
        """Note a condition that the launch decides."""
        self._tests[f"({ast.unparse(test)})"] = None
        self._read_integers |= any(map(_reads_integers, lengths))

    def _checks(self, test: ast.expr, text: str) -> list[ast.stmt]:
        """The statements that check a condition, where the kernel comes to it."""
        paths = [each for each in self._path if each is not None]
        if not self._are_checked or len(paths) < len(self._path):
            return []
        for each in paths:
            test = expression("not PATH or TEST", PATH=each, TEST=test)
        return statements(f"if not TEST:\n    raise kapi_ValueError({text!r})", TEST=test)

    def made_of(self, node: ast.expr, leaf: Callable[[str], ast.expr | None]) -> ast.expr | None:
        """A length made of what `leaf` gives for its variables and extents; None if it gives none for one of them."""
        try:
            return self._made_of(node, leaf)
        except LookupError:
            return None

    def _made_of(self, node: ast.expr, leaf: Callable[[str], ast.expr | None]) -> ast.expr:
        found: ast.expr | None = None
        match node:
            case ast.Constant(int()):
                found = node
            case ast.Name(name) if name in self.values:
                found = self._made_of(self.values[name], leaf)
            case ast.Call(ast.Name("len"), [ast.Name(name)], []):
                found = leaf(f"{name}.shape[0]")
            case ast.Call(ast.Name(name) as function, args, []) if name in _FUNCTIONS:
                found = ast.Call(function, [self._made_of(each, leaf) for each in args], [])
            case ast.UnaryOp(ast.USub() as sign, operand):
                found = ast.UnaryOp(sign, self._made_of(operand, leaf))
            case ast.BinOp(left, ast.Add() | ast.Sub() | ast.Mult() as operation, right):
                found = ast.BinOp(self._made_of(left, leaf), operation, self._made_of(right, leaf))
            case ast.BinOp(left, ast.FloorDiv() | ast.Mod() as operation, ast.Constant(int(value)) as right) if value:
                found = ast.BinOp(self._made_of(left, leaf), operation, right)
            case ast.Name() | ast.Subscript(ast.Attribute(ast.Name(), "shape"), ast.Constant()):
                found = leaf(ast.unparse(node))
        if found is None:
            raise LookupError(ast.unparse(node))
        return found


def _test(one: ast.expr, other: ast.expr, ones: Sequence[ast.expr]) -> ast.expr | None:
    """The test that lengths are equal, or one of some is 1; None where that is sure."""
    if ast.unparse(one) == ast.unparse(other) or any(ast.unparse(each) == "1" for each in ones):
        return None
    test = expression("ONE == OTHER", ONE=one, OTHER=other)
    for each in ones:
        if not isinstance(each, ast.Constant):
            test = expression("TEST or LENGTH == 1", TEST=test, LENGTH=each)
    return test


def _reads_integers(node: ast.expr) -> bool:
    nodes = list(ast.walk(node))
    owners = {id(each.value) for each in nodes if isinstance(each, ast.Attribute)}
    return any(isinstance(each, ast.Name) and id(each) not in owners and each.id not in _FUNCTIONS for each in nodes)
