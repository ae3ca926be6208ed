"""Operators where one of Python's complex numbers meets a float64 number: the result is a complex128 number.

NumPy's float64 numbers are Python's floats as well.  A complex number of Python's takes one as its own kind, and the
result would be weak.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["OPERATORS", "with_double"]


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
"""What a rewritten kernel calls in the place of an operator, by the name of its class in `ast`."""
