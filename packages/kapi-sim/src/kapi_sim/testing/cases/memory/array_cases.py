# mypy: disable-error-code="name-defined,no-untyped-def,no-untyped-call,untyped-decorator"
# The kernels are written as users write them.
"""Cases of arrays: ranks 0 to 3, strides of every kind, attributes, scalars and closures."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

import kapi_sim as kapi
from kapi_sim.testing.case import Case, Strided, kernel, output_case

__all__ = ["CASES"]


@kernel
def _copy_1(item: kapi.Item, a, out):
    i = item.get_id(0)
    out[i] = a[i]


@kernel
def _copy_2(item: kapi.Item, a, out):
    i = item.get_id(0)
    j = item.get_id(1)
    out[i, j] = a[i, j]


@kernel
def _copy_3(item: kapi.Item, a, out):
    i = item.get_id(0)
    j = item.get_id(1)
    k = item.get_id(2)
    out[i, j, k] = a[i, j, k]


@kernel
def _chosen_by_branch(item: kapi.Item, a, b, out):
    i = item.get_id(0)
    if i % 2 == 0:
        x = a
    else:
        x = b
    out[i] = x[i, 1]


@kernel
def _rank_0(item: kapi.Item, a, out):
    out[()] = a[()] * 2


@kernel
def _attributes(item: kapi.Item, a, out):
    out[0] = a.shape[0]
    out[1] = a.shape[1]
    out[2] = a.ndim
    out[3] = a.size
    out[4] = len(a)


@kernel
def _typed_zero(item: kapi.Item, data, out):
    i = item.get_id(0)
    total = data.dtype.type(0.0)
    for k in range(data.shape[1]):
        total += data[i, k] * data[i, k]
    out[i] = total


@kernel
def _scalars(item: kapi.Item, x, weak_int, weak_float, strong_int, strong_float, out):
    i = item.get_id(0)
    out[0, i] = x[i] * weak_int
    out[1, i] = x[i] * weak_float
    out[2, i] = x[i] * strong_int
    out[3, i] = x[i] * strong_float


def _closure(kapi: Any) -> Any:
    factor = 3
    offset = 0.5

    @kapi.kernel
    def scaled(item: kapi.Item, a, out):
        i = item.get_id(0)
        out[i] = a[i] * factor + offset

    return scaled


@kernel
def _alias(item: kapi.Item, a, b, out):
    i = item.get_id(0)
    source = a
    value = source[i]
    target = out
    target[i] = value + b[i]


@kernel
def _gather(item: kapi.Item, a, index, out):
    i = item.get_id(0)
    out[i] = a[index[i]]


@kernel
def _swap(item: kapi.Item, a):
    i = item.get_id(0)
    a[i, 0], a[i, 1] = a[i, 1], a[i, 0]


@kernel
def _augmented(item: kapi.Item, a):
    i = item.get_id(0)
    a[i, 0] += 2
    a[i, 1] -= 2
    a[i, 2] *= 3
    a[i, 3] //= 2
    a[i, 4] %= 4
    a[i, 5] &= 6
    a[i, 6] |= 6
    a[i, 7] ^= 6
    a[i, 8] <<= 2
    a[i, 9] >>= 1
    a[i, 10] **= 2


_AUGMENTED_START = np.array([[7] * 11, [-7] * 11], np.int32)
# By hand, from 7 and from -7; division and modulo have Python's signs.
_AUGMENTED_END = np.array(
    [[9, 5, 21, 3, 3, 6, 7, 1, 28, 3, 49], [-5, -9, -21, -4, 1, 0, -1, -1, -28, -4, 49]], np.int32
)
_AUGMENTED_END[1, 7] = -7 ^ 6
_AUGMENTED_END[1, 5] = -7 & 6
_AUGMENTED_END[1, 6] = -7 | 6


def _ramp(*shape: int) -> np.ndarray[Any, Any]:
    return np.arange(np.prod(shape), dtype=np.float64).reshape(shape)


def _read_through(name: str, make: Any, base: np.ndarray[Any, Any], view: Any) -> Case:
    seen = np.ascontiguousarray(view(base))
    return output_case(f"arrays/read-{name}", make, (seen.shape,), [Strided(base, view)], seen, base.dtype)


def _write_through(name: str, make: Any, base: np.ndarray[Any, Any], view: Any) -> Case:
    shape = view(base).shape
    values = _ramp(*shape) + 0.5

    def expected(given: list[Any]) -> dict[int, np.ndarray[Any, Any]]:
        after = base.copy()
        view(after)[...] = values
        return {1: after}

    return Case(f"arrays/write-{name}", make, (shape,), lambda: [values, Strided(base, view)], expected)


def _broadcast(array: Any) -> Any:
    return _namespace(array).broadcast_to(array, (3, 4))


def _reversed_axes(array: Any) -> Any:
    names = _namespace(array)
    return getattr(names, "permute_dims", names.transpose)(array, (2, 1, 0))


def _namespace(array: Any) -> Any:
    """The array's functions; of libraries that are older than the standard, those of the library."""
    if hasattr(array, "__array_namespace__"):
        return array.__array_namespace__()
    return sys.modules[type(array).__module__.partition(".")[0]]


_VIEWS: tuple[tuple[str, Any, np.ndarray[Any, Any], Any], ...] = (
    ("1d-step", _copy_1, _ramp(11), lambda a: a[::3]),
    ("1d-reversed", _copy_1, _ramp(7), lambda a: a[::-1]),
    ("1d-offset", _copy_1, _ramp(9), lambda a: a[2:7]),
    ("2d-transposed", _copy_2, _ramp(3, 5), lambda a: a.T),
    ("2d-column", _copy_1, _ramp(4, 3), lambda a: a[:, 1]),
    ("2d-steps-and-reversed", _copy_2, _ramp(6, 8), lambda a: a[::2, ::-3]),
    ("3d-inner", _copy_3, _ramp(3, 4, 5), lambda a: a[1:, ::-2, 1:4]),
    ("3d-transposed", _copy_3, _ramp(2, 3, 4), _reversed_axes),
)


def _dtype_case(dtype: str) -> Case:
    values = np.array([0, 1, 2, 100, -5, 7]).astype(dtype)
    return output_case(f"arrays/copy-{dtype}", _copy_1, ((6,),), [values], values, dtype)


@kernel
def _own_enumerations(item: kapi.Item, out, narrow):
    out[0] = kapi.MemoryOrder.SEQ_CST
    out[1] = kapi.MemoryScope.DEVICE
    out[2] = kapi.AddressSpace.LOCAL
    narrow[0] = kapi.MemoryOrder.ACQ_REL


CASES: tuple[Case, ...] = (
    *(_dtype_case(dtype) for dtype in ("int32", "int64", "float32", "float64")),
    Case(
        "arrays/members-of-enumerations-are-stored-as-integers",
        _own_enumerations,
        ((1,),),
        lambda: [np.zeros(3), np.zeros(1, np.int8)],
        lambda given: {0: np.array([4.0, 3.0, 3.0]), 1: np.array([3], np.int8)},
    ),
    output_case("arrays/copy-3d", _copy_3, ((2, 3, 4),), [_ramp(2, 3, 4)], _ramp(2, 3, 4)),
    *(_read_through(*view) for view in _VIEWS),
    *(_write_through(*view) for view in _VIEWS),
    _read_through("zero-stride", _copy_2, _ramp(4), _broadcast),
    Case(
        "arrays/rank-0",
        _rank_0,
        ((1,),),
        lambda: [np.array(21.0), np.array(0.0)],
        lambda given: {1: np.array(42.0)},
    ),
    output_case("arrays/no-work-items", _copy_1, ((0,),), [np.ones(3)], np.zeros(3), starts=True),
    output_case("arrays/attributes", _attributes, ((1,),), [np.zeros((3, 5), np.float32)], [3, 5, 2, 15, 3], np.int64),
    output_case(
        "arrays/dtype-of-an-argument",
        _typed_zero,
        ((4,),),
        [np.arange(12, dtype=np.float32).reshape(4, 3)],
        np.array([5, 50, 149, 302], np.float32),
        np.float32,
    ),
    Case(
        "arrays/scalar-arguments",
        _scalars,
        ((2,),),
        lambda: [
            np.array([0.1, 16777217.0], np.float32),
            3,
            0.1,
            np.int64(3),
            np.float64(0.1),
            np.zeros((4, 2)),
        ],
        lambda given: {
            5: np.stack(
                [
                    (given[0] * np.float32(3)).astype(np.float64),
                    (given[0] * np.float32(0.1)).astype(np.float64),
                    given[0].astype(np.float64) * 3.0,
                    given[0].astype(np.float64) * 0.1,
                ]
            )
        },
    ),
    output_case("arrays/closure-over-constants", _closure, ((4,),), [_ramp(4)], [0.5, 3.5, 6.5, 9.5]),
    output_case("arrays/aliases", _alias, ((3,),), [_ramp(3), _ramp(3)], [0.0, 2.0, 4.0]),
    output_case("arrays/gather", _gather, ((4,),), [_ramp(4), np.array([3, 1, 0, 1], np.int32)], [3.0, 1.0, 0.0, 1.0]),
    Case(
        "arrays/swap-by-tuple-unpacking",
        _swap,
        ((2,),),
        lambda: [np.array([[1.0, 2.0], [3.0, 4.0]])],
        lambda given: {0: np.array([[2.0, 1.0], [4.0, 3.0]])},
    ),
    output_case(
        "arrays/chosen-by-a-branch",
        _chosen_by_branch,
        ((4,),),
        [_ramp(16).reshape(4, 4), _ramp(8).reshape(4, 2)[::-1]],
        [1.0, 5.0, 9.0, 1.0],
    ),
    Case(
        "arrays/augmented-assignment",
        _augmented,
        ((2,),),
        lambda: [_AUGMENTED_START.copy()],
        lambda given: {0: _AUGMENTED_END},
    ),
)
