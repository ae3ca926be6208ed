"""Check of the types of numbers that come to a variable, choice or result on different control-flow paths.

A device has one type for all paths, and the simulator keeps the number of the path that was taken. Two strong types, or
an integer's with a Python float, are noted where they join. A Python number joined with a strong type is noted where an
operation or a store makes another number of it than in the strong type. An integer that the strong type does not hold
is an error, and so is None joined with anything else.
"""

from __future__ import annotations

import sys
import warnings
from collections import defaultdict
from typing import Any

import numpy as np

from kapi_sim.errors import DtypeError, KernelCompilationError, MixedTypesWarning
from kapi_sim.items.misuse import spelled_kind
from kapi_sim.language.source import SourceLocation, source_location
from kapi_sim.numbers.vectors import Vec

__all__ = ["ARGUMENT_TYPES", "CHECK_JOIN", "MixedTypeChecker", "argument_types"]

CHECK_JOIN = "_kapi_check_join"
"""The name of `MixedTypeChecker` in a rewritten function."""

ARGUMENT_TYPES = "_kapi_argument_types"
"""The name of `argument_types` in a rewritten function."""

_PYTHON = (int, float, complex)
_MAX_NUMBERS = 64  # of each join point


def argument_types(*values: Any) -> tuple[Any, ...]:
    """Return the types of a function's arguments: a device compiles the function for each list of them."""
    return tuple(getattr(value, "dtype", value.__class__) for value in values)


class _Join:
    """The values that came to one join point in one launch."""

    __slots__ = ("has_none", "high", "kind", "length", "low", "numbers")

    def __init__(self) -> None:
        self.kind: type[Any] | None = None  # the first strong type, or another class than a number's
        self.has_none = False
        self.length: int | None = None  # of the first vector
        self.low: int | None = None  # the lowest and the highest Python integer
        self.high: int | None = None
        self.numbers: set[float | complex] = set()  # Python's others

    def is_new(self, number: complex) -> bool:
        """Whether a Python number has to be compared with the strong type; it is one of the join from now on."""
        if isinstance(number, int):
            if self.low is not None and self.high is not None and self.low <= number <= self.high:
                return False
            self.low = number if self.low is None else min(self.low, number)
            self.high = number if self.high is None else max(self.high, number)
            return True
        if number in self.numbers or len(self.numbers) == _MAX_NUMBERS:
            return False
        self.numbers.add(number)
        return True


class MixedTypeChecker:
    """Notes join points to which numbers of different types come in one launch; a call returns the value."""

    __slots__ = ("_joins", "_noted")

    def __init__(self) -> None:
        self._joins: defaultdict[Any, _Join] = defaultdict(_Join)
        self._noted: set[str] = set()

    def __call__(self, index: int, name: str, value: Any, types: tuple[Any, ...] = ()) -> Any:
        """Check a value that is read, at the join point of this index."""
        join = self._joins[index, types]
        if join.kind is not value.__class__ or join.has_none:
            self._check(join, name, value, "")
        return value

    def result_of(self, index: int, name: str, value: Any, types: tuple[Any, ...] = ()) -> Any:
        """Check the result of an operation with the variable or choice called `name`."""
        if isinstance(value, (*_PYTHON, np.generic, Vec)):
            self._check(self._joins[index, types], name, value, f"an operation with {name}")
        return value

    def stored(self, index: int, name: str, value: Any, array: Any, types: tuple[Any, ...] = ()) -> Any:
        """Check a number that is stored to an element of `array`, which may have a wider type of floats."""
        kind, dtype = value.__class__, getattr(array, "dtype", None)
        if dtype is not None and dtype.kind in "fc":
            if kind in _PYTHON or (issubclass(kind, np.inexact) and np.result_type(kind, dtype) != kind):
                self._check(self._joins[index, types], name, value, name)
        return value

    def _check(self, join: _Join, name: str, value: Any, use: str) -> None:
        """Check a value that came to a join point; `use` describes an operation or a store, and is empty for a read."""
        kind = value.__class__
        if kind is Vec:
            self._check_vector(join, name, value, use)
        elif value is None:
            join.has_none = True
        elif kind in _PYTHON:
            if join.is_new(value):
                self._compare(name, value, join.kind, use)
        elif join.kind is None and kind is not bool:
            join.kind = kind
            for number in (join.low, join.high, *join.numbers):
                self._compare(name, number, kind, use)
        elif join.kind is not None and issubclass(kind, np.generic) and issubclass(join.kind, np.generic):
            if kind is not join.kind:
                self._note_types(name, kind, join.kind, use)
        if join.has_none and (join.kind is not None or join.low is not None or join.numbers):
            other = join.kind or (int if join.low is not None else float)
            raise KernelCompilationError(
                f"{name} must have one type throughout a kernel, got None and {spelled_kind(other.__name__)}, at "
                f"{_site()}",
                code="variable-types",
            )

    def _check_vector(self, join: _Join, name: str, vector: Vec, use: str) -> None:
        """Check the elements of a vector, and how many there are."""
        join.length = join.length or len(vector)
        if join.length != len(vector):
            raise KernelCompilationError(
                f"{name} must have one type throughout a kernel, got vectors of {join.length} and {len(vector)} "
                f"elements, at {_site()}",
                code="variable-types",
            )
        for element in vector:
            self._check(join, name, element, use)

    def _compare(self, name: str, number: complex | None, strong: type[Any] | None, use: str) -> None:
        """Compare a Python number of one path with the strong type of another."""
        if number is None or strong is None or not issubclass(strong, np.generic):
            return
        if isinstance(number, int) and issubclass(strong, np.integer):
            _require_fit(name, number, strong, use)
        elif not isinstance(number, int) and issubclass(strong, (np.integer, np.bool_)):
            if not use:  # operations and stores have the type that holds both
                self._note_types(name, strong, number.__class__, use)
        elif use and (not isinstance(number, complex) or issubclass(strong, np.complexfloating)):
            with np.errstate(all="ignore"):
                held = strong(number).item()
            if held != number and number == number:
                kind = strong.__name__
                self._note(
                    name,
                    f"{use} gives {number!r}, a Python number, on one path and {kind} on another, at {_site()}\n"
                    f"  on a device it is {kind} on all paths, and so another number: convert the Python number",
                )

    def _note_types(self, name: str, one: type[Any], other: type[Any], use: str) -> None:
        first, second = sorted((one.__name__, other.__name__))
        if use:
            text = (
                f"{use} gives {first} on one path and {second} on another, at {_site()}\n"
                "  a Python number takes the type of the other operand; on a device the operation has one type on all\n"
                "  paths: convert the Python number"
            )
        else:
            text = (
                f"{name} is {first} on one path and {second} on another, and both join at {_site()}\n"
                "  on a device it has one type on all paths: convert one, or start with the other"
            )
        self._note(name, text)

    def _note(self, name: str, text: str) -> None:
        if name in self._noted:
            return
        self._noted.add(name)
        warnings.warn(
            f"{text}\n  silence the note with warnings.filterwarnings('ignore', category=kapi_sim.MixedTypesWarning)",
            MixedTypesWarning,
            stacklevel=_depth(),
        )


def _require_fit(name: str, number: int, strong: type[Any], use: str) -> None:
    """Raise if the strong type of another path does not hold a Python integer."""
    limits = np.iinfo(strong)
    if not limits.min <= number <= limits.max:
        subject, where = (f"what {use} gives", "both come from") if use else (name, "both join at")
        raise DtypeError(
            f"{subject} must fit {strong.__name__}, which it is on another path, got the Python integer {number}\n"
            f"  {where} {_site()}\n  on a device it has one type on all paths: convert what is narrower",
            code="number-unfit",
        )


def _depth() -> int:
    """The number of frames of this module above the caller's."""
    depth = 1
    while sys._getframe(depth).f_code.co_filename == __file__:
        depth += 1
    return depth


def _site() -> SourceLocation:
    frame = sys._getframe(_depth() - 1)
    return source_location(frame.f_code, frame.f_lasti)
