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
from kapi_sim.items.misused_intrinsics import spelled_kind
from kapi_sim.language.source import SourceLocation, source_location
from kapi_sim.numbers.vectors import Vec

__all__ = ["CHECK_JOIN", "MixedTypeChecker"]

CHECK_JOIN = "_kapi_check_join"
"""The name of `MixedTypeChecker` in a rewritten function."""

_PYTHON = (int, float, complex)
_MAX_NUMBERS = 4096  # that are kept of each join point


class _Join:
    """The values that came to one join point in one launch."""

    __slots__ = ("has_none", "kind", "length", "numbers")

    def __init__(self) -> None:
        self.kind: type[Any] | None = None  # the first strong type, or another class than a number's
        self.has_none = False
        self.length: int | None = None  # of the first vector
        self.numbers: dict[tuple[type[Any], complex], None] = {}  # Python's, each with its class, in order


class MixedTypeChecker:
    """Notes join points to which numbers of different types come in one launch; a call returns the value.

    - `kinds`: of each join point, the class whose values need no call.
    """

    __slots__ = ("_functions", "_joins", "_noted", "kinds")

    def __init__(self, noted: set[str] | None = None) -> None:
        self.kinds: defaultdict[Any, type[Any] | None] = defaultdict(lambda: None)
        self._joins: defaultdict[Any, _Join] = defaultdict(_Join)
        self._functions: dict[Any, MixedTypeChecker] = {}
        self._noted = set() if noted is None else noted

    def for_types_of(self, *values: Any) -> MixedTypeChecker:
        """Return the checker of a function's arguments: a device compiles the function for each list of their types."""
        types = tuple(getattr(value, "dtype", value.__class__) for value in values)
        if types not in self._functions:
            self._functions[types] = MixedTypeChecker(self._noted)
        return self._functions[types]

    def __call__(self, index: Any, name: str, value: Any, use: Any = "") -> Any:
        """Check a value at the join point of this index, which came to the variable or choice called `name`.

        `use` is empty where it is read, "operation" where an operation with the variable gives it, and else the array
        that it is stored to, which may have a wider type of floats.
        """
        join, kind = self._joins[index], value.__class__
        if kind in _PYTHON and (kind, value) in join.numbers:
            return value
        if use.__class__ is str:
            self._check(join, name, value, use and f"an operation with {name}")
        elif _is_rounded(value, getattr(use, "dtype", None)):
            self._check(join, name, value, name)
        if kind not in _PYTHON and kind is not Vec:  # whose values decide
            self.kinds[index] = kind
        return value

    def _check(self, join: _Join, name: str, value: Any, use: str) -> None:
        """Check a value that came to a join point; `use` describes an operation or a store, and is empty for a read."""
        kind = value.__class__
        if kind is Vec:
            join.length = join.length or len(value)
            if join.length != len(value):
                _refuse(name, f"vectors of {join.length} and {len(value)} elements")
            for element in value:
                self._check(join, name, element, use)
        elif value is None:
            join.has_none = not use
        elif kind in _PYTHON:
            if len(join.numbers) < _MAX_NUMBERS:
                join.numbers[kind, value] = None
            self._compare(name, value, join.kind, use)
        elif join.kind is None and kind is not bool:
            join.kind = kind
            for _, number in join.numbers:
                self._compare(name, number, kind, use)
        elif join.kind is not None and issubclass(kind, np.generic) and issubclass(join.kind, np.generic):
            if kind is not join.kind:
                self._note_types(name, kind, join.kind, use)
        if join.has_none and (join.kind is not None or join.numbers):
            other = join.kind or next(iter(join.numbers))[0]
            _refuse(name, f"None and {spelled_kind(other.__name__)}")

    def _compare(self, name: str, number: complex, strong: type[Any] | None, use: str) -> None:
        """Compare a Python number of one path with the strong type of another."""
        if strong is None or not issubclass(strong, np.generic):
            return
        kind = strong.__name__
        if isinstance(number, int) and issubclass(strong, np.integer):
            limits = np.iinfo(strong)
            if not limits.min <= number <= limits.max:
                subject, where = (f"what {use} gives", "both come from") if use else (name, "both join at")
                raise DtypeError(
                    f"{subject} must fit {kind}, which it is on another path, got the Python integer {number}\n"
                    f"  {where} {_site()}\n  on a device it has one type on all paths: convert what is narrower",
                    code="number-unfit",
                )
        elif not isinstance(number, int) and issubclass(strong, (np.integer, np.bool_)):
            if not use:  # operations and stores have the type that holds both
                self._note_types(name, strong, number.__class__, use)
        elif use and (not isinstance(number, complex) or issubclass(strong, np.complexfloating)):
            with np.errstate(all="ignore"):
                held = strong(number).item()
            if held != number and number == number:
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


def _refuse(name: str, found: str) -> None:
    raise KernelCompilationError(
        f"{name} must have one type throughout a kernel, got {found}, at {_site()}", code="variable-types"
    )


def _is_rounded(value: Any, dtype: np.dtype[Any] | None) -> bool:
    """Whether elements of a type may hold a number, where the type of another path does not."""
    kind = value.__class__
    is_wide = kind in _PYTHON or (issubclass(kind, np.inexact) and np.result_type(kind, dtype or kind) != kind)
    return dtype is not None and dtype.kind in "fc" and is_wide


def _depth() -> int:
    """The number of frames of this module above the caller's."""
    depth = 1
    while sys._getframe(depth).f_code.co_filename == __file__:
        depth += 1
    return depth


def _site() -> SourceLocation:
    frame = sys._getframe(_depth() - 1)
    return source_location(frame.f_code, frame.f_lasti)
