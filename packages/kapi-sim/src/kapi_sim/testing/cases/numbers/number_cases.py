# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator"
# The kernels are written as users write them.
"""Cases of the number rules: strong and weak operands, wrap-around, signs, shifts, edges.

Results are stored into wider arrays, so that a result computed in too wide a type shows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import kapi_sim as kapi
from kapi_sim.testing.case import Case, kernel, output_case

__all__ = ["CASES"]

_DTYPES = ("int32", "int64", "float32", "float64")
_SIGNED = {
    "int32": [7, -7, 2147483647, -2147483648, 100000, -3],
    "int64": [-2, 3, 5, 7, 100000, -4],
    "float32": [1.5, -2.25, 0.1, 3.0, -1e3, 7.75],
    "float64": [0.3, -1.25, 2.5, -0.7, 12.0, 1e-3],
}
_OTHER = {
    "int32": [2, 3, 2, -3, 100000, -2],
    "int64": [-3, 4, 2, 7, 90000, 5],
    "float32": [0.1, 2.5, -3.0, 0.7, 1.25, -2.0],
    "float64": [-0.2, 1.75, 3.0, -0.3, 11.0, 2.5],
}


def _wide(dtype: Any) -> Any:
    return np.float64 if np.dtype(dtype).kind == "f" else np.int64


@kernel
def _arithmetic(item: kapi.Item, a, b, add, subtract, multiply, divide, floor_divide, remainder):
    i = item.get_id(0)
    add[i] = a[i] + b[i]
    subtract[i] = a[i] - b[i]
    multiply[i] = a[i] * b[i]
    divide[i] = a[i] / b[i]
    floor_divide[i] = a[i] // b[i]
    remainder[i] = a[i] % b[i]


def _arithmetic_case(left: str, right: str) -> Case:
    common = np.result_type(np.dtype(left), np.dtype(right))
    quotient = np.result_type(common, np.true_divide(np.ones(1, common), np.ones(1, common)).dtype)
    functions = (np.add, np.subtract, np.multiply, np.true_divide, np.floor_divide, np.remainder)

    def inputs() -> list[Any]:
        a, b = np.array(_SIGNED[left], left), np.array(_OTHER[right], right)
        return [
            a,
            b,
            *(np.zeros(a.size, np.float64 if f is np.true_divide else _wide(common)) for f in functions),
        ]

    def expected(given: list[Any]) -> dict[int, np.ndarray[Any, Any]]:
        with np.errstate(all="ignore"):
            return {2 + k: f(given[0], given[1]).astype(given[2 + k].dtype) for k, f in enumerate(functions)}

    # OpenCL allows a device 2.5 ulp for a division in float32.
    return Case(
        f"numbers/arithmetic-{left}-{right}",
        _arithmetic,
        ((6,),),
        inputs,
        expected,
        ulp={5: 2.5} if quotient == np.float32 else {},
        precision=quotient,
    )


@kernel
def _power(item: kapi.Item, a, b, out):
    i = item.get_id(0)
    out[i] = a[i] ** b[i]


def _power_case(left: str, right: str) -> Case:
    common = np.result_type(np.dtype(left), np.dtype(right))

    def inputs() -> list[Any]:
        base = np.array([3, 2, 7, 10, 5], left)
        return [base, np.array([2, 31, 3, 0, 13], right), np.zeros(5, _wide(common))]

    return Case(
        f"numbers/power-{left}-{right}",
        _power,
        ((5,),),
        inputs,
        lambda given: {2: np.power(given[0], given[1]).astype(given[2].dtype)},
        ulp={2: 16.0} if common.kind == "f" else {},
        precision=common if common.kind == "f" else np.float64,
    )


@kernel
def _comparison(item: kapi.Item, a, b, less, less_equal, equal, not_equal, greater, greater_equal):
    i = item.get_id(0)
    less[i] = a[i] < b[i]
    less_equal[i] = a[i] <= b[i]
    equal[i] = a[i] == b[i]
    not_equal[i] = a[i] != b[i]
    greater[i] = a[i] > b[i]
    greater_equal[i] = a[i] >= b[i]


def _comparison_case(left: str, right: str) -> Case:
    functions = (np.less, np.less_equal, np.equal, np.not_equal, np.greater, np.greater_equal)

    def inputs() -> list[Any]:
        a = np.array([0, 1, -1, 5, -7, 100], left)
        b = np.array([0, -1, 1, 5, -8, 99], right)
        return [a, b, *(np.zeros(6, np.bool_) for _ in functions)]

    return Case(
        f"numbers/comparison-{left}-{right}",
        _comparison,
        ((6,),),
        inputs,
        lambda given: {2 + k: f(given[0], given[1]) for k, f in enumerate(functions)},
    )


@kernel
def _bits(item: kapi.Item, a, b, shift, both, either, one, left, right, inverse):
    i = item.get_id(0)
    both[i] = a[i] & b[i]
    either[i] = a[i] | b[i]
    one[i] = a[i] ^ b[i]
    left[i] = a[i] << shift[i]
    right[i] = a[i] >> shift[i]
    inverse[i] = ~a[i]


def _bits_case(left: str, right: str) -> Case:
    def inputs() -> list[Any]:
        a = np.array([5, -9, 2147483647, -2147483648], left)
        b = np.array([3, 12, -1, 65535], right)
        return [a, b, np.array([1, 4, 2, 3], right), *(np.zeros(4, np.int64) for _ in range(6))]

    def expected(given: list[Any]) -> dict[int, np.ndarray[Any, Any]]:
        a, b, shift = given[:3]
        results = (a & b, a | b, a ^ b, a << shift, a >> shift, ~a)
        return {3 + k: result.astype(np.int64) for k, result in enumerate(results)}

    return Case(f"numbers/bits-{left}-{right}", _bits, ((4,),), inputs, expected)


@kernel
def _weak(item: kapi.Item, a, k, out, halves):
    i = item.get_id(0)
    out[0, i] = a[i] * 2
    out[1, i] = 3 - a[i]
    out[2, i] = a[i] // 2
    out[3, i] = a[i] % 3
    out[4, i] = -a[i] * a[i] + i
    out[5, i] = a[i] * k + a.shape[0]
    out[6, i] = a[i] ** 2
    out[7, i] = abs(a[i])
    halves[0, i] = a[i] * 0.5
    halves[1, i] = a[i] / 4
    halves[2, i] = a[i] + 1.5


def _weak_case(dtype: str) -> Case:
    def inputs() -> list[Any]:
        a = np.array([-7, 6, 100000, 5], dtype)
        return [a, 3, np.zeros((8, 4), _wide(dtype)), np.zeros((3, 4), np.float64)]

    def expected(given: list[Any]) -> dict[int, np.ndarray[Any, Any]]:
        a = given[0]
        i = np.arange(4).astype(dtype)
        k, n = np.array(3, dtype), np.array(4, dtype)
        exact = [a * 2, 3 - a, a // 2, a % 3, -a * a + i, a * k + n, a**2, np.abs(a)]
        halves = [a * 0.5, a / 4, a + 1.5]
        return {2: np.stack(exact).astype(_wide(dtype)), 3: np.stack(halves).astype(np.float64)}

    return Case(f"numbers/weak-{dtype}", _weak, ((4,),), inputs, expected)


@kernel
def _accumulate(item: kapi.Item, a, out):
    total = 0.0
    count = 0
    for i in range(a.shape[0]):
        total += a[i]
        count += 1
    out[0] = total
    out[1] = total / count


@kernel
def _edges(item: kapi.Item, a, wide, narrow):
    i = item.get_id(0)
    wide[0, i] = a[i] + 1
    wide[1, i] = a[i] - 1
    wide[2, i] = -a[i]
    wide[3, i] = a[i] // -1
    wide[4, i] = a[i] << 31
    narrow[0, i] = a[i] * 3
    narrow[1, i] = a[i] / 2


# By hand: int32 wraps, INT_MIN // -1 is INT_MIN, a float64 holds half of an int32.
_EDGE_WIDE = [
    [-2147483648, -2147483647, 1],
    [2147483646, 2147483647, -1],
    [-2147483647, -2147483648, 0],
    [-2147483647, -2147483648, 0],
    [-2147483648, 0, 0],
]


@kernel
def _wide_shift(item: kapi.Item, a, by, left, right):
    i = item.get_id(0)
    left[i] = a[i] << by[i]
    right[i] = a[i] >> by[i]


@kernel
def _float_edges(item: kapi.Item, a, b, divided, remaining, floored):
    i = item.get_id(0)
    divided[i] = a[i] / b[i]
    remaining[i] = a[i] % b[i]
    floored[i] = a[i] // b[i]


@kernel
def _stores(item: kapi.Item, f, n, to_int, to_float, to_byte):
    i = item.get_id(0)
    to_int[i] = f[i]
    to_float[i] = n[i]
    to_byte[i] = n[i]


@kernel
def _conversions(item: kapi.Item, f, out):
    i = item.get_id(0)
    x = f[i]
    out[i, 0] = int(x)
    out[i, 1] = min(x, f.dtype.type(1.0))
    out[i, 2] = max(x, f.dtype.type(1.0))
    out[i, 3] = abs(x)
    out[i, 4] = round(x)


_PAIRS = tuple((left, right) for left in _DTYPES for right in _DTYPES)
_INTEGERS = tuple(pair for pair in _PAIRS if all(name.startswith("int") for name in pair))


@kernel
def _between(item: kapi.Item, a, out, small):
    i = item.get_id(0)
    one, zero = a.dtype.type(1), a.dtype.type(0)
    out[0, i] = np.fmax(np.fmin(a[i], 1), 0)
    out[1, i] = max(zero, min(one, a[i]))
    out[2, i] = np.fmax(one if not a[i] < one else a[i], zero)
    out[3, i] = max(min(a[i], one), zero)
    small[i] = np.fmin(a[i], 1)


def _between_case(dtype: str) -> Case:
    values = [np.nan, 2.0, -2.0, 0.5, np.inf, -np.inf]
    held = [1.0, 1.0, 0.0, 0.5, 1.0, 0.0]
    return Case(
        f"numbers/nan-held-between-0-and-1-{dtype}",
        _between,
        ((6,),),
        lambda: [np.array(values, dtype), np.zeros((4, 6)), np.zeros(6, np.uint8)],
        lambda given: {1: np.array([held, held, held, [np.nan, *held[1:]]]), 2: np.array([1, 1, 0, 0, 1, 0], np.uint8)},
    )


CASES: tuple[Case, ...] = (
    *(_arithmetic_case(left, right) for left, right in _PAIRS),
    *(_power_case(left, right) for left, right in (*_INTEGERS, ("float32", "float32"), ("float64", "int32"))),
    *(_comparison_case(left, right) for left, right in _PAIRS if left <= right),
    *(_bits_case(left, right) for left, right in _INTEGERS),
    *(_weak_case(dtype) for dtype in _DTYPES),
    *(_between_case(dtype) for dtype in ("float16", "float32", "float64")),
    output_case(
        "numbers/weak-start-takes-the-strong-type",
        _accumulate,
        ((1,),),
        # float32 cannot hold 2**24 + 1; two elements leave no room to sum in another order.
        [np.array([2**24, 1], np.float32)],
        [2.0**24, 2.0**23],
    ),
    Case(
        "numbers/edges-int32",
        _edges,
        ((3,),),
        lambda: [
            np.array([2147483647, -2147483648, 0], np.int32),
            np.zeros((5, 3), np.int64),
            np.zeros((2, 3), np.float64),
        ],
        lambda given: {
            1: np.array(_EDGE_WIDE, np.int64),
            2: np.array([[2147483645, -2147483648, 0], [1073741823.5, -1073741824.0, 0.0]]),
        },
    ),
    Case(
        "numbers/shift-by-the-width-or-more",
        _wide_shift,
        ((4,),),
        lambda: [
            np.array([1, -1, 5, -5], np.int32),
            np.array([32, 32, 40, 33], np.int32),
            np.ones(4, np.int64),
            np.ones(4, np.int64),
        ],
        lambda given: {2: np.zeros(4, np.int64), 3: np.array([0, -1, 0, -1], np.int64)},
    ),
    Case(
        "numbers/division-of-floats-by-zero",
        _float_edges,
        ((4,),),
        lambda: [
            np.array([1.0, -1.0, 0.0, 5.5]),
            np.array([0.0, 0.0, 0.0, np.inf]),
            *(np.zeros(4) for _ in "abc"),
        ],
        lambda given: {
            2: np.array([np.inf, -np.inf, np.nan, 0.0]),
            3: np.array([np.nan, np.nan, np.nan, 5.5]),
            4: np.array([np.inf, -np.inf, np.nan, 0.0]),
        },
    ),
    Case(
        "numbers/storing-converts",
        _stores,
        ((4,),),
        lambda: [
            np.array([2.9, -2.9, 0.5, 100.0], np.float32),
            np.array([1, -1, 127, -128], np.int64),
            np.zeros(4, np.int32),
            np.zeros(4, np.float32),
            np.zeros(4, np.int8),
        ],
        lambda given: {
            2: np.array([2, -2, 0, 100], np.int32),
            3: np.array([1, -1, 127, -128], np.float32),
            4: np.array([1, -1, 127, -128], np.int8),
        },
    ),
    output_case(
        "numbers/builtins",
        _conversions,
        ((4,),),
        [np.array([2.9, -2.9, 0.5, 1.5], np.float32)],
        np.array(
            [
                [2, 1, np.float32(2.9), np.float32(2.9), 3],
                [-2, np.float32(-2.9), 1, np.float32(2.9), -3],
                [0, 0.5, 1, 0.5, 0],
                [1, 1, 1.5, 1.5, 2],
            ],
            np.float64,
        ),
    ),
)
