# mypy: disable-error-code="name-defined,no-untyped-def,no-untyped-call,untyped-decorator"
# The kernels are written as users write them.
"""Cases of arguments that are constants of a kernel: `None` and functions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import kapi_sim as kapi
from kapi_sim.testing.case import Case, Local, kernel, output_case

__all__ = ["CASES"]


@kernel
def _optional(item: kapi.Item, a, weights, scale, out):
    i = item.get_id(0)
    if scale is None:
        scale = 10.0
    out[0, i] = a[i] * scale if weights is None else a[i] * weights[i] * scale
    has_one = weights is not None or scale is None
    if has_one and weights is not None:
        out[1, i] = weights.shape[0]
    elif not has_one:
        out[1, i] = -1
    scale = scale + 1
    out[2, i] = 2 if scale is not None else 3
    match weights:
        case None:
            out[3, i] = 7
        case _:
            out[3, i] = weights[0]


def _optional_in_functions(kapi: Any) -> Any:
    @kapi.device_func
    def weight(i, weights=None):
        if weights is None:
            return 0.5
        return weights[i]

    @kapi.kernel
    def optional_in_functions(item: kapi.Item, weights, none, out):
        i = item.get_id(0)
        out[0, i] = weight(i)
        out[1, i] = weight(i, none)
        out[2, i] = weight(weights=weights, i=i)
        out[3, i] = weight(i, None if none is None else weights)

    return optional_in_functions


def _square(x):
    return x * x


def _halved(x, by=2):
    return x / by


def _large(x):
    return max(abs(x), 2)


def _mirrored(group, tile, k):
    kapi.group_barrier(group)
    mirrored = tile[tile.shape[0] - 1 - k]
    kapi.group_barrier(group)
    tile[k] = mirrored


def _functions(kapi: Any) -> Any:
    @kapi.device_func
    def apply(function, x):
        return function(x)

    @kapi.kernel
    def functions(item: kapi.NdItem, a, first, second, third, exchange, tile, out):
        i, k = item.get_global_id(0), item.get_local_id(0)
        out[0, i] = first(a[i]) + second(a[i], by=4)
        out[1, i] = second(first(a[i]) if third is None else third(a[i]))
        out[2, i] = apply(first, apply(second, a[i]))
        tile[k] = i
        kapi.group_barrier(item.get_group())
        exchange(item.get_group(), tile, k)
        out[3, i] = tile[k]

    return functions


@kernel
def _functions_of_modules(item: kapi.Item, a, function, kind, out):
    i = item.get_id(0)
    out[0, i] = kind(function(a[i])) / 3
    own = kapi.PrivateArray(1, kind)
    own[0] = a[i] / 3
    out[1, i] = own[0]


def _declared_functions(kapi: Any) -> Any:
    def increment(a):
        return a + 1

    narrow = kapi.device_func("int32(int32)")(increment)
    either = kapi.device_func(["int32(int32)", "int64(int64)"])(increment)

    @kapi.device_func("float32(float32[:], int64, float32)")
    def taken(values, i, by):
        if i == 1:
            return 7.7
        return values[i] * by

    @kapi.device_func("int64(nd_item1, float64)")
    def halved(item, x):
        kapi.group_barrier(item.get_group())
        return x / 2 + 10 * item.get_local_id(0)

    @kapi.device_func("none(float64[:], int64, float32)")
    def store(values, i, x):
        values[i] = x

    @kapi.kernel
    def declared_functions(item: kapi.NdItem, a, b, out):
        i = item.get_global_id(0)
        out[0, i] = narrow(b[i])
        out[1, i] = either(np.int64(2**31 - 1)) - either(np.int32(2**31 - 1))
        out[2, i] = taken(a, i, 0.1)
        out[3, i] = halved(item, b[i])
        own = kapi.PrivateArray(2, np.float64)
        store(own, 1, 0.1)
        out[4, i] = own[1]

    return declared_functions


_A = np.array([1.0, -2, 3.5, 4])
_WEIGHTS = np.array([2.0, 0.5, 0, 4])
_ONES = np.ones(4)

CASES: tuple[Case, ...] = (
    output_case(
        "specialization/optional-none", _optional, ((4,),), [_A, None, None], [_A * 10, -_ONES, 2 * _ONES, 7 * _ONES]
    ),
    output_case(
        "specialization/optional-array",
        _optional,
        ((4,),),
        [_A, _WEIGHTS, None],
        [_A * _WEIGHTS * 10, 4 * _ONES, 2 * _ONES, 2 * _ONES],
    ),
    output_case(
        "specialization/optional-number",
        _optional,
        ((4,),),
        [_A, None, 0.25],
        [_A / 4, -_ONES, 2 * _ONES, 7 * _ONES],
        starts=True,
    ),
    output_case(
        "specialization/optional-in-functions",
        _optional_in_functions,
        ((4,),),
        [_WEIGHTS, None],
        [_ONES / 2, _ONES / 2, _WEIGHTS, _ONES / 2],
    ),
    output_case(
        "specialization/functions",
        _functions,
        ((4,), (2,)),
        [_A, _square, _halved, None, _mirrored, Local(2, np.float64)],
        [_A * _A + _A / 4, _A * _A / 2, (_A / 2) ** 2, [1, 0, 3, 2]],
    ),
    output_case(
        "specialization/other-functions",
        _functions,
        ((4,), (2,)),
        [_A, _large, _halved, _square, _mirrored, Local(2, np.float64)],
        [np.maximum(abs(_A), 2) + _A / 4, _A * _A / 2, np.maximum(abs(_A / 2), 2), [1, 0, 3, 2]],
    ),
    *(
        output_case(
            f"specialization/{name}",
            _functions_of_modules,
            ((4,),),
            [_A, function, kind],
            [kind(function(_A)) / kind(3), kind(_A / 3)],
        )
        for name, function, kind in (("numpy", np.square, np.float32), ("builtin", abs, np.float64))
    ),
    output_case(
        "specialization/math",
        _functions_of_modules,
        ((4,),),
        [_A, math.floor, np.float32],
        [np.floor(_A).astype(np.float32) / np.float32(3), np.float32(_A / 3)],
    ),
    output_case(
        "specialization/declared-functions",
        _declared_functions,
        ((4,), (2,)),
        [_A.astype(np.float32), np.array([1.5, -2.5, 3.9, 8])],
        [
            [2, -1, 4, 9],  # fractions are cut off
            4 * [2.0**32],
            np.where(np.arange(4) == 1, np.float32(7.7), _A.astype(np.float32) * np.float32(0.1)),
            [0, 8, 1, 14],
            4 * [float(np.float32(0.1))],
        ],
    ),
)
