"""Places of a kernel to which its ways give numbers of different types: variables, choices, and returned values.

On a device, a variable has one type on all ways that meet where it is read; the simulator keeps what was assigned. The
same holds of what `a if c else b`, `and`, `or`, and a function with several `return` give. So each such place is looked
at, and two types at one place are told. A weak number stays what it is where a strong one came on another way, until an
operation takes the type of its other operand: so the results of such operations are looked at, too. A device computes
and holds in the strong type what stayed weak here: a float that this type does not have exactly is told, and an integer
that it does not hold is an error. None beside anything else is an error, too.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any, NoReturn

import numpy as np

from kapi_sim.errors import DtypeError, KernelCompilationError, MixedTypesWarning
from kapi_sim.items.misuse import spelled_kind
from kapi_sim.language.source import Site, site_of

__all__ = ["GIVEN", "MEETS", "MeetingTypes", "types_given"]

MEETS = "_kapi_meets"
"""The name of `MeetingTypes` in a rewritten function."""

GIVEN = "_kapi_given"
"""The name of `types_given` in a rewritten function, and with `_types` behind it, of what it gave."""

_PYTHON = (int, float, complex)
_MOST_NUMBERS = 64


def types_given(*values: Any) -> tuple[Any, ...]:
    """Return the types of a function's arguments: a device compiles it for each list of them."""
    return tuple(getattr(value, "dtype", value.__class__) for value in values)


class MeetingTypes:
    """The types that each place met in one launch; a call returns the value that came there."""

    __slots__ = ("_ends", "_met", "_nones", "_numbers", "_told")

    def __init__(self) -> None:
        self._met: dict[Any, type[Any]] = {}
        self._ends: dict[Any, tuple[int, int]] = {}
        self._nones: set[Any] = set()  # places that None came to
        self._numbers: dict[Any, set[float]] = {}  # Python's numbers that operations gave
        self._told: set[str] = set()

    def __call__(self, place: int, name: str, value: Any, given: tuple[Any, ...] = ()) -> Any:
        kind = value.__class__
        key = (place, given) if given else place
        met = self._met.get(key)
        if value is None:
            self._nones.add(key)
            if met is not None or key in self._ends:
                self._refuse_none(name, int if met is None else met)
            return value
        if self._nones and key in self._nones:
            self._refuse_none(name, kind)
        if kind is int:
            ends = self._ends.get(key)
            if ends is None or not ends[0] <= value <= ends[1]:
                low, high = ends or (value, value)
                self._ends[key] = min(low, value), max(high, value)
                self._check_fit(key, name, met)
        elif met is None:
            if kind is not bool:
                self._met[key] = kind
                self._check_fit(key, name, kind)
        if met is not None and met is not kind and name not in self._told and _differ(met, kind):
            first, second = sorted((met.__name__, kind.__name__))
            self._tell(
                name,
                f"{name} is {first} on one way and {second} on another, and both meet at {_site()}\n"
                "  on a device it has one type on all ways: convert one, or start with the other",
            )
        return value

    def result_of(self, place: int, name: str, value: Any, given: tuple[Any, ...] = ()) -> Any:
        """Look at the result of an operation with what `name` says; return it."""
        kind = value.__class__
        key = (place, given) if given else place
        if kind in _PYTHON:
            self._meet_number(key, name, value)
        elif self._met.get(key) is not kind and issubclass(kind, np.generic):
            self._meet_result(key, name, kind)
            for number in self._numbers.get(key, ()):
                self._compare(name, number, kind)
        return value

    def stored(self, place: int, name: str, value: Any, array: Any, given: tuple[Any, ...] = ()) -> Any:
        """Look at a number that `name` says, on its way to an element of `array`; return it."""
        kind = value.__class__
        key = (place, given) if given else place
        dtype = getattr(array, "dtype", None)
        if dtype is None or dtype.kind not in "fc":
            return value
        if issubclass(kind, np.inexact):
            if self._met.setdefault(key, kind) is kind and np.result_type(kind, dtype) != kind:
                for number in self._numbers.get(key, ()):
                    self._compare(name, number, kind, is_stored=True)
        elif kind in _PYTHON:
            self._meet_number(key, name, value, is_stored=True)
        return value

    def operand_of(self, place: int, name: str, value: Any, array: Any, given: tuple[Any, ...] = ()) -> Any:
        """Look at what an operation of an array's element with `value`, which `name` says, gives; return `value`."""
        if isinstance(value, (int, float, np.generic)) and hasattr(array, "dtype"):
            kind = np.result_type(array.dtype, value).type
            self._meet_result((place, given) if given else place, name, kind)
        return value

    def _meet_number(self, key: Any, name: str, value: Any, is_stored: bool = False) -> None:
        """Look at a Python number where an operation gave, or a store takes, NumPy's on another way."""
        numbers = self._numbers.setdefault(key, set())
        if value not in numbers and len(numbers) < _MOST_NUMBERS:
            numbers.add(value)
            met = self._met.get(key)
            if met is not None:
                self._compare(name, value, met, is_stored)

    def _compare(self, name: str, number: Any, kind: type[Any], is_stored: bool = False) -> None:
        """Tell of a Python number that the type of another way does not have."""
        if issubclass(kind, np.integer) and number.__class__ is int:
            _require_fit(f"what an operation with {name} gives", number, kind, "both come from")
        elif isinstance(number, complex) and not issubclass(kind, np.complexfloating):
            return  # the type that holds both has the number
        elif isinstance(number, float) and issubclass(kind, (np.integer, np.bool_)):
            return  # so here, and that there are two types is told where they meet
        elif issubclass(kind, np.generic) and name not in self._told:
            with np.errstate(all="ignore"):
                held = kind(number)
            if held.item() != number and number == number:
                subject = name if is_stored else f"an operation with {name}"
                self._tell(
                    name,
                    f"{subject} gives {number!r}, a Python number, on one way and {kind.__name__} on another, "
                    f"at {_site()}\n  on a device it is {kind.__name__} on all ways, and so another number: convert "
                    "the Python number",
                )

    def _meet_result(self, key: Any, name: str, kind: type[Any]) -> None:
        met = self._met.setdefault(key, kind)
        if met is not kind and name not in self._told:
            first, second = sorted((met.__name__, kind.__name__))
            self._tell(
                name,
                f"an operation with {name} gives {first} on one way and {second} on another, at {_site()}\n"
                "  a Python number takes the type that it meets; on a device the operation has one type on all ways:\n"
                "  convert the Python number",
            )

    def _refuse_none(self, name: str, kind: type[Any]) -> NoReturn:
        raise KernelCompilationError(
            f"{name} must have one type throughout a kernel, got None and {spelled_kind(kind.__name__)}, at {_site()}",
            code="variable-types",
        )

    def _tell(self, name: str, said: str) -> None:
        self._told.add(name)
        warnings.warn(
            f"{said}\n  silence the note with warnings.filterwarnings('ignore', category=kapi_sim.MixedTypesWarning)",
            MixedTypesWarning,
            stacklevel=_depth(),
        )

    def _check_fit(self, key: Any, name: str, strong: type[Any] | None) -> None:
        """Raise if a weak integer came to a place where the type of another way does not hold it."""
        if strong is None or key not in self._ends or not issubclass(strong, np.integer):
            return
        for end in self._ends[key]:
            _require_fit(name, end, strong, "both meet at")


def _require_fit(subject: str, number: int, kind: type[Any], where: str) -> None:
    """Raise if the type of another way does not hold an integer."""
    limits = np.iinfo(kind)
    if not limits.min <= number <= limits.max:
        raise DtypeError(
            f"{subject} must fit {kind.__name__}, which it is on another way, got the Python integer {number}\n"
            f"  {where} {_site()}\n  on a device it has one type on all ways: convert what is narrower",
            code="number-unfit",
        )


def _depth() -> int:
    """How many frames of this module are above the one that called."""
    depth = 1
    while sys._getframe(depth).f_code.co_filename == __file__:
        depth += 1
    return depth


def _site() -> Site:
    frame = sys._getframe(_depth() - 1)
    return site_of(frame.f_code, frame.f_lasti)


def _differ(one: type[Any], other: type[Any]) -> bool:
    """Whether a variable of both types is of another one on a device: a weak number takes the other's type."""
    if issubclass(one, np.generic) and issubclass(other, np.generic):
        return True
    weak, strong = (other, one) if issubclass(one, np.generic) else (one, other)
    return weak in (float, complex) and issubclass(strong, (np.integer, np.bool_))
