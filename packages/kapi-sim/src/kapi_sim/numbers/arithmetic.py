"""Number rules that plain Python does not follow by itself.

NumPy's scalars bring most of kapi's rules: array elements are strong, Python numbers weak.  What is
left stands here: integers are not divided by zero, and weak integers have 64 bits.  The rewritten
kernel calls these in place of the operators.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from kapi_sim.errors import DtypeError
from kapi_sim.numbers.complex_operands import with_double
from kapi_sim.short_repr import short_repr

__all__ = [
    "FAR",
    "checked_ring",
    "inner_ring",
    "complex_of_parts",
    "conversion",
    "floor_divide",
    "fused_to_odd",
    "power",
    "remainder",
    "saturated",
    "shift",
    "stored_integer",
    "too_wide",
    "wrapped_power",
    "wrapped_ring",
    "wrapped_shift",
]

_SMALLEST = -(2**63)
_LARGEST = 2**63 - 1
FAR = 1024
"""An exponent or a count of bits above this one gives a number that no later operation brings back to 64 bits."""
_INTEGERS = (int, np.integer, np.bool_)
_PYTHON = (bool, int, float, complex)
_COMPLEX = frozenset({complex, np.complex64, np.complex128})


def floor_divide(left: Any, right: Any) -> Any:
    """Return ``left // right``; two integers with ``right`` zero are an error."""
    if isinstance(right, _INTEGERS) and not right and isinstance(left, _INTEGERS):
        raise ZeroDivisionError(f"divisor of // must not be zero, got {left!r} // {right!r}")
    return checked_ring(left // right)


def remainder(left: Any, right: Any) -> Any:
    """Return ``left % right``; two integers with ``right`` zero are an error."""
    if isinstance(right, _INTEGERS) and not right and isinstance(left, _INTEGERS):
        raise ZeroDivisionError(f"divisor of % must not be zero, got {left!r} % {right!r}")
    return left % right


def fused_to_odd(x: float, y: float, z: float) -> float:
    """Return ``x * y + z`` of float32 or float16 numbers so that rounding it to their type rounds it once.

    The product is exact.  Where the sum is not, of the two floats around it the one with an odd last bit is taken: it
    lies on the same side as the sum of whatever is halfway between two narrower floats.
    """
    product = x * y
    total = product + z
    if not math.isfinite(total):
        return total
    rounded = total - product
    lost = (product - (total - rounded)) + (z - rounded)
    if lost and int(math.frexp(total)[0] * 2.0**53) % 2 == 0:
        return math.nextafter(total, math.copysign(math.inf, lost))
    return total


def _is_integral(left: Any, right: Any) -> bool:
    """Whether two integers have a common integer type: that of uint64 and a signed one is float64."""
    return np.result_type(left, right).kind in "biu"


def power(left: Any, right: Any) -> Any:
    """Return ``left ** right``, unless Python gives it another type than a device does.

    Raises `ValueError` for an integer to the power of a negative one, known at run time, which is a float in Python;
    and for a negative float of Python's to the power of a fraction, which is complex there.
    """
    if isinstance(right, _INTEGERS) and right < 0 and isinstance(left, _INTEGERS) and _is_integral(left, right):
        raise ValueError(
            f"exponent of ** must not be negative where both are integers, got {left!r} ** {right!r}: "
            "write the base as a float, such as 2.0"
        )
    if _is_far_power(left, right):
        raise too_wide(f"{short_repr(left)} ** {short_repr(right)}")
    if complex in (left.__class__, right.__class__) and left.__class__ in _PYTHON and right.__class__ in _PYTHON:
        return _complex_power(left, right)
    result = with_double(left, right) ** right
    if result.__class__ is complex:
        raise ValueError(
            f"pow({left!r}, {right!r}) is complex in Python and nan on a device: "
            "write complex(x) if that is meant, else keep the base from being negative"
        )
    return result


def _complex_power(left: complex, right: complex) -> complex:
    """Powers of Python's numbers by the rules of NumPy and C: Python's overflow on their way to 0, or are nan there."""
    if not left:
        left**right  # an error of its own
    with np.errstate(all="ignore"):
        return complex(np.power(np.complex128(left), np.complex128(right)))


def wrapped_power(left: Any, right: Any) -> Any:
    """Return ``left ** right`` as `power` does, a weak integer far beyond 64 bits wrapped to them."""
    return wrapped_ring(pow(left, right, 2**64)) if _is_far_power(left, right) else power(left, right)


def shift(left: Any, right: Any) -> Any:
    """Return ``left << right``; one far beyond 64 bits is an error before it takes all memory."""
    if _is_far_shift(left, right):
        raise too_wide(f"{short_repr(left)} << {short_repr(right)}")
    return left << right


def wrapped_shift(left: Any, right: Any) -> Any:
    """Return ``left << right``, a weak integer far beyond 64 bits wrapped to them."""
    return 0 if _is_far_shift(left, right) else left << right


def _is_far_power(left: Any, right: Any) -> bool:
    return isinstance(left, int) and isinstance(right, int) and right > FAR and not -2 < left < 2


def _is_far_shift(left: Any, right: Any) -> bool:
    return isinstance(left, int) and isinstance(right, int) and right > FAR and left != 0


def too_wide(value: str) -> DtypeError:
    """The error of a weak integer of more than 64 bits, which `value` shows."""
    return DtypeError(
        f"a Python integer in a kernel must fit 64 bits, got {value}: "
        "start from a NumPy scalar such as numpy.uint64(1) if wrapping is meant",
        code="integer-too-wide",
    )


def checked_ring(value: Any) -> Any:
    """Return the result of ``+ - * ** <<``, unless it is a weak integer of more than 64 bits."""
    if value.__class__ is int and not _SMALLEST <= value <= _LARGEST:
        raise too_wide(short_repr(value))
    if value.__class__ is _Wide:
        raise too_wide(short_repr(value.number))
    return value


class _Wide:
    """A weak integer of more than 64 bits inside a chain: integers may bring it back, floats are no operands."""

    __slots__ = ("number",)
    __array_ufunc__ = None  # NumPy's numbers leave their operations to this class

    def __init__(self, number: int) -> None:
        self.number = number

    def _with(self, operation: Callable[[Any, Any], Any], other: Any, is_left: bool) -> Any:
        if other.__class__ is _Wide:
            other = other.number
        elif not isinstance(other, (int, np.integer, np.bool_)):
            raise too_wide(short_repr(self.number))
        return inner_ring(operation(self.number, other) if is_left else operation(other, self.number))

    def __add__(self, other: Any) -> Any:
        return self._with(operator.add, other, True)

    def __radd__(self, other: Any) -> Any:
        return self._with(operator.add, other, False)

    def __sub__(self, other: Any) -> Any:
        return self._with(operator.sub, other, True)

    def __rsub__(self, other: Any) -> Any:
        return self._with(operator.sub, other, False)

    def __mul__(self, other: Any) -> Any:
        return self._with(operator.mul, other, True)

    def __rmul__(self, other: Any) -> Any:
        return self._with(operator.mul, other, False)

    def __pow__(self, other: Any) -> Any:
        return self._with(power, other, True)

    def __rpow__(self, other: Any) -> Any:
        raise too_wide(short_repr(self.number))

    def __lshift__(self, other: Any) -> Any:
        return self._with(shift, other, True)

    def __rlshift__(self, other: Any) -> Any:
        raise too_wide(short_repr(self.number))


def inner_ring(value: Any) -> Any:
    """Return an inner result of ``+ - * ** <<``; a weak integer of more than 64 bits such that no float takes it."""
    return _Wide(value) if value.__class__ is int and not _SMALLEST <= value <= _LARGEST else value


def wrapped_ring(value: Any) -> Any:
    """Return the result of ``+ - * ** <<``, a weak integer wrapped to 64 bits as a device does."""
    if value.__class__ is int and not _SMALLEST <= value <= _LARGEST:
        return (value - _SMALLEST) % 2**64 + _SMALLEST
    return value


def saturated(value: Any, dtype: np.dtype[Any]) -> Any:
    """Return what an element of the integer `dtype` takes of `value`.

    Of a float that is its whole part, held to the range of the dtype, and 0 of nan.
    """
    if value.__class__ is not float and not isinstance(value, np.floating):
        return value
    number = float(value)
    if number != number:
        return 0
    limits = np.iinfo(dtype)
    if number <= limits.min:
        return limits.min
    return limits.max if number >= limits.max else int(number)


def stored_integer(value: Any, dtype: np.dtype[Any]) -> Any:
    """Return what an array of the integer `dtype` takes of `value`.

    A float saturates, and an integer of NumPy's wraps: so do NumPy's arrays that are assigned to arrays, though of a
    single number some dtypes raise an error and others wrap.
    """
    if isinstance(value, np.integer) and value.__class__ is not dtype.type:
        return value.astype(dtype)
    return saturated(value, dtype)


def conversion(kind: type[Any]) -> Callable[[Any], Any]:
    """Return what a kernel calls for a real number type of Python's or NumPy's.

    An imaginary part is an error, as for a device, and of a float an integer type makes what a device makes.
    """
    dtype = np.dtype(np.int64) if kind is int else np.dtype(kind)

    def real(value: Any) -> Any:
        if value.__class__ in _COMPLEX:
            raise TypeError(f"argument of {kind.__name__}() must be a real number, got {short_repr(value)}: use .real")
        if isinstance(value, tuple):  # of which NumPy makes an array
            raise TypeError(f"argument of {kind.__name__}() must be a number, got {short_repr(value)}")
        return kind(value)

    def count(value: Any) -> Any:
        if value.__class__ in _COMPLEX or isinstance(value, tuple):
            return real(value)
        return checked_ring(kind(saturated(value, dtype)))

    return count if dtype.kind in "iu" else real


def complex_of_parts(real: Any, imag: Any) -> complex:
    """Return ``complex(real, imag)``; parts that are complex themselves are an error, as for a device."""
    for part in (real, imag):
        if part.__class__ in _COMPLEX:
            raise TypeError(f"parts of complex() must be real numbers, got {short_repr(part)}: write real + 1j * imag")
    return complex(real, imag)
