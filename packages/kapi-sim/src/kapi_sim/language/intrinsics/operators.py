"""The operators of reductions and scans.

They are plain function objects, passed bare: ``reduce_over_group(group, x, kapi.plus)``.  Every back
end recognises them by identity.  On the host they compute what they say.

References
----------
SYCL 2020 specification, section 4.17.2, "Function objects".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = [
    "OPERATORS",
    "Operator",
    "bit_and",
    "bit_or",
    "bit_xor",
    "identity",
    "logical_and",
    "logical_or",
    "maximum",
    "minimum",
    "multiplies",
    "operator_row",
    "plus",
]


def plus(x: Any, y: Any) -> Any:
    """Return ``x + y``.

    Examples
    --------
    >>> plus(2, 3)
    5
    """
    return x + y


def multiplies(x: Any, y: Any) -> Any:
    """Return ``x * y``."""
    return x * y


def minimum(x: Any, y: Any) -> Any:
    """Return the smaller of `x` and `y`; the result is undefined if either is nan."""
    return y if y < x else x


def maximum(x: Any, y: Any) -> Any:
    """Return the larger of `x` and `y`; the result is undefined if either is nan."""
    return y if x < y else x


def bit_and(x: Any, y: Any) -> Any:
    """Return ``x & y``."""
    return x & y


def bit_or(x: Any, y: Any) -> Any:
    """Return ``x | y``."""
    return x | y


def bit_xor(x: Any, y: Any) -> Any:
    """Return ``x ^ y``."""
    return x ^ y


def logical_and(x: Any, y: Any) -> Any:
    """Return whether both `x` and `y` are true."""
    return x and y


def logical_or(x: Any, y: Any) -> Any:
    """Return whether `x` or `y` is true."""
    return x or y


@dataclass(frozen=True, slots=True)
class Operator:
    """One row of `OPERATORS`.

    Attributes
    ----------
    function : function
        The object that kernels name.
    identity : int or str
        What changes nothing: 0, 1, -1 (all bits set), ``"largest"`` or ``"smallest"`` of the dtype, an
        infinity where the dtype has one.  For bool 1 and -1 are true, and 0 is false.
    kinds : str
        The kinds of dtype that it takes, as NumPy's ``dtype.kind`` has them.  A weak int, float or bool
        counts as ``"i"``, ``"f"`` or ``"b"``.
    meaning : str
        One line.
    """

    function: Callable[[Any, Any], Any]
    identity: int | str
    kinds: str
    meaning: str

    @property
    def name(self) -> str:
        """The name as kernels spell it."""
        return self.function.__name__


OPERATORS: tuple[Operator, ...] = (
    Operator(plus, 0, "iuf", "sum; integers wrap"),
    Operator(multiplies, 1, "iuf", "product; integers wrap"),
    Operator(minimum, "largest", "iuf", "the smallest"),
    Operator(maximum, "smallest", "iuf", "the largest"),
    Operator(bit_and, -1, "biu", "bits set in all"),
    Operator(bit_or, 0, "biu", "bits set in any"),
    Operator(bit_xor, 0, "biu", "bits set in an odd number"),
    Operator(logical_and, 1, "b", "whether all are true"),
    Operator(logical_or, 0, "b", "whether any is true"),
)
"""All operators; each function stands in one row."""

_ROWS = {id(row.function): row for row in OPERATORS}


def operator_row(function: object) -> Operator | None:
    """Return the row of an operator, known by identity; `None` for what is none."""
    return _ROWS.get(id(function))


def identity(row: Operator, dtype: np.dtype[Any]) -> np.generic:
    """Return the element of `dtype` that changes nothing under the operator.

    Parameters
    ----------
    row : Operator
        Takes the dtype's kind.
    dtype : numpy.dtype
        Of the result.

    Examples
    --------
    >>> int(identity(operator_row(minimum), np.dtype("int32")))
    2147483647
    >>> float(identity(operator_row(maximum), np.dtype("float32")))
    -inf
    """
    if isinstance(row.identity, int):
        if dtype.kind == "u" and row.identity < 0:
            return _element(dtype, np.iinfo(dtype).max)
        return _element(dtype, row.identity)
    is_largest = row.identity == "largest"
    if dtype.kind == "f":
        return _element(dtype, np.inf if is_largest else -np.inf)
    limits = np.iinfo(dtype)
    return _element(dtype, limits.max if is_largest else limits.min)


def _element(dtype: np.dtype[Any], value: float) -> np.generic:
    made: np.generic = dtype.type(value)
    return made
