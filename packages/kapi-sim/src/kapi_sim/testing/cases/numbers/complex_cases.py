# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator"
# The kernels are written as users write them.
"""Cases of complex numbers: their ends, order and truth, powers, absolute values, numbers made of float16."""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable
from typing import Any

import numpy as np

import kapi_sim as kapi
from kapi_sim.testing.case import Case, kernel, output_case

__all__ = ["CASES"]


@kernel
def _size(item: kapi.Item, z, strong, weak):
    i = item.get_id(0)
    strong[i] = abs(z[i])
    weak[i] = abs(complex(z[i]))


def _size_case(dtype: str) -> Case:
    """Near the largest number: the squares of the parts overflow, and the absolute value need not."""
    part = np.dtype(f"f{np.dtype(dtype).itemsize // 2}")
    most = float(np.finfo(part).max)

    def inputs() -> list[Any]:
        parts = [(most, most), (-most, most / 2), (0.7 * most, 0.7 * most), (0.9 * most, 0), (0.6 * most, -0.79 * most)]
        parts += [(math.inf, math.nan), (math.nan, -math.inf), (math.nan, 1)]
        return [np.array([complex(*each) for each in parts], dtype), np.zeros(len(parts), part), np.zeros(len(parts))]

    def expected(given: list[Any]) -> dict[int, Any]:
        sizes = np.array([math.hypot(float(z.real), float(z.imag)) for z in given[0]])
        with np.errstate(over="ignore"):
            return {1: sizes.astype(part), 2: sizes}

    return Case(f"numbers/size-{dtype}", _size, ((8,),), inputs, expected, {1: 1, 2: 1}, np.float64)


@kernel
def _polar(item: kapi.Item, r, phi, out):
    i = item.get_id(0)
    first, second = cmath.rect(r[i], phi[i]), cmath.rect(phi[i], r[i])
    out[0, i] = first.real
    out[1, i] = first.imag
    out[2, i] = second.real
    out[3, i] = second.imag


def _polar_case() -> Case:
    """Two in one kernel."""

    def inputs() -> list[Any]:
        return [np.array([1, 2.5, -0.5], np.float16), np.array([0.5, -1, 3], np.float16), np.zeros((4, 3), np.float32)]

    def expected(given: list[Any]) -> dict[int, Any]:
        r, phi = (each.astype(np.float64) for each in given[:2])
        return {2: np.array([r * np.cos(phi), r * np.sin(phi), phi * np.cos(r), phi * np.sin(r)])}

    return Case("numbers/rect-float16", _polar, ((3,),), inputs, expected, {2: 8}, np.float32)


@kernel
def _complex_truth(item: kapi.Item, a, out):
    i = item.get_id(0)
    out[i] = np.bool_(a[i])


@kernel
def _ended_powers(item: kapi.Item, a, half, z, out, turned):
    i = item.get_id(0)
    out[0, i] = np.power(a[i], half[i])
    out[1, i] = np.power(a[i], 0.5)
    out[2, i] = a[i] ** half[i]
    out[3, i] = a[i] ** 0.5
    turned[0, i] = z[i] ** (1 + 0j)
    turned[1, i] = z[i] ** (2 + 0j)
    turned[2, i] = z[i] ** (-1 + 0j)


@kernel
def _complex_order(item: kapi.Item, a, b, out, chosen):
    i = item.get_id(0)
    out[0, i] = a[i] < b[i]
    out[1, i] = np.less(a[i], b[i])
    out[2, i] = a[i] >= b[i]
    out[3, i] = a[i] <= b[i] <= a[i]
    out[4, i] = a[i] == b[i]
    chosen[0, i] = min(a[i], b[i])
    chosen[1, i] = max(a[i], b[i])
    chosen[2, i] = np.minimum(a[i], b[i])
    chosen[3, i] = np.fmax(a[i], b[i])


@kernel
def _complex_ends(item: kapi.Item, z, zero, least, half, ended, out, zeros):
    i = item.get_id(0)
    near_zero, near_one = np.log(z[i]), np.log1p(z[i])
    out[0, i] = near_zero.real
    out[1, i] = near_zero.imag
    out[2, i] = near_one.real
    out[3, i] = near_one.imag
    zeros[0, i] = zero / least
    zeros[1, i] = half**ended
    zeros[2, i] = pow(half, ended)


@kernel
def _complex_with_double(item: kapi.Item, z, x, narrow, out):
    i = item.get_id(0)
    changed = z
    changed *= x[i]
    row = 0
    for each in (1j * x[i], z - x[i], z + x[i], changed, z ** x[i], z / x[i]):
        out[row, i] = (each * narrow[i]).real
        out[row + 1, i] = (each * narrow[i]).imag
        row += 2


def _of_complex_with_double(given: list[Any]) -> dict[int, Any]:
    z, x, narrow = np.complex128(given[0]), given[1], given[2].astype(np.complex128)
    results = [each * narrow for each in (1j * x, z - x, z + x, z * x, z**x, z / x)]
    return {3: np.array([part for each in results for part in (each.real, each.imag)])}


def _ordered_inputs(dtype: Any) -> Callable[[], list[Any]]:
    return lambda: [
        *(np.array(each, dtype) for each in _ORDERED),
        np.zeros((5, 6), np.bool_),
        np.zeros((4, 6), dtype),
    ]


_INF, _NAN = np.inf, np.nan
_ORDERED = (
    [complex(1, _NAN), complex(1, 2), complex(-_INF, _NAN), complex(_NAN, 0), complex(3, 0), complex(2, 2)],
    [complex(2, 0), complex(1, 3), complex(1, 1), complex(0, 1), complex(3, _NAN), complex(2, 2)],
)
# Where a part is nan nothing is less, more or equal; `min` and `max` then give the first number.
_CHOSEN = [
    [_ORDERED[0][0], 1 + 2j, _ORDERED[0][2], _ORDERED[0][3], 3, 2 + 2j],
    [_ORDERED[0][0], 1 + 3j, _ORDERED[0][2], _ORDERED[0][3], 3, 2 + 2j],
    [_ORDERED[0][0], 1 + 2j, _ORDERED[0][2], _ORDERED[0][3], _ORDERED[1][4], 2 + 2j],
    [2, 1 + 3j, 1 + 1j, 1j, 3, 2 + 2j],
]

CASES: tuple[Case, ...] = (
    _size_case("complex64"),
    _size_case("complex128"),
    _polar_case(),
    Case(
        "edges/powers-of-infinities",
        _ended_powers,
        ((3,),),
        lambda: [
            np.array([-_INF, -0.0, _INF]),
            np.full(3, 0.5),
            np.array([complex(_INF, 1), complex(0, -_INF), complex(-2, 0)]),
            np.zeros((4, 3)),
            np.zeros((3, 3), np.complex128),
        ],
        # A root of -inf would be nan. Products and quotients are those of the parts: inf * 0 is nan.
        lambda given: {
            3: np.array([[_INF, 0.0, _INF]] * 4),
            4: np.array(
                [
                    [complex(_INF, 1), complex(0, -_INF), -2],
                    [complex(_INF, _INF), complex(-_INF, _NAN), 4],
                    [complex(_NAN, _NAN), complex(_NAN, _NAN), -0.5],
                ]
            ),
        },
    ),
    *(
        Case(
            f"edges/order-of-{name}-with-nan",
            _complex_order,
            ((6,),),
            _ordered_inputs(dtype),
            lambda given: {
                2: np.array(
                    [
                        [False, True, False, False, False, False],
                        [False, True, False, False, False, False],
                        [False, False, False, False, False, True],
                        [False, False, False, False, False, True],
                        [False, False, False, False, False, True],
                    ]
                ),
                3: np.array(_CHOSEN, given[3].dtype),
            },
        )
        for name, dtype in (("complex64", np.complex64), ("complex128", np.complex128))
    ),
    output_case(
        "edges/complex-truth",
        _complex_truth,
        ((4,),),
        [np.array([0, 1j, -1, np.nan], np.complex128)],
        [False, True, True, True],
        np.bool_,
    ),
    Case(
        "edges/ends-of-complex-numbers",
        _complex_ends,
        ((3,),),
        lambda: [
            np.array([complex(1e-323, -1e-323), complex(2.0**-60, 0), complex(-(2.0**-1022), 2.0**-40)]),
            0j,
            complex(1e-323, -1e-323),
            complex(0.5, 0.5),
            complex(_INF, 0),
            np.zeros((4, 3)),
            np.zeros((3, 3), np.complex128),
        ],
        # Of (1 - 1j) * 2**-1073, of a power of 2, and of what is all but imaginary.
        lambda given: {
            5: np.array(
                [
                    [-743.4003511505414, -41.58883083359672, -27.725887222397812],
                    [-np.pi / 4, 0, np.pi / 2],
                    [1e-323, 2.0**-60, 2.0**-81],
                    [-1e-323, 0, 2.0**-40],
                ]
            ),
            6: np.zeros((3, 3)),
        },
        ulp={5: 4.0},
        precision=np.float64,
    ),
    Case(
        "edges/complex-numbers-beside-doubles",
        _complex_with_double,
        ((4,),),
        lambda: [
            complex(1.1, -0.3),
            np.array([0.1, 3.0, -2.5, 4.0]),
            np.array([1.1 + 0.1j, 2, 0.3j, -1.7 + 1e-3j], np.complex64),
            np.zeros((12, 4)),
        ],
        _of_complex_with_double,
        ulp={3: 64.0},
        precision=np.float64,
    ),
)
