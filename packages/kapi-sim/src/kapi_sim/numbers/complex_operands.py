"""Complex numbers among operands: their order, and operators where Python's own have float64 operands.

They are in order by their real parts, then by their imaginary parts, and nowhere if a part is nan. So NumPy's arrays
order them; its scalars compare the imaginary parts of equal real parts alone, and the rewritten kernel gives the
operators numbers that are ordered as in arrays.

NumPy's float64 numbers are Python's floats as well. A complex number of Python's takes one as its own kind, and the
result would be weak; in a kernel it is a complex128 number.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["OPERATORS", "ordered", "with_double"]


class _Ordered:
    """A complex number among the operands of a comparison."""

    __slots__ = ("_number",)
    __array_ufunc__ = None
    """NumPy's numbers leave the comparison to this one."""
    __hash__ = None  # type: ignore[assignment]  # it is compared, and no more

    def __init__(self, number: Any) -> None:
        self._number = number

    def __lt__(self, other: Any) -> Any:
        return np.less(self._number, _plain(other))

    def __le__(self, other: Any) -> Any:
        return np.less_equal(self._number, _plain(other))

    def __gt__(self, other: Any) -> Any:
        return np.greater(self._number, _plain(other))

    def __ge__(self, other: Any) -> Any:
        return np.greater_equal(self._number, _plain(other))

    def __eq__(self, other: object) -> Any:
        return self._number == _plain(other)

    def __ne__(self, other: object) -> Any:
        return self._number != _plain(other)


def _plain(value: Any) -> Any:
    return value._number if value.__class__ is _Ordered else value


def ordered(value: Any) -> Any:
    """Return a number for ``< <= > >=``: one of NumPy's complex numbers is put where arrays put it."""
    return _Ordered(value) if isinstance(value, np.complexfloating) else value


def with_double(left: Any, right: Any) -> Any:
    """The left operand, as NumPy has it where it is one of Python's complex numbers and the right one a float64."""
    return np.complex128(left) if left.__class__ is complex and right.__class__ is np.float64 else left


def _operator(name: str, operation: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def operated(left: Any, right: Any) -> Any:
        return operation(with_double(left, right), right)

    operated.__name__ = f"complex_{name.lower()}"
    return operated


_OPERATIONS = {"Add": operator.add, "Sub": operator.sub, "Mult": operator.mul, "Div": operator.truediv}

OPERATORS = {name: _operator(name, operation) for name, operation in _OPERATIONS.items()}
"""The functions that a rewritten kernel calls for operators, by the name of their class in `ast`."""
