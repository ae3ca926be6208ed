"""Algorithms by NumPy's own functions, which give what the kernels give over arrays of the host, and sooner."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kapi_sim.language.intrinsics import operators
from kapi_sim.language.intrinsics.operators import operator_row

__all__ = ["reduce_in_numpy", "sort_in_numpy"]

_MOST = 1 << 18
"""Elements of a reduction above which the threads of a kernel may be ahead of NumPy, which has one."""

_FUNCTIONS: dict[Callable[[Any, Any], Any], np.ufunc] = {
    operators.plus: np.add,
    operators.multiplies: np.multiply,
    operators.minimum: np.minimum,
    operators.maximum: np.maximum,
    operators.bit_and: np.bitwise_and,
    operators.bit_or: np.bitwise_or,
    operators.bit_xor: np.bitwise_xor,
    operators.logical_and: np.logical_and,
    operators.logical_or: np.logical_or,
}

_quiet = np.errstate(invalid="ignore")  # of signalling not-a-numbers


def reduce_in_numpy(array: Any, op: Callable[[Any, Any], Any], init: Any, out: Any) -> Callable[[], None] | None:
    """Return the function that combines the elements of an array into `out`; None where the kernel is better.

    Sums and products of floats are among the latter: their rounding depends on the order of the elements.
    """
    row = operator_row(op)
    if row is None or not isinstance(array, np.ndarray) or array.shape[0] > _MOST:
        return None
    dtype, function = array.dtype, _FUNCTIONS[op]
    if dtype.kind not in row.kinds or (dtype.kind == "f" and isinstance(row.identity, int)):
        return None
    if not isinstance(out, np.ndarray) or out.shape != (1,) or not out.flags.writeable:
        return None

    def reduce() -> None:
        if init is None:
            out[0] = function.reduce(array, dtype=dtype)
        else:
            out[0] = function.reduce(array, dtype=dtype, initial=init)

    return _quiet(reduce) if dtype.kind == "f" else reduce


@_quiet
def sort_in_numpy(keys: Any, values: Any, descending: bool) -> None:
    """Sort an array of numbers in place, and move the elements of another with them; stable."""
    # The order of equal elements is kept if a stable sort of the array from its end is read from its end.
    given = keys[::-1] if descending else keys
    if values is not None:
        order = _stable_order(given)
        if descending:
            order = (keys.shape[0] - 1 - order)[::-1]
        keys[...], values[...] = keys[order], values[order]
    elif descending:
        given = given.copy()
        _sort(given)
        keys[...] = given[::-1]
    else:
        _sort(keys)


def _sort(a: Any) -> None:
    """Sort numbers in place; stable."""
    if a.dtype.kind == "c" or a.dtype.itemsize == 1:
        a.sort(kind="stable")
    elif a.dtype.kind == "f":
        # Equal floats with different bits are zeros and not-a-numbers: they get the order that they had.
        zeros, nans = a[a == 0], a[a != a]
        a.sort()
        first = np.searchsorted(a, 0)
        a[first : first + zeros.shape[0]] = zeros
        a[a.shape[0] - nans.shape[0] :] = nans
    else:
        a.sort()


def _stable_order(a: Any) -> Any:
    """Return the positions of an array's numbers in their order; equal ones stay in theirs."""
    if a.dtype.itemsize == 4 or a.dtype == np.float16:
        # NumPy sorts the bits of a number and its position, as one integer, several times as fast as it merges.
        bits = _ordered_bits(a.astype(np.float32) if a.dtype == np.float16 else a)
        both = (bits.astype(np.uint64) << 32) | np.arange(a.shape[0], dtype=np.uint64)
        both.sort()
        return (both & 0xFFFFFFFF).astype(np.intp)
    return a.argsort(kind="stable")


def _ordered_bits(a: Any) -> Any:
    """Return unsigned integers with the order of numbers of four bytes."""
    sign = np.uint32(1 << 31)
    if a.dtype.kind == "u":
        return a
    if a.dtype.kind == "i":
        return a.view(np.uint32) ^ sign
    bits = (a + np.float32(0)).view(np.uint32)  # which makes 0.0 of -0.0
    bits = np.where(bits & sign, ~bits, bits | sign)
    bits[a != a] = 0xFFFFFFFF
    return bits
