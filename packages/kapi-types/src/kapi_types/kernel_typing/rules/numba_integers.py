"""Numba's types of integer operations, for functions that declare them: arithmetic has 64 bits.

Elements and other NumPy numbers keep their types until an operation; then signed integers, bools and Python integers
are int64, and unsigned ones are uint64 among themselves. NumPy's functions, such as `numpy.add`, keep NumPy's types.

References
----------
Numba's documentation, "Integer width" (NBEP 1): integer arithmetic has the machine's width at least.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

from kapi_types._numba_compat import types
from kapi_types.kernel_typing.rules.promotion import Loop, as_strong, unify_scalars
from kapi_types.weak import is_weak

__all__ = ["declares_numba_integers", "numba_integers", "numba_loop", "numba_operands", "numba_unified"]

_ARITHMETIC = (operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod, operator.pow)
_BITWISE = (operator.and_, operator.or_, operator.xor)
_SHIFTS = (operator.lshift, operator.rshift)
_SIGNS = (operator.neg, operator.pos)


def numba_integers() -> None:
    """Declare, where a function names it, that its integers and those of the functions it calls are Numba's.

    The name alone is the declaration, as a statement of its own; it does nothing when it is run.
    """


def declares_numba_integers(function: FunctionType) -> bool:
    """Whether a function names `numba_integers`."""
    return any(function.__globals__.get(name) is numba_integers for name in function.__code__.co_names)


def numba_loop(function: Callable[..., Any], operands: Sequence[types.Type]) -> Loop | None:
    """The types of an operator on integers and bools, not all weak; None where NumPy's types are Numba's, too."""
    if not _are_integers(operands) or all(map(is_weak, operands)):
        return None
    are_bools = all(isinstance(each, types.Boolean) for each in operands)
    if len(operands) == 1:
        # Other numbers are negated as they are; what uses the result widens it.
        return Loop((types.int64,), types.int64) if function in _SIGNS and are_bools else None
    if function in _SHIFTS:
        operands = operands[:1]
    elif function not in _ARITHMETIC and (function not in _BITWISE or are_bools):
        return None
    wide = types.int64 if any(map(_is_signed, operands)) else types.uint64
    return Loop((wide, wide), wide)


def numba_operands(operands: tuple[types.Type, ...]) -> tuple[types.Type, ...]:
    """The operands of a function of NumPy's: a Python integer among NumPy's integers has 64 bits of its own."""
    return tuple(map(as_strong, operands)) if _are_integers(operands) and not all(map(is_weak, operands)) else operands


def numba_unified(first: types.Type, second: types.Type) -> types.Type | None:
    """The one type of a variable that is assigned both; None if no type holds both."""
    first, second = numba_operands((first, second))
    return unify_scalars(first, second)


def _are_integers(operands: Sequence[types.Type]) -> bool:
    return all(isinstance(each, (types.Integer, types.Boolean)) for each in operands)


def _is_signed(type_: types.Type) -> bool:
    return isinstance(type_, types.Boolean) or bool(type_.signed)
