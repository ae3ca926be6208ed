# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator"
# The kernels are written as users write them.
"""Cases of `math`: each function of the table, for float32 and float64.

What is expected comes from Python's own `math`, in double precision, of the inputs as stored.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

import kapi_sim as kapi
from kapi_sim.language.table.intrinsics import rows
from kapi_sim.testing.case import Case, kernel, kernel_of_expressions, output_case

__all__ = ["CASES"]

_ULP = {row.name: row.ulp for row in rows("math")}
# OpenCL gives no bound for lgamma.
_ULP_WITHOUT_BOUND = 64.0


@kernel
def _weak_result(item: kapi.Item, x, a, out):
    i = item.get_id(0)
    out[i] = math.floor(x[i]) + a[i]


@kernel
def _keeps_type(item: kapi.Item, x, out):
    i = item.get_id(0)
    # In float32 adding a tenth to 16777216 changes nothing; a double would show.
    out[i] = math.sqrt(x[i]) + math.sqrt(0.01)


@kernel
def _beyond(item: kapi.Item, x, out):
    i = item.get_id(0)
    v = x[i]
    out[0, i] = math.sqrt(v)
    out[1, i] = math.log(v)
    out[2, i] = math.exp(-1000.0 * v)


def _bounds(names: list[str]) -> Any:
    bounds = [_ULP_WITHOUT_BOUND if _ULP[name] is None else _ULP[name] for name in names]
    return np.array(bounds, np.float64)[:, None]


def _case(name: str, functions: str, dtype: str, x: Any, y: Any = None, fixed: bool = False) -> Case:
    names = functions.split()
    given = [np.asarray(values, dtype) for values in (x, y) if values is not None]
    # Of pow, the kernel takes the magnitude of the base.
    columns = [
        [
            getattr(math, f)(abs(values[0]), *values[1:]) if f == "pow" else getattr(math, f)(*values)
            for values in zip(*(array.tolist() for array in given), strict=False)
        ]
        for f in names
    ]
    wanted = np.array(columns, np.float64)
    position = len(given)
    parameters, arguments = ("x, y", "x[i], y[i]") if y else ("x", "x[i]")
    calls = [f"math.{f}({arguments.replace('x[i]', 'abs(x[i])') if f == 'pow' else arguments})" for f in names]
    return Case(
        f"math/{name}-{dtype}",
        kernel_of_expressions(
            f"def kernel(item: kapi.Item, {parameters}, out):\n    i = item.get_id(0)", calls, math=math
        ),
        ((len(given[0]),),),
        lambda: [*given, np.zeros(wanted.shape, np.float64)],
        lambda inputs: {position: wanted},
        ulp={} if fixed else {position: _bounds(names)},
        precision=dtype,
        covers=tuple(f"math.{f}" for f in names),
    )


@kernel
def _to_digits(item: kapi.Item, x, n, out, wide):
    i = item.get_id(0)
    out[i, 0] = round(x[i], 2)
    out[i, 1] = round(x[i], ndigits=-1)
    out[i, 2] = round(n[i], -1)
    out[i, 3] = round(n[i], 3)
    out[i, 4] = round(i * 2.25, 1)
    out[i, 5] = round(x[i], None)
    wide[i] = round(x[i], 1) * 16777217


_ROUNDED = np.array([2.675, -2.5, 15.0, 25.125], np.float32)
_TENS = np.array([15, 25, -15, 7], np.int32)


@kernel
def _of_bits(item: kapi.Item, n, u, out):
    i = item.get_id(0)
    out[i, 0] = n[i].bit_count()
    out[i, 1] = u[i].bit_count()
    out[i, 2] = (i * 5).bit_count()
    out[i, 3] = int(n[i]).bit_length()


_BITS = np.array([0, -7, 127, -128], np.int8)
_WIDE_BITS = np.array([0, 1, 2**63, 2**64 - 1], np.uint64)


def _cases(dtype: str) -> list[Case]:
    anywhere = "fabs exp exp2 expm1 sin cos tan atan sinh cosh tanh asinh degrees radians"
    return [
        _case("anywhere", anywhere, dtype, [-3.5, -1.0, -0.3, 0.125, 0.7, 1.9, 4.0]),
        _case("positive", "sqrt log log1p log2 log10", dtype, [0.01, 0.4, 1.5, 2.0, 10.0, 12345.0]),
        _case("unit-interval", "asin acos atanh erf erfc", dtype, [-0.9, -0.3, 0.125, 0.5, 0.99]),
        _case("above-two", "acosh gamma lgamma", dtype, [2.5, 3.0, 4.75, 6.5, 9.0]),
        _case(
            "two-arguments",
            "atan2 pow hypot copysign fmod",
            dtype,
            [1.5, -2.25, 7.0, -0.3, 100.0],
            [2.0, 3.5, -1.25, 0.7, 2.5],
        ),
        _case("whole-numbers", "floor ceil trunc", dtype, [2.5, -2.5, 0.0, -0.25, 7.0, -1e6 - 0.5], fixed=True),
        _case("predicates", "isnan isinf isfinite", dtype, [0.0, math.nan, math.inf, -math.inf, 1e30], fixed=True),
    ]


@kernel
def _fused(item: kapi.Item, x, y, z, out):
    i = item.get_id(0)
    out[i, 0] = math.fma(x[i], y[i], z[i])  # type: ignore[attr-defined,unused-ignore]
    out[i, 1] = math.fma(x[i], 0.1, z[i])  # type: ignore[attr-defined,unused-ignore]


def _fused_case(dtype: str, x: float, y: float, z: float, wanted: float) -> Case:
    """Sums beside the middle of two floats, where rounding to a wider type first gives the wrong one of them."""
    tenth = np.dtype(dtype).type(0.1)
    given = [np.array(values, dtype) for values in ([x, 1], [y, 1], [z, -tenth])]
    # The weak number becomes one of the others' type; products with it are exact in float64.
    expected = [[wanted, x * float(tenth) + z], [1 - float(tenth), 0]]
    return Case(
        f"math/fma-rounds-once-{dtype}",
        _fused,
        ((2,),),
        lambda: [*given, np.zeros((2, 2), dtype)],
        lambda inputs: {3: np.array(expected).astype(dtype)},
        precision=dtype,
    )


def _fused_double_case() -> Case:
    """Against the rational numbers that floats are."""
    values = [1 + 2**-52, 0.1, 3e200, -5e-324, 1e-160, 1.5, 1e308, 0.1]
    factors = [1 - 2**-53, 10.0, -3e100, 0.25, 1e-160, 0.0, 10.0, 10.0]
    summands = [-1.0, -1.0, 9e300, 5e-324, -1e-320, -0.0, -1e308, -1.5]

    def expected(given: list[Any]) -> dict[int, Any]:
        exact = [Fraction(x) * Fraction(y) + Fraction(z) for x, y, z in zip(values, factors, summands, strict=True)]
        rounded = [float(each) if abs(each) < 2**1024 else math.inf for each in exact]
        tenths = [float(Fraction(x) * Fraction(0.1) + Fraction(z)) for x, z in zip(values, summands, strict=True)]
        return {3: np.array([rounded, tenths]).T}

    given = [np.array(each) for each in (values, factors, summands)]
    return Case(
        "math/fma-rounds-once-float64",
        _fused,
        ((len(values),),),
        lambda: [*given, np.zeros((len(values), 2))],
        expected,
        covers=("math.fma",),
    )


_FUSED_CASES = (
    _fused_case("float16", 1 + 2**-10, (1 - 2**-10) * 2**-11, 1 + 2**-10, 1 + 2**-10),
    _fused_case("float32", 65281, 257 * 2**-24, 2**-80, 1 + 2**-23),
    _fused_double_case(),
)


CASES: tuple[Case, ...] = (
    *_cases("float32"),
    *_cases("float64"),
    *_FUSED_CASES,
    output_case(
        "math/floor-gives-a-weak-int",
        _weak_result,
        ((2,),),
        [np.array([2.7, -0.5]), np.array([2147483647, -2147483648], np.int32)],
        np.array([-2147483647, 2147483647], np.int64),
        np.int64,
    ),
    output_case(
        "math/strong-float-keeps-its-type",
        _keeps_type,
        ((2,),),
        [np.array([2.0**48, 1.0], np.float32)],
        np.array([16777216.0, np.float32(1.0) + np.float32(0.1)], np.float64),
    ),
    Case(
        "math/round-to-digits",
        _to_digits,
        ((4,),),
        lambda: [_ROUNDED, _TENS, np.zeros((4, 6)), np.zeros(4, np.float32)],
        lambda given: {
            2: np.stack(
                [
                    np.round(_ROUNDED, 2),
                    np.round(_ROUNDED, -1),
                    np.round(_TENS, -1),
                    _TENS,
                    [0.0, 2.2, 4.5, 6.8],
                    np.rint(_ROUNDED),
                ],
                axis=1,
            ),
            3: np.round(_ROUNDED, 1) * np.float32(16777217),
        },
    ),
    output_case(
        "math/bits-of-integers",
        _of_bits,
        ((4,),),
        [_BITS, _WIDE_BITS],
        [
            [bin(abs(int(n))).count("1"), bin(int(u)).count("1"), bin(5 * i).count("1"), int(n).bit_length()]
            for i, (n, u) in enumerate(zip(_BITS, _WIDE_BITS, strict=True))
        ],
        np.int64,
    ),
    output_case(
        "math/beyond-the-domain",
        _beyond,
        ((3,),),
        [np.array([-1.0, 0.0, 4.0])],
        [[math.nan, 0.0, 2.0], [math.nan, -math.inf, math.log(4.0)], [math.inf, 1.0, 0.0]],
        ulp=3.0,
    ),
)
