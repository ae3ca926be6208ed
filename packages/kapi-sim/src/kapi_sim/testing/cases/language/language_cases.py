# mypy: disable-error-code="call-overload,name-defined,no-untyped-def,no-untyped-call,untyped-decorator"
# The kernels are written as users write them.
"""Cases of what Python has for values and loops: defaults, names from outside, iteration, and builtin functions."""

from __future__ import annotations

import dataclasses
import math
import types
from typing import Any, NamedTuple

import numpy as np

import kapi_sim as kapi
from kapi_sim.testing.case import Case, Local, kernel, output_case

__all__ = ["CASES"]


class PlainSettings:
    """A plain class that holds settings."""

    count = 3
    factor = np.float32(0.5)
    shape = (2, 4)

    class Inner:
        """One within another."""

        depth = 7

    @staticmethod
    def scaled(x):
        """A function that is kept with them."""
        return x * 10


@dataclasses.dataclass(frozen=True)
class Options:
    """An object that holds some."""

    order: int = 2
    weight: float = 0.25


class Slots:
    """One without a dictionary."""

    __slots__ = ("limit",)

    def __init__(self) -> None:
        self.limit = 6


class Corner(NamedTuple):
    """A named tuple with a default."""

    x: Any
    y: Any = 2.5


OPTIONS = Options()
SLOTS = Slots()
SPACE = types.SimpleNamespace(step=4, inner=types.SimpleNamespace(pair=(8, 9)))
ODD = range(1, 7, 2)


def _defaults(kapi: Any) -> Any:
    @kapi.device_func
    def polynomial(x, slope=2, *, offset=0.5):
        return x * slope + offset

    @kapi.device_func
    def member(i, members=(5, 6, 7)):
        return members[i]

    @kapi.kernel
    def defaults(item: kapi.Item, a, out):
        i = item.get_id(0)
        x = a[i]
        out[0, i] = polynomial(x)
        out[1, i] = polynomial(x, 3)
        out[2, i] = polynomial(x, offset=1)
        out[3, i] = polynomial(offset=x, slope=4, x=i)
        out[4, i] = member(i) + member(1, (i, i * 2))
        rest = (1, 2)
        out[5, i] = polynomial(*rest) + polynomial(*(1, 2), offset=i)
        out[6, i] = Corner(x).y + Corner(y=i, x=3).x

    return defaults


@kernel
def _local_functions(item: kapi.Item, a, out):
    i = item.get_id(0)

    def shifted(x, by=2, times=i):
        return x * 100 + by * 10 + times

    scaled = lambda x, by=3: x * by  # noqa: E731  a named one is what is tested
    out[0, i] = shifted(1)
    out[1, i] = shifted(1, times=5)
    out[2, i] = shifted(by=4, x=a[i])
    out[3, i] = scaled(2) + scaled(2, by=5) + scaled(by=a[i], x=1)


@kernel
def _outside(item: kapi.Item, a, out):
    i = item.get_id(0)
    out[0, i] = PlainSettings.count + PlainSettings.Inner.depth + PlainSettings.shape[1]
    out[1, i] = a[i] * PlainSettings.factor + PlainSettings.scaled(i)
    out[2, i] = getattr(OPTIONS, "order") + OPTIONS.weight + SLOTS.limit  # noqa: B009  what is tested
    out[3, i] = SPACE.step + SPACE.inner.pair[1]
    private = kapi.PrivateArray(PlainSettings.count, np.float32)
    for k in range(PlainSettings.count):
        private[k] = k
    out[4, i] = sum(private)
    for number in ODD:
        out[5, i] += number
    out[6, i] = ODD[1] + len(ODD)


FUNCTION, CONSTANT, METHOD = "sqrt", "order", "fetch_add"


def _attributes_by_name(kapi: Any) -> Any:
    member, barrier = "shape", "group_barrier"

    @kapi.device_func
    def taken(x):
        return getattr(math, FUNCTION)(x) + getattr(OPTIONS, CONSTANT)

    @kapi.kernel
    def attributes_by_name(item: kapi.NdItem, a, out):
        i = item.get_global_id(0)
        out[0, i] = taken(a[i])
        out[1, i] = getattr(out, member)[0]
        getattr(kapi.AtomicRef(out, (2, 0)), METHOD)(a[i])
        getattr(kapi, barrier)(item.get_group())

    return attributes_by_name


@kernel
def _iteration(item: kapi.Item, a, b, out):
    i = item.get_id(0)
    for x in a:
        out[0, i] += x
    for row in b:
        out[1, i] += row[i]
    for k, x in enumerate(a[i:]):
        out[2, i] += k * x
    for k, x in enumerate((3, 2.5, 1), start=i):
        out[3, i] += k * x
    for x, y, k in zip(a, b[i], range(2, 5)):  # noqa: B905  kernels have no strict=
        out[4, i] += x * y + k
    for k, (x, y) in enumerate(zip(a, reversed(a))):  # noqa: B905
        out[5, i] += k * (x - y * 2)
    for k in reversed(range(1, 10, i + 2)):
        out[6, i] = out[6, i] * 10 + k
    for x, y in ((1, 2), (3, 4.5)):
        out[7, i] += x * y + i
    for x in reversed(a):
        out[9, i] = out[9, i] * 2 + x
    for x in reversed((i, 2, 3)):
        out[9, i] += x
    for k, row in enumerate(b):
        for x in reversed(row):
            if x > 5:
                break
            out[8, i] += x + k
        else:
            out[8, i] += 100


def _iteration_expected(given: list[Any]) -> dict[int, np.ndarray[Any, Any]]:
    a, b, out = (array.copy() for array in given)
    for i in range(3):
        out[0, i] = a.sum()
        out[1, i] = b[:, i].sum()
        out[2, i] = sum(k * x for k, x in enumerate(a[i:]))
        out[3, i] = i * 3 + (i + 1) * 2.5 + (i + 2)
        out[4, i] = sum(a[:3] * b[i, :3]) + 9
        out[5, i] = sum(k * (a[k] - a[3 - k] * 2) for k in range(4))
        out[6, i] = int("".join(str(k) for k in range(1, 10, i + 2))[::-1])
        out[7, i] = 2 + 13.5 + 2 * i
        out[9, i] = sum(x * 2**k for k, x in enumerate(a)) + 5 + i
        # Rows are 0..3, 4..7, 8..11: the first is gone over in full, the others end at their last element.
        out[8, i] = 0 + 1 + 2 + 3 + 100
    return {2: out}


@kernel
def _local_arrays(nd_item: kapi.NdItem, a, out, scratch):
    i, k = nd_item.get_global_id(0), nd_item.get_local_id(0)
    scratch[k] = a[i] * 2
    kapi.group_barrier(nd_item.get_group())
    for number, x in enumerate(scratch):
        out[i] += number * x
    out[i] += max(scratch)


@kernel
def _sequences(item: kapi.Item, a, b, out):
    i = item.get_id(0)
    out[0, i] = sum(a) + sum(b[i], 10) + sum(range(i + 2))
    out[1, i] = min(a) + max(b[i]) + max(range(3, i + 5))
    out[2, i] = any(b[i]) + 2 * all(b[i]) + 4 * any(a[:0]) + 8 * all(a[:0])
    out[3, i] = (i in range(0, 3, 2)) + 2 * (i not in ODD) + 4 * (5 - i in range(5, 0, -2))
    out[4, i] = len(range(0, 10, i + 1)) + range(9, 0, -3)[i] + range(4)[-1]
    out[6, i] = (range(i) == range(0, i, 2)) + 2 * (range(1, 5, 3) != range(1, 6, 3)) + 4 * (range(i, 0) == range(0))
    out[7, i] = max(range(2**62)) - (2**62 - 5) - min(range(2**62, i, -1)) + sum(range(i, 2**20))
    members = (1, 2.5, i)
    out[5, i] = members[i] + len(tuple(members))
    out[9, i] = members[-1 - i] + 10 * ODD[-i] + range(3)[-i]
    out[10, i] = all(range(i, 2**62)) + 2 * all(range(-i - 3, 2**62, 3)) + 4 * any(range(-(2**63), 2**63 - 1))
    out[11, i] = any(range(i)) + 2 * any(range(0, -i, -1)) + 4 * any(range(3, i + 3, 2)) + 8 * all(range(i))
    longer: tuple[Any, ...] = members
    longer += (4, 5)
    out[8, i] = longer[3] - len(longer)


@kernel
def _conversions(item: kapi.Item, a, n, out):
    i = item.get_id(0)
    out[0, i] = int() + float() + bool() + complex().real  # noqa: UP018  what they give is tested
    out[1, i] = round(a[i], 1) + round(n[i], -1)
    out[2, i] = round(i * 250, -2) + round(n[i], 2)
    out[3, i] = a[i].astype(np.int32) + a[i].dtype.type(0.5) + a[i].astype(n.dtype)
    out[4, i] = n[i].item() / 4 + n[i].astype(np.float32)
    out[5, i] = float("inf") if i == 0 else min(float("-1.5e3"), math.inf)
    out[6, i] = np.float32("2.5") * a[i]


def _conversions_expected(given: list[Any]) -> dict[int, np.ndarray[Any, Any]]:
    a, n, out = given
    out = out.copy()
    out[1] = np.round(a, 1) + np.round(n, -1)
    out[2] = [0 + n[0], 200 + n[1], 500 + n[2]]  # halves go to the even neighbour
    out[3] = a.astype(np.int32) + np.float64(0.5) + a.astype(np.int32)
    out[4] = n / 4 + n
    out[5] = [np.inf, -1500, -1500]
    out[6] = np.float32(2.5) * a
    return {2: out}


_A = np.array([0.5, 2, -1, 4], np.float32)
_B = np.arange(12, dtype=np.int32).reshape(3, 4)
_THREE = np.array([1.25, -2.75, 3.375], np.float32)
_INTEGERS = np.array([14, 25, -37], np.int32)
_ID = np.arange(3)

CASES: tuple[Case, ...] = (
    output_case(
        "language/defaults",
        _defaults,
        ((3,),),
        [_THREE],
        [
            _THREE * 2 + 0.5,
            _THREE * 3 + np.float32(0.5),
            _THREE * 2 + 1,
            _ID * 4 + _THREE,
            [5 + 0, 6 + 2, 7 + 4],
            2.5 + 2 + _ID,
            [5.5] * 3,
        ],
    ),
    output_case(
        "language/local-functions",
        _local_functions,
        ((3,),),
        [np.array([1, 2, 3], np.int32)],
        np.array([120 + _ID, [125] * 3, [140, 241, 342], [17, 18, 19]], np.int32),
        np.int32,
    ),
    output_case(
        "language/names-from-outside",
        _outside,
        ((3,),),
        [_THREE],
        [[14] * 3, _THREE * np.float32(0.5) + _ID * 10, [8.25] * 3, [13] * 3, [3] * 3, [9] * 3, [6] * 3],
        starts=True,
    ),
    output_case(
        "language/attributes-by-name",
        _attributes_by_name,
        ((3,), (3,)),
        [np.array([1.0, 4, 9])],
        [[3, 4, 5], [3, 3, 3], [14, 0, 0]],
        starts=True,
    ),
    Case(
        "language/iteration",
        _iteration,
        ((3,),),
        lambda: [_A, _B, np.zeros((10, 3))],
        _iteration_expected,
        starts=(2,),
    ),
    Case(
        "language/iteration-over-local-memory",
        _local_arrays,
        ((4,), (2,)),
        lambda: [_A, np.zeros(4), Local(2, np.float32)],
        lambda given: {1: np.array([4 + 4, 4 + 4, 8 + 8, 8 + 8.0])},
        starts=(1,),
    ),
    output_case(
        "language/functions-of-sequences",
        _sequences,
        ((3,),),
        [_A, _B],
        [
            5.5 + _B.sum(axis=1) + 10 + np.array([1, 3, 6]),
            -1 + _B.max(axis=1) + np.array([4, 5, 6]),
            [1 + 8, 3 + 8, 3 + 8],
            [1 + 2 + 4, 0 + 0 + 0, 1 + 2 + 4],
            [10 + 9 + 3, 5 + 6 + 3, 4 + 3 + 3],
            [1 + 3, 2.5 + 3, 2 + 3],
            [1 + 4, 1 + 4, 4],
            4 - (_ID + 1) + 2**19 * (2**20 - 1) - [0, 0, 1],
            [4 - 5] * 3,
            [0 + 10 + 0, 2.5 + 50 + 2, 1 + 30 + 1],
            [0 + 2 * 0 + 4, 1 + 2 + 4, 1 + 2 + 4],
            [8, 4, 1 + 2 + 4],
        ],
    ),
    Case(
        "language/conversions",
        _conversions,
        ((3,),),
        lambda: [_THREE, _INTEGERS, np.zeros((7, 3))],
        _conversions_expected,
        ulp={2: np.array([0, 1, 0, 0, 0, 0, 0])[:, None]},
        precision=np.float32,
        starts=(2,),
    ),
)
