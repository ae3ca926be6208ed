"""Conversions between types, their ranks, and the choice among signatures, as numba.cuda makes it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import IntEnum
from functools import cache

import numpy as np

from kapi_sim.numba_cuda.static_types.kinds import (
    Array,
    Kind,
    Nothing,
    Number,
    Optional,
    Record,
    Text,
    Tuple,
    Unknown,
)

__all__ = ["Grade", "best_overloads", "grade_of"]


class Grade(IntEnum):
    """The rank of a conversion: the lower, the better."""

    EXACT = 1
    PROMOTE = 2
    SAFE = 3
    UNSAFE = 4


_EDGES: tuple[tuple[str, str, Grade, Grade | None], ...] = (
    ("bool", "int8", Grade.SAFE, Grade.UNSAFE),
    ("bool", "uint8", Grade.SAFE, Grade.UNSAFE),
    ("int8", "int16", Grade.PROMOTE, Grade.UNSAFE),
    ("int16", "int32", Grade.PROMOTE, Grade.UNSAFE),
    ("int32", "int64", Grade.PROMOTE, Grade.UNSAFE),
    ("uint8", "uint16", Grade.PROMOTE, Grade.UNSAFE),
    ("uint16", "uint32", Grade.PROMOTE, Grade.UNSAFE),
    ("uint32", "uint64", Grade.PROMOTE, Grade.UNSAFE),
    ("uint8", "int16", Grade.SAFE, Grade.UNSAFE),
    ("uint16", "int32", Grade.SAFE, Grade.UNSAFE),
    ("uint32", "int64", Grade.SAFE, Grade.UNSAFE),
    ("int8", "float16", Grade.SAFE, Grade.UNSAFE),
    ("int16", "float32", Grade.SAFE, Grade.UNSAFE),
    ("int32", "float64", Grade.SAFE, Grade.UNSAFE),
    ("int16", "float16", Grade.UNSAFE, Grade.UNSAFE),
    ("int32", "float32", Grade.UNSAFE, Grade.UNSAFE),
    ("int64", "float64", Grade.SAFE, Grade.UNSAFE),
    ("uint64", "float64", Grade.SAFE, Grade.UNSAFE),
    ("float16", "float32", Grade.PROMOTE, Grade.UNSAFE),
    ("float32", "float64", Grade.PROMOTE, Grade.UNSAFE),
    ("float32", "complex64", Grade.SAFE, None),
    ("float64", "complex128", Grade.SAFE, None),
    ("complex64", "complex128", Grade.PROMOTE, Grade.UNSAFE),
)
"""Numba's rules: of two types, how good the conversion to the second is, and the one back."""


@cache
def _between_numbers() -> dict[tuple[np.dtype[np.generic], np.dtype[np.generic]], Grade]:
    """Return the grade of each conversion that there is: on the best path, that of its worst step."""
    grades: dict[tuple[np.dtype[np.generic], np.dtype[np.generic]], Grade] = {}
    for one, other, there, back in _EDGES:
        grades[np.dtype(one), np.dtype(other)] = there
        if back is not None:
            grades[np.dtype(other), np.dtype(one)] = back
    types = {each for pair in grades for each in pair}
    for through in types:
        for start in types:
            for end in types - {start}:
                steps = grades.get((start, through)), grades.get((through, end))
                if None not in steps:
                    worst = max(step for step in steps if step is not None)
                    grades[start, end] = min(worst, grades.get((start, end), worst))
    return grades


def grade_of(given: Kind, wanted: Kind) -> Grade | None:
    """Return how good the conversion of one type to another is; `None` if there is none.

    A type that the source does not show converts to all, exactly.
    """
    match given, wanted:
        case (Unknown(), _) | (_, Unknown()):
            return Grade.EXACT
        case Number(), Number():
            if given.dtype is None or wanted.dtype is None:
                return None if given.category == "complex" != wanted.category else Grade.EXACT
            if given.dtype == wanted.dtype:
                return Grade.EXACT
            return _between_numbers().get((given.dtype, wanted.dtype))
        case Optional(), Optional():
            return grade_of(given.of, wanted.of)
        case Nothing(), Optional():
            return Grade.PROMOTE
        case _, Optional():
            return _at_best(Grade.PROMOTE, grade_of(given, wanted.of))
        case Optional(), _:
            return _at_best(Grade.SAFE, grade_of(given.of, wanted))
        case Array(), Array():
            return _of_arrays(given, wanted)
        case Tuple(), Tuple():
            return _of_tuples(given, wanted)
        case Record(), Record():
            return Grade.EXACT if given.dtype == wanted.dtype else None
        case Text(), Text():
            return Grade.EXACT
    return Grade.EXACT if given == wanted else None


def _at_best(best: Grade, grade: Grade | None) -> Grade | None:
    return None if grade is None else max(best, grade)


def _of_arrays(given: Array, wanted: Array) -> Grade | None:
    is_of_type = given.dtype is None or wanted.dtype is None or given.dtype == wanted.dtype
    is_of_rank = given.ndim is None or wanted.ndim is None or given.ndim == wanted.ndim
    if not is_of_type or not is_of_rank or (given.is_readonly and not wanted.is_readonly):
        return None
    if wanted.layout in given.layout:
        return Grade.EXACT if given.is_readonly == wanted.is_readonly else Grade.SAFE
    return Grade.SAFE if wanted.layout == "A" else None


def _of_tuples(given: Tuple, wanted: Tuple) -> Grade | None:
    if given.made_by is not wanted.made_by or len(given.members) != len(wanted.members):
        return None
    grades = [grade_of(one, other) for one, other in zip(given.members, wanted.members, strict=True)]
    return None if None in grades else max((each for each in grades if each is not None), default=Grade.EXACT)


def best_overloads(given: Sequence[Kind], signatures: Iterable[Sequence[Kind]]) -> list[int]:
    """Return the numbers of the signatures that the types convert to best, in their order.

    The fewest unsafe conversions decide first, then the fewest safe ones, then the fewest promotions.
    """
    rated = dict(_rated(given, signatures))
    best = min(rated.values(), default=None)
    return [number for number, rating in rated.items() if rating == best]


def _rated(given: Sequence[Kind], signatures: Iterable[Sequence[Kind]]) -> Iterator[tuple[int, tuple[int, int, int]]]:
    for number, wanted in enumerate(signatures):
        if len(wanted) != len(given):
            continue
        grades = [grade_of(one, other) for one, other in zip(given, wanted, strict=True)]
        if None not in grades:
            unsafe, safe, promote = (grades.count(each) for each in (Grade.UNSAFE, Grade.SAFE, Grade.PROMOTE))
            yield number, (unsafe, safe, promote)
