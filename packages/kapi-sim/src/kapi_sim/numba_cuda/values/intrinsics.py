"""Functions of single instructions: bits, fused multiplication, selection."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from kapi_sim.errors import DtypeError
from kapi_sim.items.convergence import DialectIntrinsic
from kapi_sim.numba_cuda.values.dtypes import Narrow
from kapi_sim.numbers.arithmetic import fused_to_odd

__all__ = ["brev", "cbrt", "clz", "ffs", "fma", "nanosleep", "popc", "selp"]


def _bits(word: str, x: Any) -> tuple[int, int]:
    """Return an integer's bits, and how many it has."""
    if isinstance(x, (bool, np.bool_)) or not isinstance(x, (int, np.integer)):
        raise DtypeError(f"argument of cuda.{word} must be an integer, got {x!r}", code="operator-operands")
    is_narrow = isinstance(x, Narrow) or (isinstance(x, np.integer) and x.itemsize <= 4)
    width = 32 if is_narrow else 64
    return int(x) & ((1 << width) - 1), width


class Bits(DialectIntrinsic):
    """A function of the bits of an integer.

    Parameters
    ----------
    name : str
        As programs call it.
    function : callable
        Takes the bits, and how many there are.
    """

    asks_for_width: ClassVar[bool] = True

    def __init__(self, name: str, function: Callable[[int, int], int]) -> None:
        super().__init__(name)
        self._function = function

    def __call__(self, x: Any) -> int:
        """Return what the function gives for the integer `x`, of 32 bits or of 64."""
        return self._function(*_bits(self.__name__, x))


popc = Bits("popc", lambda bits, width: bits.bit_count())
clz = Bits("clz", lambda bits, width: width - bits.bit_length())
ffs = Bits("ffs", lambda bits, width: (bits & -bits).bit_length())
brev = Bits("brev", lambda bits, width: int(f"{bits:0{width}b}"[::-1], 2))


class NumberFunction(DialectIntrinsic):
    """A function of numbers."""

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        super().__init__(name)
        self._function = function

    def __call__(self, *args: Any) -> Any:
        """Return what the function gives."""
        return self._function(*args)


def _fma(a: Any, b: Any, c: Any) -> Any:
    kind = np.result_type(*(x if isinstance(x, np.generic) else np.float64 for x in (a, b, c)))
    if kind.itemsize < 8:
        return kind.type(fused_to_odd(float(a), float(b), float(c)))
    x, y, z = float(a), float(b), float(c)
    if not (math.isfinite(x) and math.isfinite(y) and math.isfinite(z)):
        return np.float64(x * y + z)
    # Exact numbers, rounded once.
    total = Fraction(x) * Fraction(y) + Fraction(z)
    return np.float64(total) if total else np.float64(x * y + z)


def _cbrt(x: Any) -> Any:
    kind = type(x) if isinstance(x, np.floating) else np.float64
    near = math.cbrt(x)
    if not math.isfinite(near) or not near:
        return kind(near)
    # The C library's may be one place off.
    candidates = (near, math.nextafter(near, 0.0), math.nextafter(near, math.inf * near))
    return kind(min(candidates, key=lambda each: abs(Fraction(each) ** 3 - Fraction(float(x)))))


def _nanosleep(ns: Any) -> None:
    if isinstance(ns, bool) or not isinstance(ns, (int, np.integer)):
        raise DtypeError(f"ns of cuda.nanosleep must be an integer, got {ns!r}", code="operator-operands")


fma = NumberFunction("fma", _fma)
cbrt = NumberFunction("cbrt", _cbrt)
selp = NumberFunction("selp", lambda a, b, c: b if a else c)
nanosleep = NumberFunction("nanosleep", _nanosleep)
