"""Functions of the bits of integers.

They are plain functions: the host and the simulator compute what they say, and the compiler recognises them.  How many
bits there are is a question of the type: a NumPy integer has its own, and a Python integer is 64 bits wide.

References
----------
SYCL 2020 specification, section 4.17.6, "Integer functions".
"""

from __future__ import annotations

from typing import Any, TypeVar, overload

import numpy as np

from kapi_sim.errors import DtypeError

__all__ = ["clz", "ctz", "mul_hi", "popcount", "rotate"]

_Integer = TypeVar("_Integer", int, np.integer[Any])


def clz(x: _Integer) -> _Integer:
    """Return the number of zeros above the highest set bit; the number of bits for 0.

    Parameters
    ----------
    x : integer
        Of any type.

    Returns
    -------
    integer
        Of the type of `x`, as all of these functions do.

    Raises
    ------
    DtypeError
        If `x` is no integer, or a Python integer of more than 64 bits.

    Examples
    --------
    >>> clz(np.int8(1)), clz(1), clz(np.uint16(0))
    (np.int8(7), 63, np.uint16(16))
    """
    bits, width = _bits("clz", "x", x)
    return _as(x, width - bits.bit_length())


def ctz(x: _Integer) -> _Integer:
    """Return the number of zeros below the lowest set bit; the number of bits for 0.

    Raises
    ------
    DtypeError
        As for `clz`.

    Examples
    --------
    >>> ctz(np.int32(12)), ctz(np.int32(0))
    (np.int32(2), np.int32(32))
    """
    bits, width = _bits("ctz", "x", x)
    return _as(x, (bits & -bits).bit_length() - 1 if bits else width)


def popcount(x: _Integer) -> _Integer:
    """Return the number of set bits, in two's complement for negative integers.

    Raises
    ------
    DtypeError
        As for `clz`.

    Examples
    --------
    >>> popcount(np.uint32(7)), popcount(np.int8(-1))
    (np.uint32(3), np.int8(8))
    """
    bits, _width = _bits("popcount", "x", x)
    return _as(x, bits.bit_count())


def rotate(x: _Integer, n: Any) -> _Integer:
    """Return the bits of `x` rotated left by `n` places.

    Parameters
    ----------
    x : integer
        Of any type.
    n : integer
        Any number of places, taken modulo the number of bits; a negative one moves down.

    Raises
    ------
    DtypeError
        As for `clz`, of either.

    Examples
    --------
    >>> rotate(np.uint8(0b10010000), 1), rotate(np.uint8(1), -1)
    (np.uint8(33), np.uint8(128))
    """
    bits, width = _bits("rotate", "x", x)
    positions, _width = _bits("rotate", "n", n)
    positions %= width
    return _as(x, bits << positions | bits >> (width - positions))


@overload
def mul_hi(x: int, y: int) -> int: ...
@overload
def mul_hi(x: np.integer[Any], y: np.integer[Any] | int) -> Any: ...
@overload
def mul_hi(x: int, y: np.integer[Any]) -> Any: ...
def mul_hi(x: Any, y: Any) -> Any:
    """Return the upper half of the product of two integers.

    Parameters
    ----------
    x, y : integer
        Both become the integers of their common type, by NumPy's rules.

    Returns
    -------
    integer
        Of that type.

    Raises
    ------
    DtypeError
        If one is no integer or has more than 64 bits, or if their common type is none of integers.

    Examples
    --------
    >>> mul_hi(np.uint32(2**31), 6), mul_hi(np.int16(-1), np.int16(1)), mul_hi(2**62, 8)
    (np.uint32(3), np.int16(-1), 2)
    """
    _bits("mul_hi", "x", x)
    _bits("mul_hi", "y", y)
    if type(x) is int and type(y) is int:
        return x * y >> 64
    common = np.result_type(*(each if isinstance(each, np.integer) else int(each) for each in (x, y)))
    if common.kind not in "iu":
        raise DtypeError(
            f"x and y of mul_hi() must have a common type of integers, got {x.dtype} and {y.dtype}: convert one",
            code="bits-of-integer",
        )
    try:
        product = int(common.type(x)) * int(common.type(y))
    except OverflowError as error:
        raise DtypeError(f"literal must fit {common}: {error}", code="number-unfit") from None
    return _as(common.type(0), product >> common.itemsize * 8)


def _bits(word: str, name: str, value: Any) -> tuple[int, int]:
    """An integer's bits, as a number that is not negative, and how many there are."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise DtypeError(f"{name} of {word}() must be an integer, got {value!r}", code="bits-of-integer")
    width = 64 if isinstance(value, int) else value.itemsize * 8
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise DtypeError(
            f"{name} of {word}() must fit 64 bits, got {value}: start from a NumPy scalar such as numpy.uint64(1)",
            code="integer-too-wide",
        )
    return int(value) & ((1 << width) - 1), width


def _as(x: _Integer, bits: int) -> _Integer:
    """The integer of the type of `x` that has these bits, of which only as many count as there are."""
    if isinstance(x, int):
        return (bits + 2**63) % 2**64 - 2**63
    width = x.itemsize * 8
    bits &= (1 << width) - 1
    is_negative = x.dtype.kind == "i" and bits >> (width - 1)
    return type(x)(bits - (1 << width) if is_negative else bits)
