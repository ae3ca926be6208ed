"""Python's builtin functions as kernels see them: `abs`, `all`, `any`, `min`, `max` and others.

Weak integers have 64 bits, and what is chosen among several numbers has the type that holds them all.
"""

from __future__ import annotations

import functools
import itertools
import math
import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from kapi_sim.errors import DtypeError, KernelCompilationError
from kapi_sim.language.promotion import operand_of_class, scalar_class, unify
from kapi_sim.numbers.arithmetic import checked_ring, power
from kapi_sim.numbers.complex_operands import ordered
from kapi_sim.numbers.fitting import check_wide_literals_fit
from kapi_sim.short_repr import short_repr

__all__ = ["BUILTINS", "shared_type"]

_MOST_DIGITS = 400
"""No number is rounded any further, or less, by more digits."""
MAX_ITERATIONS_ = 2**40
"""No loop has as many iterations."""
_INTEGRAL_DIGITS = 20
"""The digits that a number of 64 bits may have."""


def _absolute(x: Any) -> Any:
    if type(x) is complex:
        return math.hypot(x.real, x.imag)  # Python 3.11 may take nan for an overflow that came before it
    return checked_ring(abs(x))


def _power(base: Any, exp: Any) -> Any:
    return checked_ring(power(base, exp))


def _round(number: Any, ndigits: Any = None) -> Any:
    if ndigits is None:
        return checked_ring(round(number))
    digits = max(-_MOST_DIGITS, min(operator.index(ndigits), _MOST_DIGITS))
    if isinstance(number, np.integer):
        # NumPy does it in floats, which have not all digits of 64 bits.
        integral = round(int(number), max(digits, -_INTEGRAL_DIGITS))
        return np.uint64(integral % 2**64).astype(number.dtype)
    if type(number) is float:
        # Scaled, rounded and scaled back, as NumPy does it: a device has no decimal digits to round to.
        with np.errstate(all="ignore"):
            return float(round(np.float64(number), digits))
    return checked_ring(round(number, digits))


def _sum(iterable: Any, start: Any = 0) -> Any:
    dtype = getattr(iterable, "dtype", None)
    if dtype is not None and len(iterable) == 0:
        # Of no elements as of some: the type is that of the start and an element.
        return type(start + dtype.type(0))(start)
    if type(iterable) is range and iterable and isinstance(start, int):
        first, last = iterable[0], iterable[-1]  # there may be more values than `len` takes
        return checked_ring(start + (first + last) * ((last - first) // iterable.step + 1) // 2)
    return checked_ring(sum(iterable, start))


def _require_held(what: str, value: int) -> None:
    """Refuse what an end of a range has, or a count, that a device's 64 bits with a sign do not hold."""
    if not -(2**63) <= value < 2**63:
        raise DtypeError(f"{what} must fit int64, got {short_repr(value)}", code="integer-too-wide")


def _range(*ends: Any) -> range:
    made = range(*ends)
    if len(ends) > 1 and made:
        _require_held("start of range()", made.start)
        if made.start != made[-1]:
            _require_held("step of range()", made.step)
            # A value beyond 64 bits that is so many iterations away is never seen.
            if made[-1] >= 2**63 and (2**63 - made.start) // made.step < MAX_ITERATIONS_:
                _require_held("each value of range()", made[-1])
    return made


class _SizedIterator:
    """An iterator of Python's with the number of its values, which `zip` has to know before it takes one."""

    __slots__ = ("_iterator", "_length")

    def __init__(self, iterator: Iterator[Any], length: int) -> None:
        self._iterator = iterator
        self._length = length

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[Any]:
        return self._iterator  # itself: an access is one of the frame that asks for the next value


def _enumerate(iterable: Any, start: Any = 0) -> Any:
    _require_held("start of enumerate()", operator.index(start))
    numbered = enumerate(iterable, start) if start < 2**62 else _numbered(iterable, operator.index(start))
    return _SizedIterator(numbered, len(iterable))


def _zip(*sequences: Any, **words: Any) -> Any:
    """`zip` that takes no value past the end of the shortest: it would be an access of which the kernel has none."""
    if words or not sequences:
        raise KernelCompilationError(
            f"zip() takes sequences only in a kernel, got {', '.join(words) or 'none'}", code="call-arguments"
        )
    shortest = min(map(len, sequences))
    return _SizedIterator(zip(*(itertools.islice(each, shortest) for each in sequences), strict=True), shortest)


def _numbered(iterable: Any, start: int) -> Iterator[tuple[int, Any]]:
    for number, value in enumerate(iterable, start):
        yield checked_ring(number), value


def _reversed(sequence: Any) -> Any:
    return sequence[::-1] if isinstance(sequence, range) else _SizedIterator(reversed(sequence), len(sequence))


def _any(iterable: Any) -> bool:
    if type(iterable) is range:
        return bool(iterable) and (iterable[0] != 0 or iterable[-1] != 0)
    return any(iterable)


def _all(iterable: Any) -> bool:
    return 0 not in iterable if type(iterable) is range else all(iterable)


def _tuple(*members: Any) -> Any:
    if len(members) > 1 or not all(isinstance(each, tuple) for each in members):
        given = ", ".join(map(short_repr, members))
        raise KernelCompilationError(
            f"tuple() takes tuples only in a kernel, got {given}: write the members out", code="call-arguments"
        )
    return tuple(*members)


def _same(value: Any) -> Any:
    return value


@functools.lru_cache(maxsize=1024)
def shared_type(kinds: tuple[type, ...]) -> Callable[[Any], Any]:
    """Return what converts each number to the one type that holds numbers of all these types.

    - `kinds`: python's and NumPy's number types, none of them complex.
    """
    strong = [kind for kind in kinds if issubclass(kind, np.generic)]
    if not strong:
        return float if float in kinds and set(kinds) <= {float, int, bool} and len(set(kinds)) > 1 else _same
    shared = unify(*map(operand_of_class, kinds))
    kind = scalar_class(shared)

    def convert(value: Any) -> Any:
        try:
            return kind(value)
        except OverflowError:
            raise DtypeError(
                f"a Python integer beside a NumPy number must fit {shared}, got {short_repr(value)}: "
                "convert the other, as in `numpy.int64(...)`",
                code="number-unfit",
            ) from None

    return convert


def _shared_complex(kinds: tuple[type, ...]) -> Callable[[Any], Any]:
    """Return the same for types of which one is complex."""
    return scalar_class(unify(*map(operand_of_class, kinds)))


def _hold_no_wide(numbers: Sequence[Any]) -> None:
    """Refuse a number of 2**63 or more among others that are not: all of them have 64 bits with a sign."""
    # NumPy's truth values cannot be compared with integers of more bits than its own have.
    narrow = [each for each in numbers if int(each) < 2**63]
    if len(narrow) < len(numbers):
        for each in narrow:
            check_wide_literals_fit(each)


def _extremum(function: Callable[..., Any]) -> Callable[..., Any]:
    def chosen(*numbers: Any, **words: Any) -> Any:
        kinds = tuple(map(type, numbers))
        if kinds == (range,) and not words and numbers[0]:
            return function(numbers[0][0], numbers[0][-1])
        if kinds == (tuple,) and not words and len(numbers[0]) > 1:
            return chosen(*numbers[0])
        if words or len(numbers) < 2:
            return function(*numbers, **words)
        if any(issubclass(k, tuple) for k in kinds):
            raise KernelCompilationError(
                f"{function.__name__}() compares numbers only in a kernel, got {', '.join(map(short_repr, numbers))}: "
                "compare the members with `if`",
                code="call-arguments",
            )
        if any(issubclass(k, (complex, np.complexfloating)) for k in kinds):
            return _shared_complex(kinds)(function(*numbers, key=ordered))
        if not all(issubclass(k, (int, float, np.generic)) for k in kinds):
            return function(*numbers)
        if set(kinds) <= {int, bool, np.bool_}:
            _hold_no_wide(numbers)
        if len(set(kinds)) == 1:
            return checked_ring(function(*numbers))
        return function(*map(shared_type(kinds), numbers))

    chosen.__name__ = chosen.__qualname__ = function.__name__
    return chosen


BUILTINS: dict[Any, Callable[..., Any]] = {
    abs: _absolute,
    all: _all,
    any: _any,
    enumerate: _enumerate,
    min: _extremum(min),
    max: _extremum(max),
    pow: _power,
    range: _range,
    reversed: _reversed,
    round: _round,
    sum: _sum,
    tuple: _tuple,
    zip: _zip,
}
"""Builtin functions that kernels do not get as they are."""
