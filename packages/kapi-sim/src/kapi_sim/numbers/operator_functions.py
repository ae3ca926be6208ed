"""The functions of the module `operator` as kernels see them: each computes what its operator does in a kernel."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from kapi_sim.numbers.arithmetic import checked_ring, floor_divide, power, remainder, shift
from kapi_sim.numbers.complex_operands import ordered, with_double
from kapi_sim.numbers.fitting import counted

__all__ = ["FUNCTIONS"]

_Binary = Callable[[Any, Any], Any]


def _ring(operation: _Binary) -> _Binary:
    def function(left: Any, right: Any) -> Any:
        return checked_ring(operation(with_double(left, right), right))

    return function


def _comparison(compare: _Binary) -> _Binary:
    def function(left: Any, right: Any) -> Any:
        return compare(ordered(counted(left)), ordered(counted(right)))

    return function


def _negative(number: Any) -> Any:
    return checked_ring(-number)


_BINARY: dict[str, _Binary] = {
    "add": _ring(operator.add),
    "sub": _ring(operator.sub),
    "mul": _ring(operator.mul),
    "truediv": _ring(operator.truediv),
    "pow": _ring(power),
    "lshift": _ring(shift),
    "floordiv": floor_divide,
    "mod": remainder,
}
_COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")

FUNCTIONS: dict[Any, Callable[..., Any]] = {
    operator.neg: _negative,
    **{getattr(operator, name): function for name, function in _BINARY.items()},
    # Numbers never change in place.
    **{getattr(operator, f"i{name}"): function for name, function in _BINARY.items()},
    **{function: _comparison(function) for function in (getattr(operator, name) for name in _COMPARISONS)},
}
"""The replacements in a kernel of functions of `operator`; those that are left out compute the same."""
