"""Complex numbers in order: by their real parts, then by their imaginary parts, and nowhere if a part is nan.

So NumPy's arrays order them. Its scalars look at the imaginary parts of equal real parts alone, and take the arrays'
way where their types differ; the rewritten kernel gives the operators numbers that always take it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["ordered"]


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
