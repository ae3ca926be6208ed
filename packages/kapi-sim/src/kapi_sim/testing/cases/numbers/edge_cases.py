# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator"
# The kernels are written as users write them.
"""Cases at the edges of the number rules: bools as numbers, exponents, the ends of 64 bits, zeros, infinities, nan.

What is expected was worked out by hand, or is NumPy's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import kapi_sim as kapi
from kapi_sim.testing.case import Case, kernel, output_case

__all__ = ["CASES"]


@kernel
def _truths(item: kapi.Item, a, b, out):
    i = item.get_id(0)
    out[0, i] = np.where(a[i] > 0.5, -1, 0)
    out[1, i] = -1 if a[i] > 0.5 else 0
    out[2, i] = (a[i] > 0.5) * -1
    out[3, i] = -int(b[i])
    out[4, i] = -np.int32(b[i])
    out[5, i] = np.int8(-1) * b[i] * 0.5
    out[6, i] = np.float32(-np.int32(b[i])) + a[i]
    out[7, i] = (-np.int32(b[i])) >> 1
    out[8, i] = (a[i] > 0.5) - 1
    out[9, i] = 1 if b[i] else 0


@kernel
def _negatives(item: kapi.Item, a, b, eighth, out):
    i = item.get_id(0)
    out[0, i] = -a[i]
    out[1, i] = abs(a[i])
    out[2, i] = -a[i] <= b[i]
    out[3, i] = -a[i] >> 1
    out[4, i] = a[i] * -eighth
    out[5, i] = np.float32(-a[i])
    out[6, i] = np.negative(abs(a[i])) < b[i]
    out[7, i] = abs(a[i]) % 9
    out[8, i] = abs(a[i]) < 0
    out[9, i] = abs(a[i]) // eighth


@kernel
def _large_powers(item: kapi.Item, x, y, out):
    i = item.get_id(0)
    out[i] = x[i] ** y[i]


@kernel
def _counts(item: kapi.Item, a, n, right, left):
    i = item.get_id(0)
    right[i] = np.right_shift(a[i], n[i])
    left[i] = np.left_shift(a[i], n[i])


@kernel
def _powers(item: kapi.Item, n, a, out):
    i = item.get_id(0)
    out[0, i] = (i + 2) ** -1
    out[1, i] = n**-2 + 2**n
    out[2, i] = a[i] ** -1
    out[3, i] = pow(i, n)


@kernel
def _with_literals(item: kapi.Item, a, out):
    i = item.get_id(0)
    out[0, i] = min(a[i], 100) + np.uint8(200)
    out[1, i] = a[i] and 7
    out[2, i] = a[i] if i > 1 else 255
    out[3, i] = np.where(i > 1, a[i], 255)
    out[4, i] = a[i] > -1


@kernel
def _ends(item: kapi.Item, a, step, out):
    i = item.get_id(0)
    out[0, i] = int(a[i])
    out[1, i] = abs(-(2**63) + 1 + i)
    for k in range(2**63 - 8, 2**63 - 1, 5):
        out[2, i] += k - (2**63 - 9)
    for k in range(-(2**63) + 8, -(2**63), -5):
        out[3, i] += k + (2**63 - 1)
    for _ in range(2**63 - 8 + i, 2**63 - 1, step):
        out[4, i] += 1
    for _ in range(-(2**63), 2**63 - 1, 2**62):
        out[5, i] += 1
    for _ in range(2**63 - 1, -(2**63), -(2**62) - i):
        out[6, i] += 1
    out[7, i] = len(range(-(2**63) + i, 2**63 - 1, 2**62))


@kernel
def _round_trips(item: kapi.Item, a, out):
    i = item.get_id(0)
    out[0, i] = 1.0 / np.float64(np.int32(a[i]))
    out[1, i] = 1.0 / np.float64(np.int64(a[i]))
    out[2, i] = 1.0 / np.float64(np.int8(a[i]))
    out[3, i] = np.copysign(1.0, float(int(a[i])))
    out[4, i] = np.copysign(1.0, np.float32(np.int32(np.float32(a[i]))))


@kernel
def _rounded(item: kapi.Item, x, a, out):
    i = item.get_id(0)
    out[0, i] = round(x, 2)
    out[1, i] = round(a[i], 2)
    out[2, i] = round(float(a[i]) * 1000, -2)


@kernel
def _wide_literals(item: kapi.Item, q, out, floats):
    i = item.get_id(0)
    out[0, i] = q[i] & (2**64 - 1)
    out[1, i] = np.uint64(1 << 63) + q[i]
    out[2, i] = q[i] * 11400714819323198485
    out[3, i] = (q[i] ^ 0xCBF29CE484222325) // 2**63
    out[4, i] = max(q[i], 2**63)
    out[5, i] = 10**20 // 10**18 + q[i]
    floats[0, i] = q[i] > 2**63
    floats[1, i] = 2**63 * 0.5 + i
    floats[2, i] = float(2**64 - 1) + 10**20 / 4
    floats[3, i] = i < 2**63


@kernel
def _truth_extrema(item: kapi.Item, a, b, n, truths, numbers):
    i = item.get_id(0)
    truths[0, i] = min(a[i], b[i])
    truths[1, i] = max(a[i], b[i])
    truths[2, i] = min(a[i], True)
    truths[3, i] = max(b[i], a[i], False)
    truths[4, i] = a[i] < 2**63 and 2**64 - 1 != b[i]
    truths[5, i] = np.greater(a[i], 2**63)
    numbers[0, i] = min(a[i], 300)
    numbers[1, i] = max(n, b[i])
    numbers[2, i] = max(a[i], 65535)
    numbers[3, i] = min(b[i], n, 2)


@kernel
def _decided(item: kapi.Item, a, out):
    i = item.get_id(0)
    x = a[i] if i >= 0 else 0
    if 0:
        x = 100000
    out[0, i] = np.spacing(100 or a[i])
    out[1, i] = np.spacing(0 or a[i])
    out[2, i] = (0 or a[i]) + 65535
    out[3, i] = (100000 and a[i]) + x
    out[4, i] = a[i] if 1 else 100000
    out[5, i] = np.float64(a[i]) and (3.5 or a[i])


@kernel
def _crossed_bounds(item: kapi.Item, a, b, n, out):
    i = item.get_id(0)
    out[0, i] = np.clip(a[i], b[i], n)
    out[1, i] = np.clip(a[i], b[i], 65534)


def _truth_inputs(dtype: Any) -> Callable[[], list[Any]]:
    return lambda: [np.array([0.0, 1.0, 2.0], np.float32), np.array([False, True, True]), np.zeros((10, 3), dtype)]


_WIDE = [0, 5, 2**63, 2**64 - 1]

_ROUNDED = [2.675, -2.675, 0.125, 1.005]


def _negatives_case(dtype: str) -> Case:
    """The least number is its own negative, whatever it is widened to."""
    ends = np.iinfo(dtype)
    a = np.array([ends.min, ends.min, ends.min + 1, -1, 0, 1, ends.max, ends.min // 8], dtype)
    b = np.array([0, ends.min, ends.max, 1, 0, -1, ends.min, ends.max], dtype)
    eighth = np.dtype(dtype).type(8)

    def expected(given: list[Any]) -> dict[int, np.ndarray[Any, Any]]:
        with np.errstate(all="ignore"):
            rows = [-a, abs(a), -a <= b, -a >> 1, a * -eighth, (-a).astype(np.float32), -abs(a) < b]
            rows += [abs(a) % 9, abs(a) < 0, abs(a) // eighth]
        return {3: np.array([row.astype(np.float64) for row in rows])}

    return Case(f"edges/negatives-{dtype}", _negatives, ((8,),), lambda: [a, b, eighth, np.ones((10, 8))], expected)


def _large_powers_case(dtype: str) -> Case:
    """Exponents so large that all are even, and the last odd ones."""
    exponents = [2.0**k for k in range(20, 72)] + [2.0 ** (53 if dtype == "float64" else 24) - 1]
    y = np.array([*exponents, *(-each for each in exponents)], dtype)
    bases = np.array([-1, -2, -0.5], dtype)
    x = np.repeat(bases, len(y))
    y = np.tile(y, len(bases))

    def expected(given: list[Any]) -> dict[int, np.ndarray[Any, Any]]:
        with np.errstate(all="ignore"):
            return {2: np.power(x, y)}

    return Case(f"edges/large-powers-{dtype}", _large_powers, (x.shape,), lambda: [x, y, np.full_like(x, 9)], expected)


def _counts_case(of: str, by: str) -> Case:
    """A count of 2**32 or more shifts everything out."""
    a = np.array([3, 2**31 - 1, -5, 7, 2**30, 1, -1, 9, 2**20], np.int64).astype(of)
    n = np.array([0, 1, 31, 32, 63, 64, 2**32, 2**32 + 1, 2**62], by)
    zeros = np.zeros(9, np.result_type(of, by))
    return Case(
        f"edges/counts-{of}-{by}",
        _counts,
        ((9,),),
        lambda: [a, n, zeros + 1, zeros + 1],
        lambda given: {2: np.right_shift(a, n), 3: np.left_shift(a, n)},
    )


CASES: tuple[Case, ...] = (
    *(_large_powers_case(dtype) for dtype in ("float32", "float64")),
    *(_negatives_case(dtype) for dtype in ("int8", "int16", "int32", "int64")),
    *(_counts_case(of, by) for of, by in (("uint32", "uint64"), ("uint64", "uint64"), ("int32", "int64"))),
    _counts_case("int64", "int64"),
    *(
        Case(
            f"edges/bools-as-{name}",
            _truths,
            ((3,),),
            _truth_inputs(dtype),
            lambda given: {
                2: np.array(
                    [
                        [0, -1, -1],
                        [0, -1, -1],
                        [0, -1, -1],
                        [0, -1, -1],
                        [0, -1, -1],
                        [0, -0.5, -0.5],
                        [0, 0, 1],
                        [0, -1, -1],
                        [-1, 0, 0],
                        [0, 1, 1],
                    ]
                ).astype(given[2].dtype)
            },
        )
        for name, dtype in (("float32", np.float32), ("float64", np.float64), ("int32", np.int32))
    ),
    output_case(
        "edges/negative-exponents",
        _powers,
        ((3,),),
        [2, np.array([1.0, 2.0, -4.0], np.float32)],
        [[1 / 2, 1 / 3, 1 / 4], [4.25, 4.25, 4.25], [1.0, 0.5, -0.25], [0.0, 1.0, 4.0]],
        ulp=16.0,
        precision=np.float32,
    ),
    output_case(
        "edges/literals-beside-narrow-integers",
        _with_literals,
        ((4,),),
        [np.array([0, 50, 120, 255], np.uint8)],
        [[200, 250, 44, 44], [0, 7, 7, 7], [255, 255, 120, 255], [255, 255, 120, 255], [1, 1, 1, 1]],
        np.int64,
    ),
    output_case(
        "edges/ends-of-64-bits",
        _ends,
        ((2,),),
        [np.array([2**63 - 1, 5], np.uint64), 3],
        # Ranges from 2**63 - 8 by 5: the first number and one 5 above; by 3, up to 2**63 - 2.
        np.array(
            [
                [2**63 - 1, 5],
                [2**63 - 1, 2**63 - 2],
                [1 + 6, 1 + 6],
                [7 + 2, 7 + 2],
                [3, 2],
                [4, 4],
                [4, 4],
                [4, 4],
            ],
            np.int64,
        ),
        np.int64,
        starts=True,
    ),
    output_case(
        "edges/zero-has-no-sign-as-an-integer",
        _round_trips,
        ((4,),),
        [np.array([-0.6, -0.0, 0.5, -2.5])],
        [[np.inf, np.inf, np.inf, -0.5]] * 3 + [[1.0, 1.0, 1.0, -1.0]] * 2,
    ),
    Case(
        "edges/rounding-to-digits",
        _rounded,
        ((4,),),
        lambda: [2.675, np.array(_ROUNDED), np.zeros((3, 4))],
        lambda given: {
            2: np.array([np.full(4, np.round(2.675, 2)), np.round(given[1], 2), np.round(given[1] * 1000, -2)])
        },
    ),
    Case(
        "edges/literals-of-uint64",
        _wide_literals,
        ((4,),),
        lambda: [np.array(_WIDE, np.uint64), np.zeros((6, 4), np.uint64), np.zeros((4, 4))],
        # By Python's integers, modulo 2**64.
        lambda given: {
            1: np.array(
                [
                    _WIDE,
                    [(2**63 + q) % 2**64 for q in _WIDE],
                    [q * 11400714819323198485 % 2**64 for q in _WIDE],
                    [(q ^ 0xCBF29CE484222325) // 2**63 for q in _WIDE],
                    [max(q, 2**63) for q in _WIDE],
                    [(100 + q) % 2**64 for q in _WIDE],
                ],
                np.uint64,
            ),
            2: np.array(
                [[q > 2**63 for q in _WIDE], [2.0**62 + i for i in range(4)], [2.0**64 + 2.5e19] * 4, [1.0] * 4], float
            ),
        },
    ),
    Case(
        "edges/bools-beside-numbers",
        _truth_extrema,
        ((4,),),
        lambda: [
            np.array([False, False, True, True]),
            np.array([False, True, False, True]),
            7,
            np.zeros((6, 4), np.bool_),
            np.zeros((4, 4), np.int64),
        ],
        lambda given: {
            3: np.array(
                [given[0] & given[1], given[0] | given[1], given[0], given[0] | given[1], [True] * 4, [False] * 4]
            ),
            4: np.array([[0, 0, 1, 1], [7] * 4, [65535] * 4, [0, 1, 0, 1]]),
        },
    ),
    output_case(
        "edges/literals-that-decide",
        _decided,
        ((3,),),
        [np.array([1, 100, 65535], np.uint16)],
        # What a literal test leaves out has no part in the type: 100 alone is of no strong one.
        [
            [2.0**-46] * 3,
            [2.0**-23, 2.0**-17, 2.0**-8],
            [0, 99, 65534],
            [2, 200, 65534],
            [1, 100, 65535],
            [3.5] * 3,
        ],
    ),
    output_case(
        "edges/bounds-that-cross",
        _crossed_bounds,
        ((2,),),
        [np.array([3, 255], np.uint8), np.array([4294967294, 65535], np.uint32), 65534],
        np.full((2, 2), 65534, np.uint32),
        np.uint32,
    ),
)
