# mypy: disable-error-code="attr-defined,name-defined,no-untyped-def,no-untyped-call,untyped-decorator"
# The kernels are written as users write them.
"""Cases of small vectors: operators, functions, elements, geometry, and their places in memory.

An expression of vectors is one of NumPy's arrays as well, whose rows are the vectors: NumPy gives what is expected.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import kapi_sim as kapi
from kapi_sim.testing.case import Case, Local, Strided, kernel, kernel_of_expressions, output_case

__all__ = ["CASES"]

_HEAD = """
def kernel(item, a, b, out):
    i = item.get_id(0)
    v = kapi.Vec.load(a, i, {n})
    w = kapi.Vec.load(b, i, {n})
"""
_OF_NUMBERS = (
    "v + w", "v - w", "v * w", "v + 3", "2 * v", "5 - v", "-v", "+v", "abs(v)", "v ** 2", "v // 3", "v % 5",
    "np.minimum(v, w)", "np.maximum(v, 4)", "np.where(v < w, v, w)", "np.where(v < 4, 7, v)", "np.square(v)",
    "v == w", "v != 3", "v < w", "v <= 2", "v > w", "4 >= v", "np.clip(v, 1, 6)", "np.add(v, 1)",
)  # fmt: skip
_OF_INTEGERS = ("v & w", "v | 1", "v ^ w", "~v", "v << 2", "v >> 1", "1 << (w & 3)", "v * v * v", "v / 4", "v * 0.5")
_OF_FLOATS = ("v / w", "v / 4", "1 / w", "v // w", "v % w", "np.sqrt(abs(v))", "np.floor(v)", "np.float32(3) * v")
_OF_BOOLS = ("v & w", "v | w", "v ^ w", "~v", "v == w", "np.logical_not(v)", "np.where(v, w, v)", "v + w")
_OF_COMPLEX = ("v + w", "v - 2j", "-v", "v == w", "np.where(v == w, v, w)", "np.conjugate(v)")


def _numbers(dtype: str, n: int, seed: int) -> np.ndarray[Any, Any]:
    """Rows of numbers that fit every type, and whose products do not fit 8 bits."""
    drawn = (np.arange(5 * n) * 37 + seed) % 23
    if dtype == "bool":
        return np.asarray((drawn % 2 == 1).reshape(5, n))
    values = (drawn + 1).astype(dtype)
    if np.dtype(dtype).kind in "if":
        values[::3] *= -1
    if np.dtype(dtype).kind == "f":
        values += np.dtype(dtype).type(0.25)
    if np.dtype(dtype).kind == "c":
        values = values + (drawn[::-1] * 1j).astype(dtype)
    return np.asarray(values.reshape(5, n))


def _expressions_case(dtype: str, n: int, expressions: tuple[str, ...], wide: Any) -> Case:
    a, b = _numbers(dtype, n, 5), _numbers(dtype, n, 11)
    names = {"v": a, "w": b, "np": np, "abs": abs}
    with np.errstate(all="ignore"):
        wanted = np.array([np.asarray(eval(each, names), wide) for each in expressions])
    lines = [f"({each}).store(out, ({k}, i))" for k, each in enumerate(expressions)]
    head = _HEAD.format(n=n) + "".join(f"    {line}\n" for line in lines)
    return output_case(
        f"vector/operators-{dtype}-{n}",
        kernel_of_expressions(head, (), np=np),
        ((5,),),
        [a, b],
        wanted,
        wide,
        covers=("Vec.load", "Vec.store"),
    )


@kernel
def _elements(item: kapi.Item, a, out):
    i = item.get_id(0)
    v = kapi.Vec.load(a, i, 4)
    x, y, z, w = v
    v.wzyx.store(out, i)
    out[i, 4] = v.zz.y + v[1:3].x * 10
    out[i, 5] = v[i] * 10 + v[-1]
    total = 0
    for k, each in enumerate(v):
        total += (k + 1) * each
    out[i, 6] = total
    out[i, 7] = sum(v) + 100 * min(v) + 1000 * max(v) + 10000 * len(v)
    out[i, 8] = (3 in v) + 2 * any(v > 4) + 4 * all(v > 4)
    out[i, 9] = x * 1000 + y * 100 + z * 10 + w - (v.x * 1000 + v.y * 100)


def _elements_wanted(a: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    out = np.zeros((len(a), 10), a.dtype)
    for i, row in enumerate(a.tolist()):
        _, y, z, w = row
        out[i] = [
            *row[::-1], z + 10 * y, row[i] * 10 + w, sum((k + 1) * each for k, each in enumerate(row)),
            sum(row) + 100 * min(row) + 1000 * max(row) + 40000, (3 in row) + 2 * any(e > 4 for e in row)
            + 4 * all(e > 4 for e in row), 10 * z + w,
        ]  # fmt: skip
    return out


@kernel
def _made(item: kapi.Item, a, out):
    i = item.get_id(0)
    for row in range(out.shape[0]):
        kapi.Vec(0, 0, 0, 0).store(out, (row, i))
    k = np.int8(100)
    kapi.Vec(a[i], 2).store(out, (0, i))
    kapi.Vec(kapi.Vec(1, 2), a[i], 0.5).store(out, (1, i))
    (kapi.Vec(k, k) + kapi.Vec(k, 1)).store(out, (2, i))  # wraps, for elements are of one type
    (kapi.Vec(1, 2) / kapi.Vec(4, True)).store(out, (3, i))
    (kapi.Vec(a[i], a[i]) * kapi.Vec(0.1, 0.2)).store(out, (4, i))  # weak elements take the type of the other operand
    kapi.Vec(k, 1.5).store(out, (5, i))
    kapi.Vec(1, 2, 3, 4, 5, 6, 7, i).xy.store(out, (6, i))
    kapi.Vec(2.75, -2.75).astype(np.int32).store(out, (7, i))
    kapi.Vec(np.int32(300), -1).astype(np.uint8).store(out, (8, i))


_F = np.array([1.5, 2.25, -3.125], np.float32)


def _made_wanted() -> np.ndarray[Any, Any]:
    out = np.zeros((9, 3, 4))
    out[0, :, 0], out[0, :, 1] = _F, 2
    out[1, :, :] = [[1, 2, f, 0.5] for f in _F.tolist()]
    out[2, :, :2] = [-56, 101]
    out[3, :, :2] = [0.25, 2]
    out[4, :, :2] = np.stack([_F * 0.1, _F * 0.2], axis=1)
    out[5, :, :2] = [100, 1.5]
    out[6, :, :2] = [1, 2]
    out[7, :, :2] = [2, -2]
    out[8, :, :2] = [44, 255]
    return out


_LIGHT = kapi.Vec(0.5, -1.0, 2.0)
_STEPS = kapi.Vec(np.int32(1), np.int32(2))


def _passed_on(kapi: Any) -> Any:
    @kapi.device_func
    def mixed(v, w, t):
        return v * (1 - t) + w * t

    @kapi.device_func
    def both(v):
        return v.zyx, -v

    @kapi.kernel
    def passes_on(item: kapi.Item, a, offset, pair, out):
        i = item.get_id(0)
        v = kapi.Vec.load(a, i, 3)
        turned, negative = both(v + offset)
        result = mixed(turned, negative, 0.25) if v.x > 2 else _LIGHT * v
        result += pair[0] * pair[1].y
        total = kapi.Vec(0.0, 0.0, 0.0)
        for k in range(_STEPS.y):
            total += result * k
        while total.x > 40:
            total = total - kapi.Vec(40, 0, 0)
        total.store(out, i)

    return passes_on


def _passed_on_wanted(given: list[Any]) -> dict[int, np.ndarray[Any, Any]]:
    a = given[0]
    moved = a + np.array([1, 2, 3], np.float32)
    half = moved[:, ::-1] * np.float32(0.75) + -moved * np.float32(0.25)
    result = np.where(a[:, :1] > 2, half, a * np.array([0.5, -1, 2], np.float32)) + np.float32(1.5)
    total = result.copy()
    for row in total:
        while row[0] > 40:
            row[0] -= 40
    return {3: total}


@kernel
def _in_memory(nd_item: kapi.NdItem, a, tile, out):
    i, k = nd_item.get_global_id(0), nd_item.get_local_id(0)
    group = nd_item.get_group()
    kapi.Vec.load(a, (1, i), 3).store(tile, k)
    kept = kapi.PrivateArray((2, 3), np.float32)
    kapi.Vec.load(a, (0, i), 3).store(kept, 0)
    (2 * kapi.Vec.load(kept, 0, 3)).store(kept, 1)
    kapi.group_barrier(group)
    v = kapi.Vec.load(tile, nd_item.get_local_range(0) - 1 - k, 3)
    kapi.Vec.load(kept, 1, 3).store(out, i)
    (v + kapi.Vec.load(out, i, 3)).store(out, i)


_PLANES = (np.arange(48, dtype=np.float32).reshape(2, 8, 3) * 7) % 31


def _in_memory_wanted() -> np.ndarray[Any, Any]:
    turned: np.ndarray[Any, Any] = _PLANES[1].reshape(2, 4, 3)[:, ::-1].reshape(8, 3)
    return np.asarray(turned + 2 * _PLANES[0])


@kernel
def _rows_of_columns(item: kapi.Item, a, out):
    i = item.get_id(0)
    (kapi.Vec.load(a, i, 2) * 10).store(out, i)


@kernel
def _row_alone(item: kapi.Item, a):
    (kapi.Vec.load(a, (), 4) + 1).store(a, ())


@kernel
def _from_the_end(item: kapi.Item, a):
    last = -1
    (kapi.Vec.load(a, -2, 2) + 1).store(a, last)
    kapi.Vec.load(array=a[0], index=(), n=2).store(index=-3, array=a)


@kernel
def _geometry(item: kapi.Item, a, b, out):
    i = item.get_id(0)
    v, w = kapi.Vec.load(a, i, 3), kapi.Vec.load(b, i, 3)
    out[i, 0] = kapi.dot(v, w)
    out[i, 1] = kapi.length(v)
    out[i, 2] = kapi.distance(v, w)
    c, n = kapi.cross(v, w), kapi.normalize(v)
    for k in range(3):
        out[i, 3 + k] = c[k]
        out[i, 6 + k] = n[k]


def _geometry_case(dtype: str, ulp: float) -> Case:
    a, b = _numbers(dtype, 3, 5), _numbers(dtype, 3, 11)
    x, y = a.astype(np.float64), b.astype(np.float64)
    size = np.sqrt((x * x).sum(axis=1))
    columns = [(x * y).sum(axis=1), size, np.sqrt(((x - y) ** 2).sum(axis=1)), *np.cross(x, y).T, *(x.T / size)]
    return output_case(
        f"vector/geometry-{dtype}",
        _geometry,
        ((5,),),
        [a, b],
        np.stack(columns, axis=1),
        np.float64,
        ulp=ulp,
        precision=np.float32 if dtype == "float32" else np.float64,
        covers=("Vec", "dot", "length", "distance", "cross", "normalize"),
    )


@kernel
def _functions(item: kapi.Item, a, out):
    i = item.get_id(0)
    v = kapi.Vec.load(a, i, 3)
    math.sin(v).store(out, (0, i))
    np.exp(v).store(out, (1, i))
    math.atan2(v, 2.0).store(out, (2, i))
    math.floor(v).store(out, (3, i))
    np.where(math.isfinite(v), np.hypot(v, 1), -1).store(out, (4, i))
    quotients, remainders = divmod(v, 0.75)
    (quotients * 0.75 + remainders).store(out, (5, i))


_X = np.array([[0.5, -1.25, 2.0], [3.0, 0.125, -0.75], [1.0, 1.5, -2.5]], np.float32)
_WIDE_X = _X.astype(np.float64)
_FUNCTIONS_WANTED = np.stack(
    [np.sin(_WIDE_X), np.exp(_WIDE_X), np.arctan2(_WIDE_X, 2), np.floor(_WIDE_X), np.hypot(_WIDE_X, 1), _WIDE_X]
)

_ROWS = (np.arange(16, dtype=np.int32).reshape(4, 4) * 7) % 9

CASES: tuple[Case, ...] = (
    _expressions_case("int8", 2, (*_OF_NUMBERS, *_OF_INTEGERS), np.float64),
    _expressions_case("uint32", 2, _OF_INTEGERS, np.float64),
    _expressions_case("float32", 3, (*_OF_NUMBERS, *_OF_FLOATS), np.float64),
    _expressions_case("float64", 2, _OF_FLOATS, np.float64),
    *(_expressions_case("int64", n, ("v - 2 * w", "np.where(v < w, -v, w)"), np.int64) for n in (3, 4, 8, 16)),
    _expressions_case("bool", 4, _OF_BOOLS, np.bool_),
    _expressions_case("complex64", 2, _OF_COMPLEX, np.complex64),
    output_case("vector/elements", _elements, ((4,),), [_ROWS], _elements_wanted(_ROWS), np.int32, covers=("Vec",)),
    output_case("vector/made", _made, ((3,),), [_F], _made_wanted(), np.float64, covers=("Vec",)),
    Case(
        "vector/passed-on",
        _passed_on,
        ((5,),),
        lambda: [
            _numbers("float32", 3, 5), kapi.Vec(1, 2, 3), (np.float32(0.5), kapi.Vec(np.float32(2), 3)),
            np.zeros((5, 3), np.float32),
        ],
        _passed_on_wanted,
        covers=("Vec",),
    ),
    output_case(
        "vector/in-local-and-private-memory",
        _in_memory,
        ((8,), (4,)),
        [_PLANES, Local((4, 3), np.float32)],
        _in_memory_wanted(),
        np.float32,
        covers=("Vec.load", "Vec.store"),
    ),
    output_case(
        "vector/strided",
        _rows_of_columns,
        ((4,),),
        [Strided(_ROWS.copy(), lambda base: base.T[::-1, 1::2])],
        _ROWS.T[::-1, 1::2] * 10,
        np.int32,
    ),
    Case(
        "vector/whole-array",
        _row_alone,
        ((1,),),
        lambda: [np.arange(4, dtype=np.int16)],
        lambda given: {0: np.arange(1, 5, dtype=np.int16)},
        covers=("Vec.load", "Vec.store"),
    ),
    Case(
        "vector/from-the-end",
        _from_the_end,
        ((1,),),
        lambda: [np.arange(12, dtype=np.int32).reshape(4, 3)],
        lambda given: {0: np.array([[0, 1, 2], [0, 1, 5], [6, 7, 8], [7, 8, 11]], np.int32)},
        covers=("Vec.load", "Vec.store"),
    ),
    _geometry_case("float32", 8),
    _geometry_case("float64", 8),
    _geometry_case("int32", 2),
    output_case(
        "vector/functions",
        _functions,
        ((3,),),
        [_X],
        _FUNCTIONS_WANTED,
        np.float64,
        ulp=6,
        precision=np.float32,
        covers=("Vec.load",),
    ),
)  # fmt: skip
