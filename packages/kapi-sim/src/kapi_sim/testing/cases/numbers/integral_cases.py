# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator"
# The kernels are written as users write them.
"""Cases of numbers near the ends of their types: stored, compared, counted, rounded, and as bounds."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import kapi_sim as kapi
from kapi_sim.testing.case import Case, kernel

__all__ = ["CASES"]

_NARROW = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")


@kernel
def _store(item: kapi.Item, a, i1, u1, i2, u2, i4, u4, i8, u8):
    i = item.get_id(0)
    private = kapi.PrivateArray(1, np.int16)
    private[0] = a[i]
    i1[i] = a[i]
    u1[i] = a[i]
    i2[i] = private[0]
    u2[i] = a[i]
    i4[i] = a[i]
    u4[i] = a[i]
    i8[i] = a[i]
    kapi.AtomicRef(u8, i).exchange(a[i])


def _store_case(source: str) -> Case:
    limits = np.iinfo(source)

    def inputs() -> list[Any]:
        values = np.array([limits.min, limits.max, limits.max // 2 + 1, 100, limits.max - 1], source)
        return [values, *(np.zeros(5, dtype) for dtype in _NARROW)]

    def expected(given: list[Any]) -> dict[int, Any]:
        return {1 + row: given[0].astype(dtype) for row, dtype in enumerate(_NARROW)}

    return Case(f"numbers/stored-{source}", _store, ((5,),), inputs, expected)


@kernel
def _compare(item: kapi.Item, a, b, n, out):
    i = item.get_id(0)
    out[0, i] = np.less(a[i], n)
    out[1, i] = np.greater_equal(a[i], n)
    out[2, i] = np.equal(n, a[i])
    out[3, i] = np.not_equal(n, n)
    out[4, i] = np.less_equal(b[i], a[i])
    out[5, i] = np.greater(a[i], b[i])


def _compare_case(dtype: str, n: int) -> Case:
    def inputs() -> list[Any]:
        ends = np.iinfo(dtype)
        a = np.array([ends.min, ends.max, 3, 7], dtype)
        return [a, np.array([2**64 - 1, 3, 0, 2**63], np.uint64), n, np.zeros((6, 4), np.bool_)]

    def expected(given: list[Any]) -> dict[int, Any]:
        a, b = [int(each) for each in given[0]], [int(each) for each in given[1]]
        rows = [[x < n for x in a], [x >= n for x in a], [x == n for x in a], [False] * 4]
        pairs = list(zip(a, b, strict=True))
        return {3: np.array([*rows, [y <= x for x, y in pairs], [x > y for x, y in pairs]])}

    return Case(f"numbers/exact-{dtype}-{n}", _compare, ((4,),), inputs, expected)


@kernel
def _bounds(item: kapi.Item, a, n, out, count):
    i = item.get_id(0)
    out[0, i] = np.clip(a[i], 0, n)
    out[1, i] = np.clip(a[i], -1000, 5)
    out[2, i] = np.clip(n, a[i], a[i])
    for _ in range(n > 5):
        count[i] += 1


def _bounds_case(dtype: str) -> Case:
    def inputs() -> list[Any]:
        ends = np.iinfo(dtype)
        a = np.array([ends.min, 0, 100, ends.max], dtype)
        return [a, 1000, np.zeros((3, 4), np.int64), np.zeros(4, np.int32)]

    def expected(given: list[Any]) -> dict[int, Any]:
        a = given[0].astype(np.int64)
        rows = [np.minimum(np.maximum(a, 0), 1000), np.minimum(np.maximum(a, -1000), 5), a]
        return {2: np.array(rows), 3: np.ones(4, np.int32)}

    return Case(f"numbers/bounds-{dtype}", _bounds, ((4,),), inputs, expected, starts=(3,))


@kernel
def _divisors(item: kapi.Item, a, b, out):
    i = item.get_id(0)
    out[0, i] = math.gcd(a[i], b[i])
    out[1, i] = math.gcd(b[i], a[i])
    out[2, i] = np.gcd(b[i], np.int64(-36))


def _divisors_case() -> Case:
    """Divisors of numbers that 64 bits with a sign do not hold, and of the least one, which has no absolute value."""

    def inputs() -> list[Any]:
        a = np.array([2**64 - 1, 2**63, 2**64 - 4, 12, 0], np.uint64)
        return [a, np.array([3, -(2**63) + 2**10, -6, -(2**63), -5]), np.zeros((3, 5), np.int64)]

    def expected(given: list[Any]) -> dict[int, Any]:
        found = [math.gcd(int(x), int(y)) for x, y in zip(given[0], given[1], strict=True)]
        return {2: np.array([found, found, [math.gcd(int(y), 36) for y in given[1]]])}

    return Case("numbers/divisors-of-any-integer", _divisors, ((5,),), inputs, expected)


@kernel
def _counts(item: kapi.Item, n, k, combinations, orders, products):
    i = item.get_id(0)
    combinations[i] = math.comb(n[i], k[i])
    orders[i] = math.perm(n[i] % 21, k[i] % 21)
    products[i] = math.factorial(k[i] % 21)


def _counts_case() -> Case:
    """Counts for all sets of up to 66 members, whose combinations fit 64 bits though their products do not."""

    def inputs() -> list[Any]:
        pairs = [(n, k) for n in range(67) for k in range(n + 2)]
        n, k = np.array([*pairs, (2**62, 1), (2**62, 2**62 - 1), (2**32, 2), (2**40, 2**40)]).T
        return [n.copy(), k.copy(), *(np.zeros(len(n), np.int64) for _ in range(3))]

    def expected(given: list[Any]) -> dict[int, Any]:
        pairs = [(int(n), int(k)) for n, k in zip(given[0], given[1], strict=True)]
        return {
            2: np.array([math.comb(n, k) for n, k in pairs]),
            3: np.array([math.perm(n % 21, k % 21) for n, k in pairs]),
            4: np.array([math.factorial(k % 21) for _, k in pairs]),
        }

    return Case("numbers/counts-of-64-bits", _counts, ((len(inputs()[0]),),), inputs, expected)


@kernel
def _round(item: kapi.Item, a, digits, out):
    i, j = item.get_id(0), item.get_id(1)
    out[i, j] = round(a[i], digits[j])


def _round_case(dtype: str) -> Case:
    """Rounding to tens, hundreds and more than the type holds; what does not fit it wraps."""

    def inputs() -> list[Any]:
        ends = np.iinfo(dtype)
        values = [0, 1, 5, 15, 25, 35, 49, 51, 99, ends.max, ends.max // 2, ends.max - 4, ends.min, ends.min // 2]
        digits = [0, 1, 2**62, *range(-1, -46, -1), -400, -(2**31), -(2**63)]
        return [np.array(values, dtype), np.array(digits), np.zeros((len(values), len(digits)), dtype)]

    def expected(given: list[Any]) -> dict[int, Any]:
        exact = [[round(int(x), max(int(digits), -30)) % 2**64 for digits in given[1]] for x in given[0]]
        return {2: np.array(exact, np.uint64).astype(dtype)}

    shape = inputs()[2].shape
    return Case(f"numbers/rounded-{dtype}", _round, (shape,), inputs, expected)


def _round_float_case(dtype: str) -> Case:
    """Rounding to more digits, and fewer, than the type has, as NumPy rounds one of its numbers."""

    def inputs() -> list[Any]:
        ends = np.finfo(dtype)
        values = [0.0, -0.0, 1.5, 2.5, -2.675, 1e-3, 12345.678, 1 / 3, np.inf, np.nan, ends.max, ends.tiny, 6e-8]
        digits = [*range(-46, 47), -400, -309, -308, 300, 308, 309, 400, 2**62, -(2**63)]
        shape = len(values), len(digits)
        return [np.array(values, dtype), np.array(digits), np.zeros(shape, dtype)]

    def expected(given: list[Any]) -> dict[int, Any]:
        with np.errstate(all="ignore"):
            rounded = [[round(x, max(-500, min(int(digits), 500))) for digits in given[1]] for x in given[0]]
        return {2: np.array(rounded, dtype)}

    return Case(f"numbers/rounded-{dtype}", _round, (inputs()[2].shape,), inputs, expected)


CASES: tuple[Case, ...] = (
    _divisors_case(),
    _counts_case(),
    *(_round_case(dtype) for dtype in _NARROW),
    *(_round_float_case(dtype) for dtype in ("float16", "float32", "float64")),
    *(_store_case(source) for source in ("int64", "uint64", "int32", "uint32")),
    *(_compare_case(dtype, n) for dtype in ("int8", "uint16", "int64") for n in (300, -70000)),
    *(_bounds_case(dtype) for dtype in ("int8", "uint8")),
)
