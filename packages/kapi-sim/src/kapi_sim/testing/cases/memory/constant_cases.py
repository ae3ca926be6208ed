# mypy: disable-error-code="name-defined,no-untyped-def,no-untyped-call,untyped-decorator"
# The kernels are written as users write them.
"""Cases of arrays from outside, which are constants of a kernel: each dtype, rank, and way to name one."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from kapi_sim.testing.case import Case, output_case

__all__ = ["CASES"]

_COUNT = 24
_DTYPES = (
    "bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64",
    "complex64", "complex128",
)  # fmt: skip


def _values(dtype: str) -> np.ndarray[Any, Any]:
    kind = np.dtype(dtype)
    if kind.kind == "b":
        return np.array([False, True, False, False, True, True, False])
    if kind.kind in "iu":
        ends = np.iinfo(kind)
        return np.array([ends.min, ends.max, 0, 1, ends.max // 3, ends.min // 5, 7], kind)
    reals = [0.1, -0.0, np.inf, float(np.finfo(kind).tiny), -3.5, float(np.finfo(kind).max), 2.0]
    if kind.kind == "c":
        return np.array([complex(x, y) for x, y in zip(reals, reals[::-1], strict=True)], kind)
    return np.array(reals, kind)


def _of_dtype(dtype: str) -> Case:
    table = _values(dtype)

    def make(kapi: Any) -> Any:
        @kapi.kernel
        def gather(item: kapi.Item, indices, out):
            i = item.get_id(0)
            out[i] = table[indices[i]]

        return gather

    def inputs() -> list[Any]:
        return [np.arange(_COUNT) * 5 % 7, np.zeros(_COUNT, dtype)]

    return Case(f"constants/{dtype}", make, ((_COUNT,),), inputs, lambda given: {1: table[given[0]]})


_CURVE = np.array([0.5, 2.5, 7.0, 1.25], np.float32)
_GRID = np.arange(24, dtype=np.int16).reshape(4, 3, 2).transpose(1, 0, 2)[::-1]
_ONE = np.array(9, np.uint8)
_NAMESPACE = SimpleNamespace(weights=np.array([1, 10, 100]))


def _sums(kapi: Any) -> Any:
    steps = np.array([3, 1, 2], np.int64)

    @kapi.device_func
    def total(values):
        found = values.dtype.type(0)
        for k in range(values.shape[0]):
            found += values[k]
        return found

    @kapi.kernel
    def sums(item: kapi.Item, out):
        i = item.get_id(0)
        out[0, i] = _GRID[i % 3, i % 4, i % 2]
        row = _GRID[i % 3]
        out[1, i] = row[i % 4, 1] + _ONE[()] + len(row)
        out[2, i] = total(_CURVE) + total(steps[1:])
        for j in range(_NAMESPACE.weights.shape[0]):
            out[3, i] += _NAMESPACE.weights[j] * (i % 3)
        for x in _CURVE:
            out[4, i] += x * x
        chosen = _CURVE if i % 2 else np_curve
        out[5, i] = chosen[i % 4]
        out[6, i] = max(steps) * _GRID.shape[1] + _GRID.ndim

    np_curve = _CURVE * np.float32(3)
    return sums


def _sums_case() -> Case:
    i = np.arange(_COUNT)
    expected = np.array(
        [
            _GRID[i % 3, i % 4, i % 2],
            _GRID[i % 3, i % 4, 1] + 9 + 4,
            np.full(_COUNT, 11.25 + 3),
            111 * (i % 3),
            np.full(_COUNT, (_CURVE * _CURVE).sum()),
            np.where(i % 2, _CURVE[i % 4], 3 * _CURVE[i % 4]),
            np.full(_COUNT, 3 * 4 + 3),
        ]
    )
    return output_case("constants/uses", _sums, ((_COUNT,),), [], expected, starts=True)


CASES: tuple[Case, ...] = (*map(_of_dtype, _DTYPES), _sums_case())
