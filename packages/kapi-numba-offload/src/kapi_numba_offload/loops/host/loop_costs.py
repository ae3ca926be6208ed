"""Costs of a loop, on a GPU and on its host: from its statements, and its bounds and extents before it runs."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import CodeType
from typing import Any, NamedTuple

import numpy as np

from kapi_numba_offload.analysis.syntax import substituted
from kapi_numba_offload.libraries.arrays import is_device_array

__all__ = [
    "COPIED_BYTE",
    "COPY",
    "LoopCosts",
    "Seconds",
    "StatementCosts",
    "UNCOUNTED",
    "CountedLoop",
    "codes_of",
    "bound",
    "known_values",
    "numbers_of",
]

# Seconds, measured on an H100 and its host; only their order of magnitude counts.
COPY = 60e-6  # of a copy between host and device, and its wait
COPIED_BYTE = 1 / 5e9  # of such a copy, in memory that is not pinned
_LAUNCH = 20e-6  # of a statement: its share of a fused kernel, or a call of the library
_VIEW = 3e-6  # of a view that is made in each iteration
_READ = 60e-6  # of an element that the host reads or stores
_CALL = 1e-6  # of a statement by NumPy
_OPERATION = 0.5e-9  # of the host, on an element
_SCATTERED = 4  # times as much where each element is in a cache line of its own
_MULTIPLICATION = 0.25e-9  # of the host, in a product of matrices
_BARRIER = 0.5e-6  # of a statement by one work-group, and of an element: a barrier, and the latency of memory
_COMBINED = 1.5e-6  # of a product by one work-group: its work-items combine what they have
_OF_GROUP = 0.1  # of what an operation takes the host

Largest = Callable[[int | None, int], int]
"""The most elements along so many axes of an array, or that so many loops within a `prange` loop work on."""

UNCOUNTED = 16
"""Iterations that count for a loop whose bounds the values before it do not determine."""

_FUNCTIONS = {"len": len, "min": min, "max": max, "abs": abs, "int": int}
_PARTS = (
    ast.expr_context, ast.operator, ast.unaryop, ast.BinOp, ast.UnaryOp, ast.Constant, ast.Name, ast.Subscript,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class StatementCosts:
    """The factors of the cost of a statement on arrays.

    Attributes
    ----------
    axes : int or None
        How many axes it works on; None if that is not known.
    loops : int
        How many loops and rows are nested in it, if it is a `prange` loop; 0 for others.
    operations : int
        Its operations on arrays.
    of_products : int
        How many axes the operands of its products of matrices have, 0 without one.
    elements : int
        Single elements that it reads and stores.
    is_scattered : bool
        Whether it works on columns: arrays whose last axis has an index.
    views : int
        Rows and other parts of arrays that variables choose: what does not change is made before the loop.
    """

    axes: int | None
    loops: int
    operations: int
    of_products: int
    elements: int
    is_scattered: bool
    views: int = 0

    def on_device(self) -> float:
        """Seconds on a GPU, whose work is little compared with its launch."""
        return _LAUNCH + self.views * _VIEW + self.elements * _READ

    def in_group(self, largest: Largest) -> tuple[float, float]:
        """Seconds that one work-group waits, and that it works."""
        work = largest(self.axes, self.loops) * self.operations * _OPERATION
        work += largest(self.of_products, 0) * _MULTIPLICATION if self.of_products else 0
        waiting = _BARRIER * (1 + self.elements) + (_COMBINED if self.of_products else 0)
        return waiting, work * _OF_GROUP

    def on_host(self, largest: Largest) -> float:
        """Seconds on the host."""
        work = largest(self.axes, self.loops) * self.operations * _OPERATION * (_SCATTERED if self.is_scattered else 1)
        return _CALL + work + (largest(self.of_products, 0) * _MULTIPLICATION if self.of_products else 0)


class Seconds(NamedTuple):
    """Seconds on the device, a launch at a time; on the host, without copies; and in one launch of one work-group.

    - `waiting`: those of a work-group in which it waits for barriers and memory; it works in the others.
    """

    on_device: float = 0.0
    on_host: float = 0.0
    waiting: float = 0.0
    working: float = 0.0


@dataclass(frozen=True, slots=True)
class CountedLoop:
    """A loop whose iterations values may tell.

    - `variable`: what it counts with.
    - `bounds`: the arguments of `range`, or the length of what is iterated; None for other loops.
    """

    variable: str | None
    bounds: tuple[CodeType, ...] | None

    def iterations(self, values: Mapping[str, Any]) -> range | None:
        """The iterations; None if the values do not determine them."""
        lengths = None if self.bounds is None else numbers_of(self.bounds, values)
        try:
            return None if lengths is None else range(*lengths)
        except (TypeError, ValueError):  # such as a step of 0
            return None

    def middle(self, values: Mapping[str, Any], otherwise: int = UNCOUNTED) -> tuple[int, Mapping[str, Any]]:
        """The number of iterations, or another one where values do not show it, and the values in the middle one."""
        iterations = self.iterations(values)
        if iterations and self.variable is not None:
            values = {**values, self.variable: iterations[len(iterations) // 2]}
        return otherwise if iterations is None else len(iterations), values


@dataclass(frozen=True, slots=True)
class LoopCosts(CountedLoop):
    """The factors of the cost of a loop nest.

    - `statements`: those on arrays in its own body.
    - `inner`: the other loops in its body.
    """

    statements: tuple[StatementCosts, ...]
    inner: tuple[LoopCosts, ...]

    @property
    def names(self) -> frozenset[str]:
        """The names in bounds of its loops."""
        own = {name for each in self.bounds or () for name in each.co_names}
        return frozenset(own).union(*(each.names for each in self.inner))

    def seconds(self, values: Mapping[str, Any], largest: Largest) -> Seconds:
        """Seconds that a run takes.

        A loop whose bounds depend on the variable of one around it counts as for the middle of its range.

        Parameters
        ----------
        values : mapping
            The integers and the extents of the arrays that it is given.
        largest : callable
            What gives the most elements that a statement works on.
        """
        times, values = self.middle(values)
        inner = [each.seconds(values, largest) for each in self.inner] if times else []
        own = [Seconds(each.on_device(), each.on_host(largest), *each.in_group(largest)) for each in self.statements]
        return Seconds(*(times * sum(each) for each in zip(*own, *inner, strict=True))) if own or inner else Seconds()

    def count(self, values: Mapping[str, Any]) -> int:
        """The number of statements on arrays in a run, in loops that count as for `seconds`."""
        times, values = self.middle(values)
        return times * (len(self.statements) + sum(each.count(values) for each in self.inner)) if times else 0


class _Extents:
    """The extents of an array, for the bounds of loops."""

    def __init__(self, array: Any) -> None:
        self.shape, self.size, self.ndim = array.shape, array.size, array.ndim

    def __len__(self) -> int:
        return int(self.shape[0])


def known_values(named: Mapping[str, Any]) -> dict[str, Any]:
    """The integers, and the extents of device arrays, among variables: what bounds and indices are made of."""
    made: dict[str, Any] = {}
    for name, each in named.items():
        if is_device_array(each):
            made[name] = _Extents(each)
        elif isinstance(each, (int, np.integer)):
            made[name] = int(each)
    return made


def bound(node: ast.expr, constant: Callable[[ast.expr], Any], *, powers: bool = False) -> CodeType | None:
    """The code of a bound that is computed from integers and the extents of arrays; None for any other.

    Parameters
    ----------
    node : ast.expr
        The bound.
    constant : callable
        The value of a name from outside of the function, given its node.
    powers : bool
        Whether powers may be in it, which may be large, or no integers.
    """
    if not all(_is_part(each) or (powers and isinstance(each, ast.Pow)) for each in ast.walk(node)):
        return None

    def integer(name: ast.Name) -> ast.Constant | None:
        value = constant(name)
        return ast.Constant(value) if type(value) is int else None

    made = ast.fix_missing_locations(ast.Expression(substituted(node, integer)))
    return compile(made, "<bound>", "eval")


def codes_of(nodes: Sequence[ast.expr], code: Callable[[ast.expr], CodeType | None]) -> tuple[CodeType, ...] | None:
    """The codes of all of the bounds; None if one of them has none."""
    found = tuple(each for each in map(code, nodes) if each is not None)
    return found if len(found) == len(nodes) else None


def numbers_of(codes: Sequence[CodeType], values: Mapping[str, Any]) -> tuple[int, ...] | None:
    """The integers that codes of `bound` give for values; None for one that only the function itself knows."""
    try:
        found = [eval(each, {"__builtins__": _FUNCTIONS}, values) for each in codes]
    except (ArithmeticError, AttributeError, LookupError, NameError, TypeError, ValueError):
        return None
    return tuple(found) if all(isinstance(each, int) for each in found) else None


def _is_part(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id in _FUNCTIONS and not node.keywords
    if isinstance(node, ast.Attribute):
        return node.attr in ("shape", "size", "ndim")
    return isinstance(node, _PARTS) and not isinstance(node, ast.Pow)
