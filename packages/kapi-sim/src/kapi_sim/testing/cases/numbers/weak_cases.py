# mypy: disable-error-code="comparison-overlap,no-untyped-def,no-untyped-call,untyped-decorator"
# The kernels are written as users write them.
"""Cases of Python's numbers with NumPy's, by construct: what is given has the type of the number that is NumPy's.

Each kernel runs over several element types. What it stores depends on the type of each result, by what wraps around
and by what is rounded. The judge of each says the same of whole arrays, whose types follow NumPy's rules for literals.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import kapi_sim as kapi
from kapi_sim.testing.case import Case, Local, kernel

__all__ = ["CASES"]


class Level(enum.IntEnum):
    """Weak numbers by name, which are strong to NumPy."""

    LOW = 3
    HIGH = 100


class Share(enum.Enum):
    """A member that the source names has its own value's type; of one that a run chooses, it is all members' type."""

    DOUBLE = 2
    PART = 0.5


class NumbersByName:
    """Numbers by attributes."""

    step = 100
    share = 0.1
    ends = (3, 100)
    level = Level.HIGH


class TwoNumbers(NamedTuple):
    """Two numbers by name."""

    first: Any
    second: Any


_STEPS = (3, 100)
_LEVELS = (Level.LOW, Level.HIGH)
_FIXED = TwoNumbers(100, 0.1)


@kernel
def _arithmetic(item: kapi.Item, a, out):
    i = item.get_id(0)
    out[0, i] = (a[i] + 100) / 7
    out[1, i] = (100 - a[i]) / 7
    out[2, i] = (3 * a[i]) / 7
    out[3, i] = (a[i] + True) / 7
    out[4, i] = a[i] * 0.1 - 1
    out[5, i] = (5 + 7 - a[i] * 3) / 7
    out[6, i] = 0.1 * 3 + a[i]


@kernel
def _divisions(item: kapi.Item, a, out):
    i = item.get_id(0)
    out[0, i] = a[i] / 3
    out[1, i] = (a[i] // 3) * 100 / 7
    out[2, i] = (a[i] % 7) * 100 / 7
    out[3, i] = 100 // (a[i] % 5 + 1) * 3 / 7
    out[4, i] = 100 % (a[i] % 5 + 1) * 100 / 7
    quotient, rest = divmod(a[i], 7)
    out[5, i] = quotient * 100 / 7
    out[6, i] = rest * 100 / 7
    quotient, rest = divmod(100, a[i] % 5 + 1)
    out[7, i] = quotient * 3 / 7
    out[8, i] = rest * 100 / 7


@kernel
def _powers(item: kapi.Item, a, out):
    i = item.get_id(0)
    out[0, i] = a[i] ** 2 / 7
    out[1, i] = pow(a[i], 3) / 7
    out[2, i] = (2 ** (a[i] % 8)) * 3 / 7
    out[3, i] = a[i] ** 0 / 7


@kernel
def _bits(item: kapi.Item, a, out):
    i = item.get_id(0)
    out[0, i] = (a[i] & 100) * 3
    out[1, i] = (5 | a[i]) * 3
    out[2, i] = (a[i] ^ 127) * 3
    out[3, i] = a[i] << 2
    out[4, i] = (a[i] >> 1) * 3
    out[5, i] = 3 << (a[i] & 7)
    out[6, i] = (100 >> (a[i] & 7)) * 3


@kernel
def _comparisons(item: kapi.Item, a, out):
    i = item.get_id(0)
    out[0, i] = a[i] < 300
    out[1, i] = -1 < a[i]
    out[2, i] = 0 < a[i] <= 100 != 7
    out[3, i] = a[i] == 0.1
    out[4, i] = a[i] in (5, 300, -1)
    out[5, i] = a[i] >= 2**63
    out[6, i] = 2**64 - 1 != a[i]
    out[7, i] = np.less(-(2**63), a[i])
    out[8, i] = (a[i] < 300) + (a[i] > 5) * 2


@kernel
def _extremes(item: kapi.Item, a, out):
    i = item.get_id(0)
    out[0, i] = min(a[i], 100) * 3 / 7
    out[1, i] = max(100, a[i]) * 3 / 7
    out[2, i] = max((a[i], 5, 100)) * 3 / 7
    out[3, i] = min((100, a[i])) * 3 / 7
    out[4, i] = np.minimum(a[i], 100) * 3 / 7
    out[5, i] = np.fmax(5, a[i]) * 3 / 7
    out[6, i] = np.clip(a[i], 5, 100) * 3 / 7
    out[7, i] = max(a[i], 0.1) / 7


@kernel
def _choices(item: kapi.Item, a, out):
    i = item.get_id(0)
    out[0, i] = np.where(i < 3, a[i], 64) * 3 / 7
    out[1, i] = np.where(i < 3, 64, a[i]) * 3 / 7
    out[2, i] = (a[i] if i < 3 else 5) / 8
    out[3, i] = (5 if i < 3 else a[i]) / 8
    out[4, i] = (a[i] and 5) / 8
    out[5, i] = (a[i] or 5) / 8
    x = 5
    if i < 3:
        x = a[i]
    out[6, i] = x / 8


@kernel
def _assignments(item: kapi.Item, a, out):
    i = item.get_id(0)
    x = a[i]
    x += 100
    out[0, i] = x / 7
    x = a[i]
    x *= 3
    out[1, i] = x / 7
    x = 100
    x -= a[i]
    out[2, i] = x / 7
    total = 0
    for _ in range(3):
        total += a[i]
    out[3, i] = total / 7
    product = 1
    for _ in range(2):
        product *= a[i]
    out[4, i] = product / 7
    out[5, i] = ((y := 100) + a[i]) / 7 + y
    x = z = a[i]
    z += 1
    out[6, i] = x * 3 / 7 + z
    a[i] += 100
    a[i] *= 3
    out[7, i] = a[i] / 7


@kernel
def _tuples(item: kapi.Item, a, out):
    i = item.get_id(0)
    x, y = a[i], 100
    x, y = y, x
    out[0, i] = (x + y) / 7
    out[1, i] = (a[i], 100)[i % 2] / 8
    last = a[i]
    for each in (5, a[i]):
        last = each
    out[2, i] = last / 8
    out[3, i] = sum((a[i], 100)) / 7
    out[4, i] = sum((a[i], a[i]), 5) / 7
    out[5, i] = sum(a[:2], 100) / 7
    pair = TwoNumbers(100, a[i])
    out[6, i] = (pair.first + pair.second) / 7
    steps = (3, 100)
    out[7, i] = (a[i] + steps[1]) / 7


def _device_sum(x, y=100):
    return x + y


def _raised(x, y=Level.HIGH):
    return x + y


@kernel
def _calls(item: kapi.Item, a, out):
    i = item.get_id(0)

    def hundred(x, y=100):
        return x if x != x else y

    out[0, i] = _device_sum(a[i]) / 7
    out[1, i] = _device_sum(3, a[i]) / 7
    out[2, i] = _device_sum(a[i], y=3) / 7
    out[3, i] = (hundred(1) + a[i]) / 7
    out[4, i] = (lambda x: x * 3)(a[i]) / 7


@kernel
def _outside(item: kapi.Item, a, level, out):
    i = item.get_id(0)
    out[0, i] = (a[i] + Level.HIGH) / 7
    out[1, i] = (Level.LOW * a[i]) / 7
    out[2, i] = (a[i] + NumbersByName.step) / 7
    out[3, i] = a[i] * NumbersByName.share
    out[4, i] = (a[i] + NumbersByName.ends[1]) / 7
    out[5, i] = (a[i] + NumbersByName.level) / 7
    out[6, i] = (a[i] + _STEPS[1]) / 7
    out[7, i] = (a[i] + _LEVELS[i % 2]) / 7
    out[8, i] = (a[i] + _FIXED.first) * _FIXED.second
    out[9, i] = (a[i] + level) / 7
    out[10, i] = (a[i] * Share.DOUBLE.value) / 7
    out[11, i] = (a[i] + (Level.LOW if i % 2 else Level.HIGH)) / 7
    out[12, i] = _raised(a[i]) / 7
    share = Share.DOUBLE if i % 2 else Share.PART
    out[13, i] = (a[i] // 2) * share.value
    for each in _LEVELS:
        out[14, i] = (a[i] + each) / 7


@kernel
def _wide(item: kapi.Item, a, out):
    i = item.get_id(0)
    out[0, i] = (a[i] + 2**63) / 7
    out[1, i] = (2**64 - 1) * a[i] / 7
    out[2, i] = max(a[i], 2**63) / 7
    out[3, i] = np.where(i < 3, a[i], 2**63) / 7
    far = 2**63
    out[4, i] = (far - a[i]) / 7
    out[5, i] = _device_sum(a[i], 2**63) / 7
    out[6, i] = sum((a[i], 2**63)) / 7
    out[7, i] = far * 0.5 + far / 7


@kernel
def _memory(item: kapi.NdItem, a, scratch, out):
    i = item.get_local_id(0)
    own = kapi.PrivateArray(2, a.dtype)
    own[0] = 100
    own[1] = a[i]
    own[0] += 27
    scratch[i] = 100
    scratch[i] += 27
    out[0, i] = own[i % 2] * 3 / 7
    out[1, i] = (scratch[i] + 3) / 7
    out[2, i] = (a.dtype.type(100) + 100) / 7
    out[3, i] = (a[i].dtype.type(5) * 60) / 7


def _rows_of_choices(a: Any) -> list[Any]:
    first, later = np.arange(len(a)) < 3, np.arange(len(a)) >= 3
    return [
        np.where(first, a, 64) * 3 / 7,
        np.where(first, 64, a) * 3 / 7,
        np.where(first, a, 5) / 8,
        np.where(later, a, 5) / 8,
        np.where(a != 0, 5, a) / 8,
        np.where(a != 0, a, 5) / 8,
        np.where(first, a, 5) / 8,
    ]


def _rows_of_assignments(a: Any) -> list[Any]:
    rows = [a + 100, a * 3, 100 - a, a + a + a, a * a, a + 100, a * 3, (a + 100) * 3]
    judged = [row / 7 for row in rows]
    judged[5] = judged[5] + 100
    judged[6] = judged[6] + (a + 1)
    return judged


def _rows_of_tuples(a: Any) -> list[Any]:
    hundred = np.full_like(a, 100)
    odd = np.arange(len(a)) % 2 == 1
    rows = [a + 100, 5 + a + a, 100 + a[0] + a[1], 100 + a, a + 100]
    return [(100 + a) / 7, np.where(odd, hundred, a) / 8, a / 8, *(row / 7 for row in rows)]


def _rows_from_outside(a: Any) -> list[Any]:
    odd = np.arange(len(a)) % 2 == 1
    hundred = (a + 100) / 7
    return [
        *(hundred, 3 * a / 7, hundred, a * 0.1, hundred, hundred, hundred),
        (a + np.where(odd, 100, 3).astype(a.dtype)) / 7,
        *((a + 100) * 0.1, hundred, a * 2 / 7),
        (a + np.where(odd, 3, 100).astype(a.dtype)) / 7,
        hundred,
        np.where(odd, (a // 2) * 2.0, (a // 2) * 0.5),
        hundred,
    ]


def _rows_of_wide(a: Any) -> list[Any]:
    far = np.full_like(a, 2**63)
    first = np.arange(len(a)) < 3
    rows = [
        a + far,
        np.full_like(a, 2**64 - 1) * a,
        np.maximum(a, far),
        np.where(first, a, far),
        far - a,
        a + far,
        a + far,
    ]
    return [*(row / 7 for row in rows), np.full(len(a), 2.0**62 + 2.0**63 / 7)]


def _rows_of_memory(a: Any) -> list[Any]:
    odd = np.arange(len(a)) % 2 == 1
    most = np.full_like(a, 127)
    return [
        np.where(odd, a, most) * 3 / 7,
        (most + 3) / 7,
        (np.full_like(a, 100) + 100) / 7,
        (np.full_like(a, 5) * 60) / 7,
    ]


_ALL = ("int8", "uint16", "int64", "uint64", "float16", "float32", "float64")
_INTEGERS = ("int8", "uint8", "int32", "uint64")
_OF_FLOATS = ("float16", "float32", "uint64")

_CONSTRUCTS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], list[Any]], tuple[str, ...]]] = {
    "arithmetic": (
        _arithmetic,
        lambda a: [
            *((a + 100) / 7, (100 - a) / 7, (3 * a) / 7, (a + True) / 7),
            *(a * 0.1 - 1, (12 - a * 3) / 7, 0.1 * 3 + a),
        ],
        _ALL,
    ),
    "divisions": (
        _divisions,
        lambda a: [
            *(a / 3, (a // 3) * 100 / 7, (a % 7) * 100 / 7, 100 // (a % 5 + 1) * 3 / 7),
            *(100 % (a % 5 + 1) * 100 / 7, (a // 7) * 100 / 7, (a % 7) * 100 / 7),
            *(100 // (a % 5 + 1) * 3 / 7, 100 % (a % 5 + 1) * 100 / 7),
        ],
        _ALL,
    ),
    "powers": (_powers, lambda a: [a * a / 7, a * a * a / 7, (2 ** (a % 8)) * 3 / 7, a**0 / 7], _INTEGERS),
    "bits": (
        _bits,
        lambda a: [
            *((a & 100) * 3, (5 | a) * 3, (a ^ 127) * 3, a << 2, (a >> 1) * 3),
            *(3 << (a & 7), (100 >> (a & 7)) * 3),
        ],
        _INTEGERS,
    ),
    "comparisons": (
        _comparisons,
        lambda a: [
            *(a < 300, a > -1, (a > 0) & (a <= 100), a == 0.1, (a == 5) | (a == 300)),
            *(a >= 2**63, a != 2**64 - 1, a > -(2**63), (a < 300) + (a > 5) * 2),
        ],
        ("int8", "uint16", "uint64", "float32"),
    ),
    "extremes": (
        _extremes,
        lambda a: [
            *(np.minimum(a, 100) * 3 / 7, np.maximum(a, 100) * 3 / 7, np.maximum(a, 100) * 3 / 7),
            *(np.minimum(a, 100) * 3 / 7, np.minimum(a, 100) * 3 / 7, np.maximum(a, 5) * 3 / 7),
            *(np.clip(a, 5, 100) * 3 / 7, np.maximum(a, 0.1) / 7),
        ],
        _ALL,
    ),
    "choices": (_choices, _rows_of_choices, _ALL),
    "assignments": (_assignments, _rows_of_assignments, _ALL),
    "tuples": (_tuples, _rows_of_tuples, _ALL),
    "calls": (_calls, lambda a: [(a + 100) / 7, (a + 3) / 7, (a + 3) / 7, (a + 100) / 7, a * 3 / 7], _ALL),
    "outside": (_outside, _rows_from_outside, _ALL),
    "wide": (_wide, _rows_of_wide, _OF_FLOATS),
    "memory": (_memory, _rows_of_memory, _ALL),
}


def _numbers(dtype: str) -> np.ndarray[Any, Any]:
    """Numbers that wrap around, or are rounded, at the next operation."""
    if np.dtype(dtype).kind == "f":
        return np.array([0.0, 0.1, -2.5, 100.0, 7.0, 1.7], dtype)
    ends = np.iinfo(dtype)
    return np.array([0, 1, ends.max, ends.min, 5, ends.max // 3 + 20], dtype)


def _case(name: str, dtype: str) -> Case:
    make, judge, _ = _CONSTRUCTS[name]
    a = _numbers(dtype)

    def judged() -> np.ndarray[Any, Any]:
        with np.errstate(all="ignore"):
            return np.array([np.broadcast_to(np.asarray(row).astype(np.float64), a.shape) for row in judge(a)])

    def inputs() -> list[Any]:
        between = [Level.HIGH] if name == "outside" else [Local(len(a), dtype)] if name == "memory" else []
        return [a, *between, np.zeros(judged().shape)]

    space = ((len(a),), (len(a),)) if name == "memory" else ((len(a),),)
    position = len(inputs()) - 1
    return Case(f"weak/{name}-{dtype}", make, space, inputs, lambda given: {position: judged()})


CASES: tuple[Case, ...] = tuple(_case(name, dtype) for name, (_, _, dtypes) in _CONSTRUCTS.items() for dtype in dtypes)
