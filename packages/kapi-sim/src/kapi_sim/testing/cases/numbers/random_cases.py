# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator"
# The kernels are written as users write them.
"""Cases of random numbers: the same ones in every world, to the last bit.

What is expected are published vectors of the generator, and numbers computed by NumPy over whole arrays.
"""

from __future__ import annotations

from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

import kapi_sim as kapi
from kapi_sim.language.intrinsics.random_numbers import normal
from kapi_sim.testing.case import Case, kernel, output_case

__all__ = ["CASES", "VECTORS"]

VECTORS = (
    ((0x0, 0x0, 0x0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((-1, -1, -1), (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0x299F31D0A4093822, 0x85A308D3243F6A88 - 2**64, 0x0370734413198A2E),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
)
"""Seed, counter and stream, and the words, of Random123's known answers for philox4x32 with ten rounds."""


@kernel
def _known(item: kapi.Item, given, out):
    i = item.get_id(0)
    a, b, c, d = kapi.random.philox(given[i, 0], given[i, 1], given[i, 2])
    out[i, 0] = a
    out[i, 1] = b
    out[i, 2] = c
    out[i, 3] = d


def _known_case() -> Case:
    return output_case(
        "random/known-answers",
        _known,
        ((len(VECTORS),),),
        [np.array([key for key, _ in VECTORS])],
        np.array([words for _, words in VECTORS], np.uint32),
        np.uint32,
        covers=("random.philox",),
    )


_COUNT, _NORMALS = 200, 600
_SEED, _STREAM = 2026_11_23_00_46, 5


def _words(counters: NDArray[np.uint64]) -> list[NDArray[np.uint64]]:
    """Philox over an array of counters, in unsigned 64-bit arithmetic."""
    low = np.uint64(0xFFFFFFFF)
    half = np.uint64(32)
    x = [counters & low, counters >> half, np.full_like(counters, _STREAM), np.zeros_like(counters)]
    keys = [np.uint64(_SEED) & low, np.uint64(_SEED) >> half]
    for _ in range(10):
        products = x[0] * np.uint64(0xD2511F53), x[2] * np.uint64(0xCD9E8D57)
        x = [
            (products[1] >> half) ^ x[1] ^ keys[0],
            products[1] & low,
            (products[0] >> half) ^ x[3] ^ keys[1],
            products[0] & low,
        ]
        keys = [(keys[0] + np.uint64(0x9E3779B9)) & low, (keys[1] + np.uint64(0xBB67AE85)) & low]
    return x


def _counters(count: int) -> NDArray[np.uint64]:
    return np.arange(count, dtype=np.uint64) * np.uint64(0x1_0000_0007)


@kernel
def _uniforms(item: kapi.Item, seed, single, double, like):
    i = item.get_id(0)
    k = i * 0x100000007
    single[i] = kapi.random.uniform(seed, k, 5)
    double[i] = kapi.random.uniform(seed, k, dtype=np.float64, stream=5)
    like[i] = kapi.random.uniform(seed, k, 5, like.dtype) - kapi.random.uniform(seed, k, 5, single.dtype)


def _uniform_case() -> Case:
    def expected(given: list[Any]) -> dict[int, Any]:
        a, b, _, _ = _words(_counters(_COUNT))
        single = (a >> np.uint64(8)).astype(np.float32) / np.float32(2**24)
        double = ((a >> np.uint64(5)) * np.uint64(2**26) + (b >> np.uint64(6))) / 2.0**53
        return {1: single, 2: double, 3: double - single}

    return Case(
        "random/uniform",
        _uniforms,
        ((_COUNT,),),
        lambda: [_SEED, np.zeros(_COUNT, np.float32), np.zeros(_COUNT), np.zeros(_COUNT)],
        expected,
        covers=("random.uniform",),
    )


_BOUNDS = ((0, 2), (-5, 6), (0, 2**40), (-(2**63), 2**63 - 1), (7, 8), (-(2**62), 3))


@kernel
def _integers(item: kapi.Item, seed, bounds, out):
    i = item.get_id(0)
    for j in range(bounds.shape[0]):
        out[j, i] = kapi.random.randint(seed, i * 0x100000007, bounds[j, 0], bounds[j, 1], stream=5)


def _integer_case() -> Case:
    def expected(given: list[Any]) -> dict[int, Any]:
        a, b, _, _ = _words(_counters(_COUNT))
        bits = [int(x) << 32 | int(y) for x, y in zip(a, b, strict=True)]
        return {2: np.array([[low + (n * (high - low) >> 64) for n in bits] for low, high in _BOUNDS])}

    return Case(
        "random/randint",
        _integers,
        ((_COUNT,),),
        lambda: [_SEED, np.array(_BOUNDS), np.zeros((len(_BOUNDS), _COUNT), np.int64)],
        expected,
        covers=("random.randint",),
    )


@kernel
def _normals(item: kapi.Item, seed, out, again):
    i = item.get_id(0)
    out[i] = kapi.random.normal(seed, i, 5, out.dtype)
    again[i] = out[i]


def _normal_case(dtype: str, digits: int) -> Case:
    """Against Python's own points of the distribution, and bit for bit against those of the host.

    Python is given a rounded probability, which shows near 0.
    """
    counters = np.arange(_NORMALS, dtype=np.uint64)

    def points() -> NDArray[np.float64]:
        a, b, _, _ = _words(counters)
        bits = a if digits == 32 else (a >> np.uint64(5)) * np.uint64(2**26) + (b >> np.uint64(6))
        half = 2 ** (digits - 1)
        # The two halves of the distribution mirror each other, and the lower one has the finer probabilities.
        below = [int(n) if n < half else 2 * half - 1 - int(n) for n in bits]
        lower = np.array([NormalDist().inv_cdf((n + 0.5) / 2**digits) for n in below])
        return np.where(bits < half, lower, -lower)

    def expected(given: list[Any]) -> dict[int, Any]:
        kind = np.dtype(dtype).type
        return {1: points(), 2: np.array([normal(_SEED, int(k), 5, kind) for k in counters])}

    tolerance = 6 + (2 / np.abs(points()) if digits == 53 else 0)
    return Case(
        f"random/normal-{dtype}",
        _normals,
        ((_NORMALS,),),
        lambda: [_SEED, np.zeros(_NORMALS, dtype), np.zeros(_NORMALS, dtype)],
        expected,
        ulp={1: tolerance},
        precision=dtype,
        covers=("random.normal",),
    )


CASES: tuple[Case, ...] = (
    _known_case(),
    _uniform_case(),
    _integer_case(),
    _normal_case("float32", 32),
    _normal_case("float64", 53),
)
