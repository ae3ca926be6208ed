"""Keys of a radix sort: bits of numbers, as unsigned integers that have the order of the numbers.

Not-a-number of any sign comes last, and -0.0 is 0.0, as NumPy's sort has it.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kapi_sim.language.launchables.device_function import device_func

__all__ = ["RADIX_KINDS", "key_of"]

RADIX_KINDS = frozenset("biuf")
"""Kinds of dtypes whose elements have such keys."""


@device_func
def unsigned_key(bits):
    """An unsigned integer, or a bool."""
    return bits


def _signed(width: int) -> Any:
    type_ = np.dtype(f"uint{width}").type
    sign = type_(1 << (width - 1))

    @device_func
    def signed_key(bits):
        """A signed integer, moved up by half of the range."""
        return bits ^ sign

    return signed_key


def _floating(width: int, infinity: int) -> Any:
    type_ = np.dtype(f"uint{width}").type
    sign, most, all_, infinite = (
        type_(1 << (width - 1)), type_((1 << (width - 1)) - 1), type_((1 << width) - 1), type_(infinity),
    )  # fmt: skip

    @device_func
    def floating_key(bits):
        """A float: those below zero are turned round, which orders them among themselves."""
        magnitude = bits & most
        if magnitude > infinite:
            return all_
        if magnitude == type_(0) or bits < sign:
            return magnitude | sign
        return bits ^ all_

    return floating_key


@device_func
def inverted_key(bits, key):
    """The key that reverses the order."""
    return ~key(bits)


_KEYS: dict[tuple[str, int], Callable[[Any], Any]] = {
    **{(kind, size): unsigned_key for kind in "bu" for size in (1, 2, 4, 8)},
    **{("i", size): _signed(8 * size) for size in (1, 2, 4, 8)},
    ("f", 2): _floating(16, 0x7C00),
    ("f", 4): _floating(32, 0x7F800000),
    ("f", 8): _floating(64, 0x7FF0000000000000),
}


def key_of(dtype: np.dtype[Any]) -> Callable[[Any], Any]:
    """Return the function of kernels from the bits of an element to its key."""
    return _KEYS[dtype.kind, dtype.itemsize]
