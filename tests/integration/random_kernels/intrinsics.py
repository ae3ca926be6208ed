"""Kapi's own functions of numbers as plain Python has them: bits, products' upper halves, random numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from kapi_sim.random import normal

__all__ = ["Random", "clz", "ctz", "mul_hi", "popcount", "rotate"]


def _bits(x: Any) -> tuple[int, int]:
    """A strong integer's bits as a number, and how many they are."""
    width = 8 * x.dtype.itemsize
    return int(x) % 2**width, width


def _of_bits(bits: int, like: Any) -> Any:
    return np.array(bits % 2 ** (8 * like.dtype.itemsize), f"u{like.dtype.itemsize}").view(like.dtype)[()]


def clz(x: Any) -> Any:
    """Zeros above the highest bit."""
    bits, width = _bits(x)
    return type(x)(width - bits.bit_length())


def ctz(x: Any) -> Any:
    """Zeros below the lowest bit."""
    bits, width = _bits(x)
    return type(x)(f"{bits:0{width}b}"[::-1].find("1") if bits else width)


def popcount(x: Any) -> Any:
    """Bits that are set."""
    return type(x)(bin(_bits(x)[0]).count("1"))


def rotate(x: Any, n: Any) -> Any:
    """Bits moved up in a circle."""
    bits, width = _bits(x)
    text = f"{bits:0{width}b}"
    shift = int(n) % width
    return _of_bits(int(text[shift:] + text[:shift], 2), x)


def mul_hi(x: Any, y: Any) -> Any:
    """The upper half of a product."""
    return _of_bits(int(x) * int(y) >> 8 * x.dtype.itemsize, x)


class Random:
    """Philox 4x32-10 by 64-bit products, as its authors write it; the normal distribution is the host's."""

    normal = staticmethod(normal)

    @staticmethod
    def philox(seed: Any, counter: Any, stream: Any = 0) -> tuple[Any, ...]:
        mask = 2**32 - 1
        key = [int(seed) & mask, int(seed) >> 32 & mask]
        words = [int(each) >> shift & mask for each in (counter, stream) for shift in (0, 32)]
        for _ in range(10):
            first, second = 0xD2511F53 * words[0], 0xCD9E8D57 * words[2]
            words = [second >> 32 ^ words[1] ^ key[0], second & mask, first >> 32 ^ words[3] ^ key[1], first & mask]
            key = [(key[0] + 0x9E3779B9) & mask, (key[1] + 0xBB67AE85) & mask]
        return tuple(map(np.uint32, words))

    @classmethod
    def uniform(cls, seed: Any, counter: Any, stream: Any = 0, dtype: Any = np.float32) -> Any:
        first, second, *_ = map(int, cls.philox(seed, counter, stream))
        if np.dtype(dtype) == np.float32:
            return np.float32((first >> 8) / 2**24)
        return np.float64((first << 21 & -(2**26) | second >> 6) / 2**53)

    @classmethod
    def randint(cls, seed: Any, counter: Any, low: int, high: int, stream: Any = 0) -> int:
        first, second, *_ = map(int, cls.philox(seed, counter, stream))
        return low + ((first * 2**32 + second) * (high - low) >> 64)
