# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator"
# The kernels are written as users write them.
"""Cases of values other than plain numbers: tuples, named tuples, enumerations, parts of arrays, complex numbers."""

from __future__ import annotations

import enum
from typing import Any, NamedTuple

import numpy as np

import kapi_sim as kapi
from kapi_sim.testing.case import Case, Local, Strided, kernel, output_case

__all__ = ["CASES"]


class Point(NamedTuple):
    """Members of two types, the arrays of different ones."""

    x: Any
    y: Any
    weight: Any


class Colour(enum.IntEnum):
    """An int by name."""

    RED = 1
    BLUE = 5


class Mode(enum.Enum):
    """Names with values, which are no numbers themselves."""

    HALF = 0.5
    ONE = 1.0


_CHOSEN = Mode.ONE
_WEIGHTS = (2, 3.5, (1, 4))


def _helper(x):
    return x, x * 2


@kernel
def _tuples(item: kapi.Item, pair, out):
    i = item.get_id(0)
    (a, b), factor = pair
    out[0, i] = a[i] * factor + pair[0][1][i]
    once, twice = _helper(b[i])
    out[1, i] = once + twice + len(pair) + _WEIGHTS[2][1]
    total = 0
    for weight in (1, 2, 3):
        total += weight * i
    for array in (a, a):
        total += array[i]
    out[2, i] = total


@kernel
def _named_tuples(item: kapi.Item, point, out):
    i = item.get_id(0)
    x, _y, _weight = point
    moved = Point(x[i] + 1, point.y[i], weight=point.weight)
    out[i] = moved.x * moved.weight + moved[1] + point[0][i] + len(moved)


@kernel
def _tuple_operators(item: kapi.Item, a, out):
    i = item.get_id(0)
    if i in (1, 3, 4):
        out[0, i] = 1
    if i not in (0, 1):
        out[1, i] = 1
    if (i, 2) < (2, 2):
        out[2, i] = 1
    if (i, a[i]) == (2, 2.0):
        out[3, i] = 1
    if (i, 1) >= (2, 1):
        out[4, i] = 1
    first = (i, 7)
    joined = first + (a[i],)  # noqa: RUF005  the operator is what is tested
    out[5, i] = joined[2] + len(joined) + joined[1:][0] + (10, 20, 30)[i % 3]


@kernel
def _builtins(item: kapi.Item, a, out):
    i = item.get_id(0)
    quotient, rest = divmod(i + 7, 3)
    out[0, i] = 10 * quotient + rest
    out[1, i] = pow(a[i], 2)
    out[2, i] = sum((1, a[i], i)) + sum((), 0.5)
    out[3, i] = min((a[i], 3, i)) + max((a[i], 2.5))
    out[4, i] = any((i > 4, a[i] == 1.0)) + 10 * all((i > 1, a[i], True))
    for k in range(3):
        last = k
    out[5, i] = k + last


@kernel
def _named_expressions(item: kapi.Item, a, out):
    i = item.get_id(0)
    if (twice := i * 2) > 4:
        out[0, i] = twice
    out[1, i] = (more := a[i] + 1) * more
    k = 0
    while (k := k + 1) < i:
        out[2, i] += k
    x = y = a[i]
    out[3, i] = x + y + (last := 3) + last


@kernel
def _enumerations(item: kapi.Item, a, out):
    i = item.get_id(0)
    mode = Mode.HALF if i < 3 else Mode.ONE
    if mode == Mode.HALF:
        out[0, i] = Colour.RED + a[i]
    elif mode != _CHOSEN:
        out[0, i] = -1
    else:
        out[0, i] = Colour.BLUE * 2
    out[1, i] = a[i] * mode.value
    out[2, i] = i == Colour.BLUE


_ORDERS = (kapi.MemoryOrder.RELAXED, kapi.MemoryOrder.ACQ_REL)
_DEVICE = kapi.MemoryScope.DEVICE


def _members_of_the_language(kapi: Any) -> Any:
    @kapi.device_func
    def add(a, order, scope=_DEVICE):
        kapi.AtomicRef(a, 0, order, scope).fetch_add(1)
        return order

    @kapi.kernel
    def members_of_the_language(item: kapi.Item, out):
        i = item.get_id(0)
        relaxed = add(out[0], _ORDERS[0])
        scope = kapi.MemoryScope.DEVICE
        add(out[1], _ORDERS[1], scope)
        out[2, i] = (relaxed == kapi.MemoryOrder.RELAXED) + 2 * (relaxed != _ORDERS[1]) + 4 * (relaxed == _ORDERS[1])
        match scope:
            case kapi.MemoryScope.WORK_GROUP:
                out[3, i] = -i
            case kapi.MemoryScope.DEVICE:
                out[3, i] = i

    return members_of_the_language


@kernel
def _rows(item: kapi.Item, a, out):
    i = item.get_id(0)
    row = a[i]
    for j in range(len(row)):
        out[0, i] += row[j] * a[i][j]
    out[1, i] = row.shape[0] + row.ndim + a.T[1, i] + a.T.shape[0]


@kernel
def _slices(item: kapi.Item, a, out):
    i = item.get_id(0)
    part = a[1:, ::2]
    reverse = a[::-1]
    window = a[i, i : i + 2]
    out[0, i] = part[0, 0] + 10 * part[1, 1] + part.shape[0] + 100 * part.shape[1]
    out[1, i] = reverse[0, i] + window[0] + window.size
    last = a[-2:]
    written = out[2:, ::-1]
    written[0, 3 - i] = last[1, i] + a[3:0:-2][1, i] + a[2:1].shape[0] + a[0:100].shape[0]


@kernel
def _without_axes(item: kapi.Item, a, out):
    out[()] = a[()] * 2 + a.ndim + len(a.shape) + a.size


@kernel
def _six_axes(item: kapi.Item, a, out):
    i = item.get_id(0)
    total = 0
    for j in range(a.shape[1]):
        for k in range(a.shape[2]):
            for m in range(a.shape[4]):
                total += a[i, j, k, 0, m, 1] * (1 + j + 10 * k + 100 * m)
    out[i] = total + a.ndim + a.strides[5]


@kernel
def _complex_numbers(item: kapi.NdItem, z, w, k, scratch, out, real):
    i = item.get_local_id(0)
    scratch[i] = z[i] * w[i]
    kapi.group_barrier(item.get_group())
    out[0, i] = scratch[z.shape[0] - 1 - i]
    out[1, i] = z[i] / w[i] - w[i]
    out[2, i] = z[i] * 2j + k
    out[3, i] = complex(z[i].real, 1.5) + z[i].conjugate()
    out[4, i] = -(z[i] ** 2)
    out[5, i] = z[i].imag
    real[0, i] = abs(z[i])
    real[1, i] = z[i] == w[i]
    real[2, i] = z[i] != z[i]
    real[3, i] = z[i] < w[i]


def _complex_case(dtype: str) -> Case:
    z = np.array([1.5 + 0.5j, -2 + 4j, 0.25 - 1j, 3], dtype)
    w = np.array([2 - 1j, -2 + 4j, 0.25 + 0.5j, 1j], dtype)

    def expected(given: list[Any]) -> dict[int, np.ndarray[Any, Any]]:
        products = np.array([a * b for a, b in zip(z, w, strict=True)])
        half = np.array([complex(a.real, 1.5) for a in z])
        out = [products[::-1], z / w - w, z * np.array(2j, dtype) + given[2], half + z.conj(), -(z * z), z.imag + 0j]
        real = [np.abs(z), z == w, z != z, [a < b for a, b in zip(z, w, strict=True)]]
        return {4: np.array(out, dtype), 5: np.array(real, np.float64)}

    return Case(
        f"values/complex-{dtype}",
        _complex_numbers,
        ((4,), (4,)),
        lambda: [z, w, 0.5 - 1j, Local(4, dtype), np.zeros((6, 4), dtype), np.zeros((4, 4))],
        expected,
        ulp={5: 4.0},
        precision="float32" if dtype == "complex64" else "float64",
    )


@kernel
def _half_floats(item: kapi.NdItem, a, b, s, scratch, out):
    i = item.get_local_id(0)
    scratch[i] = a[i] + b[i]
    kapi.group_barrier(item.get_group())
    out[0, i] = scratch[a.shape[0] - 1 - i]
    out[1, i] = a[i] * b[i] + a[i]
    out[2, i] = a[i] / b[i] - s
    out[3, i] = a[i] // b[i]
    out[4, i] = a[i] % b[i]
    out[5, i] = a[i] * 0.1
    total = 0.0
    for k in range(a.shape[0]):
        total += a[k] * b[k]
    out[6, i] = total


def _half_case() -> Case:
    a = np.array([1.1, -2.7, 1000.5, 0.001], np.float16)
    b = np.array([0.3, 1.9, 7.7, -3.3], np.float16)
    s = np.float16(0.7)

    def expected(given: list[Any]) -> dict[int, np.ndarray[Any, Any]]:
        total = np.float16(0)
        for x, y in zip(a, b, strict=True):
            total += x * y
        rows = [(a + b)[::-1], a * b + a, a / b - s, a // b, a % b, a * 0.1, np.full(4, total)]
        return {4: np.array(rows).astype(np.float64)}

    return Case(
        "values/float16",
        _half_floats,
        ((4,), (4,)),
        lambda: [a, b, s, Local(4, "float16"), np.zeros((7, 4))],
        expected,
    )


_SIX = np.arange(6.0)
_GRID = np.arange(16.0).reshape(4, 4)
_BLOCK = np.arange(2 * 3 * 2 * 2 * 3 * 2, dtype=np.int32).reshape(2, 3, 2, 2, 3, 2)


def _six_axes_expected(block: np.ndarray[Any, Any], stride: int) -> np.ndarray[Any, Any]:
    weights = 1 + np.arange(3)[:, None, None] + 10 * np.arange(2)[:, None] + 100 * np.arange(3)
    return np.array([(row[:, :, 0, :, 1] * weights).sum() + 6 + stride for row in block], np.int64)


CASES: tuple[Case, ...] = (
    output_case(
        "values/tuples",
        _tuples,
        ((6,),),
        [((_SIX, _SIX.astype(np.float32)), 2)],
        [_SIX * 2 + _SIX, _SIX * 3 + 2 + 4, _SIX * 6 + _SIX * 2],
    ),
    output_case(
        "values/named-tuples", _named_tuples, ((6,),), [Point(_SIX, _SIX + 1, 3)], (_SIX + 1) * 3 + _SIX + 1 + _SIX + 3
    ),
    output_case(
        "values/tuple-operators",
        _tuple_operators,
        ((6,),),
        [_SIX],
        [
            [0, 1, 0, 1, 1, 0],
            [0, 0, 1, 1, 1, 1],
            [1, 1, 0, 0, 0, 0],
            [0, 0, 1, 0, 0, 0],
            [0, 0, 1, 1, 1, 1],
            _SIX + 3 + 7 + np.array([10, 20, 30] * 2),
        ],
        starts=True,
    ),
    output_case(
        "values/builtins",
        _builtins,
        ((6,),),
        [_SIX],
        [
            (_SIX + 7) // 3 * 10 + (_SIX + 7) % 3,
            _SIX**2,
            2 * _SIX + 1.5,
            np.minimum(_SIX, 3) + np.maximum(_SIX, 2.5),
            [0, 1, 10, 10, 10, 11],
            [4] * 6,
        ],
    ),
    output_case(
        "values/named-expressions",
        _named_expressions,
        ((6,),),
        [_SIX],
        [[0, 0, 0, 6, 8, 10], (_SIX + 1) ** 2, [0, 0, 1, 3, 6, 10], 2 * _SIX + 6],
        starts=True,
    ),
    output_case(
        "values/enumerations",
        _enumerations,
        ((6,),),
        [_SIX],
        [[1, 2, 3, 10, 10, 10], [0, 0.5, 1, 3, 4, 5], [0, 0, 0, 0, 0, 1]],
    ),
    output_case(
        "values/members-of-the-language",
        _members_of_the_language,
        ((3,),),
        [],
        [[3, 0, 0], [3, 0, 0], [3, 3, 3], [0, 1, 2]],
        np.int32,
        starts=True,
    ),
    output_case("values/rows", _rows, ((4,),), [_GRID], [(_GRID**2).sum(axis=1), 4 + 1 + _GRID[:, 1] + 4], starts=True),
    output_case(
        "values/rows-strided",
        _rows,
        ((4,),),
        [Strided(np.arange(32.0).reshape(8, 4), lambda base: base[::-2].T.T)],
        [
            (np.arange(32.0).reshape(8, 4)[::-2] ** 2).sum(axis=1),
            4 + 1 + np.arange(32.0).reshape(8, 4)[::-2][:, 1] + 4,
        ],
        starts=True,
    ),
    Case(
        "values/slices",
        _slices,
        ((4,),),
        lambda: [_GRID, np.zeros((3, 4))],
        lambda given: {
            0: _GRID,
            1: np.array(
                [
                    [4 + 100 + 3 + 200] * 4,
                    12 + _SIX[:4] + np.diag(_GRID) + [2, 2, 2, 1],
                    _GRID[3] + _GRID[1] + 0 + 4,
                ]
            ),
        },
    ),
    output_case("values/array-without-axes", _without_axes, ((1,),), [np.array(3.0)], 7.0),
    output_case("values/six-axes", _six_axes, ((2,),), [_BLOCK], _six_axes_expected(_BLOCK, 4), np.int64),
    output_case(
        "values/six-axes-strided",
        _six_axes,
        ((2,),),
        [Strided(_BLOCK, lambda base: base[::-1, :, ::-1, :, :, ::-1])],
        _six_axes_expected(_BLOCK[::-1, :, ::-1, :, :, ::-1], -4),
        np.int64,
    ),
    *(_complex_case(dtype) for dtype in ("complex64", "complex128")),
    _half_case(),
)
