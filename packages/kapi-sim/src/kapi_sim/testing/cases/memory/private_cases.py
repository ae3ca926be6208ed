# mypy: disable-error-code="attr-defined,name-defined,no-untyped-def,no-untyped-call,untyped-decorator"
# The kernels are written as users write them.
"""Cases of private arrays: shapes, dtypes, in device functions, indexed by what is computed."""

from __future__ import annotations

from typing import Any

import numpy as np

import kapi_sim as kapi
from kapi_sim.testing.case import Case, kernel, output_case

__all__ = ["CASES"]

_WIDTH = 4
_SHAPE = (2, 3)


@kernel
def _sorted_rows(item: kapi.Item, a):
    i = item.get_id(0)
    row = kapi.PrivateArray(_WIDTH, a.dtype)
    for k in range(_WIDTH):
        row[k] = a[i, k]
    for k in range(1, _WIDTH):
        j = k
        while j > 0 and row[j] < row[j - 1]:
            x = row[j]
            row[j] = row[j - 1]
            row[j - 1] = x
            j -= 1
    for k in range(_WIDTH):
        a[i, k] = row[k]


@kernel
def _shapes(item: kapi.Item, out):
    n = _WIDTH
    one = kapi.PrivateArray(n * 2 - 1, np.int32, True)
    two = kapi.PrivateArray((_SHAPE[1] << 1, -(-_WIDTH // 3)), np.int32, True)
    three = kapi.PrivateArray((_SHAPE[0], _SHAPE[1], _WIDTH % 3), np.int32, True)
    out[0] = one.shape[0]
    out[1] = two.shape[0]
    out[2] = two.shape[1]
    out[3] = three.ndim + three.shape[2] + one[6] + two[5, 1] + three[1, 2, 0]


@kernel
def _zeros(item: kapi.Item, a, out):
    i = item.get_id(0)
    counts = kapi.PrivateArray(shape=_SHAPE, dtype=np.int32, fill_zeros=True)
    for k in range(a.shape[1]):
        counts[a[i, k] % 2, a[i, k] % 3] += 1
    for y in range(counts.shape[0]):
        for x in range(counts.shape[1]):
            out[i, y, x] = counts[y, x]


def _in_a_device_function(kapi: Any) -> Any:
    @kapi.device_func
    def polynomial(coefficients, x):
        total = x * 0
        for k in range(3):
            total = total * x + coefficients[k]
        return total

    @kapi.device_func
    def derivative(x):
        coefficients = kapi.PrivateArray(3, np.float64)
        coefficients[0] = 3.0
        coefficients[1] = 2.0
        coefficients[2] = 1.0
        return polynomial(coefficients, x)

    @kapi.kernel
    def derivatives(item: kapi.Item, a, out):
        i = item.get_id(0)
        out[i] = derivative(a[i])

    return derivatives


@kernel
def _across_a_barrier(nd_item: kapi.NdItem, a, out):
    group = nd_item.get_group()
    i = nd_item.get_global_id(0)
    kept = kapi.PrivateArray((1, 2), np.float32)
    kept[0, 0] = a[i]
    kept[0, 1] = kapi.reduce_over_group(group, a[i], kapi.maximum)
    kapi.group_barrier(group)
    out[i] = kept[0, 1] - kept[0, 0]


_ROWS = (np.arange(24).reshape(6, 4) * 7919) % 53
_DIGITS = (np.arange(20).reshape(4, 5) * 13) % 11


def _expected_counts(given: list[Any]) -> dict[int, np.ndarray[Any, Any]]:
    out = np.zeros((4, *_SHAPE), np.int32)
    for i, row in enumerate(_DIGITS):
        np.add.at(out[i], (row % 2, row % 3), 1)
    return {1: out}


def _sorting_case(dtype: str) -> Case:
    rows = _ROWS.astype(dtype)
    return Case(
        f"private/sorted-rows-{dtype}",
        _sorted_rows,
        ((6,),),
        lambda: [rows],
        lambda given: {0: np.sort(rows, axis=1)},
        covers=("PrivateArray",),
    )


_X = np.array([0.0, 1.0, -2.0, 0.5])
_F = np.array([3.0, 8.0, 5.0, 1.0, 2.0, 2.0, 9.0, 4.0], np.float32)

CASES: tuple[Case, ...] = (
    *(_sorting_case(dtype) for dtype in ("int32", "int64", "uint32", "uint64", "float32", "float64")),
    Case(
        "private/zeros-in-two-dimensions",
        _zeros,
        ((4,),),
        lambda: [_DIGITS, np.full((4, *_SHAPE), 9, np.int32)],
        _expected_counts,
        covers=("PrivateArray",),
    ),
    output_case(
        "private/shapes-of-constant-expressions", _shapes, ((1,),), [], np.array([7, 6, 2, 4], np.int32), np.int32
    ),
    output_case("private/in-device-functions", _in_a_device_function, ((4,),), [_X], 3.0 * _X**2 + 2.0 * _X + 1.0),
    output_case(
        "private/across-a-barrier",
        _across_a_barrier,
        ((8,), (4,)),
        [_F],
        np.repeat(_F.reshape(2, 4).max(axis=1), 4) - _F,
        np.float32,
    ),
)
