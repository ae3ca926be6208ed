"""Lengths that operands must have in common, or extrema at least: a loop over elements would not notice a wrong one.

A launch decides most of them, by its shapes and integers. Where these differ, the kernel is compiled with checks, and
raises if it comes to such operands. Lengths that an iteration decides are checked in such a kernel alone.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from kapi_numba_offload.analysis.syntax import expression, statements
from kapi_numba_offload.loops.body.launches.integer_expressions import FUNCTIONS, evaluated

__all__ = ["EqualLengths", "LengthConditions"]


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
        text = f"lambda {', '.join(names)}: {' and '.join(self.tests) or True}"
        test: Callable[..., bool] = evaluated(text, {})

        def hold(*values: Any) -> bool:
            try:
                return test(*values)
            except ZeroDivisionError:
                return False

        return hold


class EqualLengths:
    """Conditions that lengths are equal.

    - `resolve`: a length as an expression of what the launch gives; None if that does not tell it.
    - `are_checked`: whether the kernel checks the lengths that it comes to.
    """

    def __init__(self, resolve: Callable[[ast.expr], ast.expr | None], *, are_checked: bool) -> None:
        self._resolve, self._are_checked = resolve, are_checked
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

    def required(
        self, test: Callable[[Sequence[ast.expr]], ast.expr | None], lengths: Sequence[ast.expr], text: str
    ) -> list[ast.stmt]:
        """Note a condition of lengths, and return the statements that check it where the kernel comes to it.

        - `test`: the condition for lengths that are spelled so; None where it is sure.
        - `text`: the words of the error.
        """
        made, known = test(lengths), [each for length in lengths if (each := self._resolve(length)) is not None]
        if made is None or (len(known) == len(lengths) and (of_launch := test(known)) is None):
            return []
        if len(known) < len(lengths):
            self._are_all = False
        else:
            assert of_launch is not None
            self._tests[f"({ast.unparse(of_launch)})"] = None
            self._read_integers |= any(map(_reads_integers, known))
        paths = [each for each in self._path if each is not None]
        if not self._are_checked or len(paths) < len(self._path):
            return []
        for each in paths:
            made = expression("not PATH or TEST", PATH=each, TEST=made)
        return statements(f"if not TEST:\n    raise kapi_ValueError({text!r})", TEST=made)


def _reads_integers(node: ast.expr) -> bool:
    nodes = list(ast.walk(node))
    owners = {id(each.value) for each in nodes if isinstance(each, ast.Attribute)}
    return any(isinstance(each, ast.Name) and id(each) not in owners and each.id not in FUNCTIONS for each in nodes)
