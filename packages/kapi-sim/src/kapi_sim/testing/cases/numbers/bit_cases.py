# mypy: disable-error-code="name-defined,no-untyped-def,no-untyped-call,untyped-decorator"
# The kernels are written as users write them.
"""Cases of the bits of integers: every width, signed and unsigned, and Python's integers.

What is expected is read from the digits of numbers in base 2, and from products of Python's integers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import kapi_sim as kapi
from kapi_sim.testing.case import Case, kernel

__all__ = ["CASES"]

_ROWS = ("clz", "ctz", "popcount", "rotate", "mul_hi")
_COUNT = 64


@kernel
def _strong(item: kapi.Item, x, y, amounts, out):
    i = item.get_id(0)
    out[0, i] = kapi.clz(x[i])
    out[1, i] = kapi.ctz(x[i])
    out[2, i] = kapi.popcount(x[i])
    out[3, i] = kapi.rotate(x[i], amounts[i])
    out[4, i] = kapi.rotate(x[i], -3)
    out[5, i] = kapi.mul_hi(x[i], y[i])
    out[6, i] = kapi.mul_hi(x[i], 3)


@kernel
def _weak(item: kapi.Item, n, m, amounts, out):
    i = item.get_id(0)
    x, y = int(n[i]), int(m[i])
    out[0, i] = kapi.clz(x)
    out[1, i] = kapi.ctz(x)
    out[2, i] = kapi.popcount(x)
    out[3, i] = kapi.rotate(x, amounts[i])
    out[4, i] = kapi.rotate(n=-3, x=x)
    out[5, i] = kapi.mul_hi(x, y)
    out[6, i] = kapi.mul_hi(y=3, x=x)


def _reversed(kapi: Any) -> Any:
    @kapi.device_func
    def turned(bits, count):
        made = bits ^ bits
        for _ in range(count):
            made = made << 1 | bits & 1
            bits = bits >> 1
        return made

    @kapi.kernel
    def reversed_(item: kapi.Item, bytes_, words, longs, out, few):
        i = item.get_id(0)
        out[0, i] = turned(bytes_[i], 8)
        out[1, i] = turned(bytes_[i], 5)
        out[2, i] = turned(words[i], 32)
        out[3, i] = turned(words[i], 10)
        out[4, i] = turned(longs[i], 64)
        out[5, i] = turned(longs[i], 33)
        # As a Fourier transform permutes its elements.
        index = turned(i, 6)
        few[0, i] = index
        few[1, i] = index / 2
        few[2, i] = 1 if index in (3, 60, 61) else -1 if index < 40 else 0
        few[3, i] = index ^ 21 if index != 62 else index

    return reversed_


def _of_reversed(given: list[Any]) -> dict[int, Any]:
    rows = [(given[column], count) for column, count in ((0, 8), (0, 5), (1, 32), (1, 10), (2, 64), (2, 33))]
    out = [[int(f"{int(n) % 2**count:0{count}b}"[::-1], 2) for n in column] for column, count in rows]
    indices = [int(f"{i:06b}"[::-1], 2) for i in range(_COUNT)]
    few = [
        indices,
        [index / 2 for index in indices],
        [1 if index in (3, 60, 61) else -1 if index < 40 else 0 for index in indices],
        [index ^ 21 if index != 62 else index for index in indices],
    ]
    return {3: np.array(out, np.uint64), 4: np.array(few)}


def _to_reverse() -> list[Any]:
    rng = np.random.default_rng(7)
    columns = [rng.integers(0, np.iinfo(kind).max, _COUNT, kind, True) for kind in (np.uint8, np.uint32, np.uint64)]
    return [*columns, np.zeros((6, _COUNT), np.uint64), np.zeros((4, _COUNT))]


def _by_digits(x: int, amounts: int, width: int) -> list[int]:
    digits = f"{x % 2**width:0{width}b}"
    amounts %= width
    down = 3 % width
    return [
        width - len(digits.lstrip("0")),
        width - len(digits.rstrip("0")),
        digits.count("1"),
        int(digits[amounts:] + digits[:amounts], 2),
        int(digits[width - down :] + digits[: width - down], 2),
    ]


def _case(name: str, dtype: str, make: Any) -> Case:
    width = np.dtype(dtype).itemsize * 8

    def inputs() -> list[Any]:
        rng = np.random.default_rng(width)
        ends = np.iinfo(dtype)
        x, y = rng.integers(ends.min, ends.max, (2, _COUNT), dtype, endpoint=True)
        special = [0, 1, ends.min, ends.max, ends.max - 1, ends.max // 2 + 1, 0, 5]
        x[: len(special)] = special
        y[: len(special)] = special[::-1]
        x[8 : 8 + width] = np.left_shift(np.ones(width, dtype), np.arange(width).astype(dtype))[: _COUNT - 8]
        amounts = rng.integers(-200, 200, _COUNT)
        amounts[:4] = [0, width, -width, 1]
        return [x, y, amounts, np.zeros((7, _COUNT), dtype)]

    def expected(given: list[Any]) -> dict[int, Any]:
        x, y = [int(each) for each in given[0]], [int(each) for each in given[1]]
        rows = [_by_digits(n, int(k), width) for n, k in zip(x, given[2], strict=True)]
        for row, n, m in zip(rows, x, y, strict=True):
            row += [n * m >> width, n * 3 >> width]
        # As many bits as the type has, whatever their sign.
        return {3: np.array([[each % 2**width for each in row] for row in rows], np.uint64).T.astype(dtype)}

    return Case(f"bits/{name}", make, ((_COUNT,),), inputs, expected, covers=_ROWS)


CASES: tuple[Case, ...] = (
    *(
        _case(dtype, dtype, _strong)
        for dtype in ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
    ),
    _case("python-integers", "int64", _weak),
    Case("bits/reversed-by-loops", _reversed, ((_COUNT,),), _to_reverse, _of_reversed),
)
