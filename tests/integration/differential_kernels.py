"""Ten kernels, each with the same computation by NumPy, for the comparison of simulator and device."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["KERNELS", "Subject"]

GROUP = 8  # work-items of a group, in the kernels that have groups


@dataclass(frozen=True)
class Subject:
    """A kernel and its judge.

    Attributes
    ----------
    make : function
        Takes the module of a world, and returns its kernel.
    judge : function
        Computes with NumPy what the kernel computes, into the last array.
    ranks : str
        The rank of each array, the last one written: "112" are two vectors and a matrix.
    dtypes : tuple of str
        The dtypes that the inputs may have.
    out : str
        The dtype of what is written: "same", "common" or a dtype.
    small : bool
        Whether values are to be small, such that sums and products stay exact.
    has_groups : bool
        Whether the launch is over an NdRange, with a local array as last argument.
    ulp : int
        Allowed difference of the device from NumPy.
    """

    make: Callable[[Any], Any]
    judge: Callable[..., None]
    ranks: str
    dtypes: tuple[str, ...]
    out: str = "common"
    small: bool = False
    has_groups: bool = False
    ulp: int = 0


ALL = ("int32", "int64", "float32", "float64")
INTEGERS = ("int32", "int64")
FLOATS = ("float32", "float64")


def _polynomial(kapi: Any) -> Any:
    @kapi.kernel
    def polynomial(item: kapi.Item, a, b, out):
        i = item.get_id(0)
        out[i] = a[i] * b[i] - a[i] * 3 + 7

    return polynomial


def _judge_polynomial(a, b, out):
    out[...] = a * b - a * 3 + 7


def _division(kapi: Any) -> Any:
    @kapi.kernel
    def division(item: kapi.Item, a, b, out):
        i = item.get_id(0)
        if b[i] != 0:
            out[i] = a[i] // b[i] + a[i] % b[i]
        else:
            out[i] = a[i]

    return division


def _judge_division(a, b, out):
    divisor = np.where(b == 0, b.dtype.type(1), b)
    out[...] = np.where(b == 0, a, a // divisor + a % divisor)


def _bits(kapi: Any) -> Any:
    @kapi.kernel
    def bits(item: kapi.Item, a, b, out):
        i = item.get_id(0)
        out[i] = ((a[i] & b[i]) ^ (a[i] >> 3)) | ((~b[i]) << 2)

    return bits


def _judge_bits(a, b, out):
    out[...] = ((a & b) ^ (a >> 3)) | ((~b) << 2)


def _choice(kapi: Any) -> Any:
    @kapi.kernel
    def choice(item: kapi.Item, a, b, out):
        i = item.get_id(0)
        j = item.get_id(1)
        x = a[i, j]
        if x < b[i, j]:
            out[i, j] = 1
        elif x == b[i, j] and not i == j:
            out[i, j] = 2
        elif x >= 0:
            out[i, j] = 3

    return choice


def _judge_choice(a, b, out):
    diagonal = np.eye(*a.shape, dtype=bool)
    less, equal = a < b, (a == b) & ~diagonal
    out[...] = np.select([less, equal, a >= 0], [1, 2, 3], out)


def _transposition(kapi: Any) -> Any:
    @kapi.kernel
    def transposition(item: kapi.Item, a, out):
        i = item.get_id(0)
        j = item.get_id(1)
        out[i, j] = a[a.shape[0] - 1 - i, a.shape[1] - 1 - j]

    return transposition


def _judge_transposition(a, out):
    out[...] = a[::-1, ::-1]


def _product(kapi: Any) -> Any:
    @kapi.kernel
    def product(item: kapi.Item, a, b, out):
        i = item.get_id(0)
        j = item.get_id(1)
        total = 0
        for k in range(a.shape[1]):
            total += a[i, k] * b[j, k]
        out[i, j] = total

    return product


def _judge_product(a, b, out):
    out[...] = 0
    for k in range(a.shape[1]):
        out += a[:, k, None] * b[None, :, k]


def _stencil(kapi: Any) -> Any:
    @kapi.kernel
    def stencil(item: kapi.Item, a, out):
        i = item.get_id(0)
        j = item.get_id(1)
        k = item.get_id(2)
        value = a[i, j, k]
        if i > 0:
            value += a[i - 1, j, k]
        if k + 1 < a.shape[2]:
            value -= a[i, j, k + 1]
        out[i, j, k] = value

    return stencil


def _judge_stencil(a, out):
    out[...] = a
    out[1:] += a[:-1]
    out[:, :, :-1] -= a[:, :, 1:]


def _steps(kapi: Any) -> Any:
    @kapi.device_func
    def following(n):
        return n // 2 if n % 2 == 0 else 3 * n + 1

    @kapi.kernel
    def steps(item: kapi.Item, a, out):
        i = item.get_id(0)
        n = abs(a[i])
        count = 0
        while n > 1:
            n = following(n)
            count += 1
        out[i] = count

    return steps


def _judge_steps(a, out):
    for i, start in enumerate(a.tolist()):
        n, count = abs(start), 0
        while n > 1:
            n, count = n // 2 if n % 2 == 0 else 3 * n + 1, count + 1
        out[i] = count


def _length(kapi: Any) -> Any:
    @kapi.kernel
    def length(item: kapi.Item, a, b, out):
        i = item.get_id(0)
        out[i] = math.sqrt(a[i] * a[i] + b[i] * b[i]) * 0.5

    return length


def _judge_length(a, b, out):
    out[...] = np.sqrt(a * a + b * b) * 0.5


def _group_sums(kapi: Any) -> Any:
    @kapi.kernel
    def group_sums(nd_item: kapi.NdItem, a, out, tile):
        i = nd_item.get_global_id(0)
        k = nd_item.get_local_id(0)
        tile[k] = a[i]
        stride = nd_item.get_local_range(0) // 2
        while stride > 0:
            kapi.group_barrier(nd_item.get_group())
            if k < stride:
                tile[k] += tile[k + stride]
            stride //= 2
        kapi.group_barrier(nd_item.get_group())
        out[i] = tile[0] - tile[k]

    return group_sums


def _judge_group_sums(a, out):
    tile = a.reshape(-1, GROUP).copy()
    stride = GROUP // 2
    while stride > 0:
        tile[:, :stride] += tile[:, stride : 2 * stride]
        stride //= 2
    out[...] = (tile[:, :1] - tile).reshape(-1)


KERNELS: dict[str, Subject] = {
    "polynomial": Subject(_polynomial, _judge_polynomial, "111", ALL),
    "division": Subject(_division, _judge_division, "111", ALL, out="common", small=True),
    "bits": Subject(_bits, _judge_bits, "111", INTEGERS),
    "choice": Subject(_choice, _judge_choice, "222", ALL, out="int32"),
    "transposition": Subject(_transposition, _judge_transposition, "22", ALL),
    "product": Subject(_product, _judge_product, "222", ALL, small=True),
    "stencil": Subject(_stencil, _judge_stencil, "33", ALL),
    "steps": Subject(_steps, _judge_steps, "11", INTEGERS, out="int64", small=True),
    "length": Subject(_length, _judge_length, "111", FLOATS, small=True, ulp=4),
    "group_sums": Subject(_group_sums, _judge_group_sums, "11", ALL, has_groups=True),
}
