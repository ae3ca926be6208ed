"""Random numbers without a state: each is a function of a seed and a counter, and the same one in every world.

The generator is Philox 4x32-10.  What makes numbers of its words is written in the kernel language and stands here
once: the simulator and the host run it as Python, the compiler compiles it for every device.  It adds, multiplies and
divides, and calls no function that may be off by a last place, so that all agree to the last bit.

References
----------
J. K. Salmon and others, "Parallel random numbers: as easy as 1, 2, 3", SC11, 2011.
M. J. Wichura, "Algorithm AS 241: The percentage points of the normal distribution", Applied Statistics 37, 1988.
"""

from __future__ import annotations

import math
from types import FunctionType
from typing import Any, TypeVar

import numpy as np

from kapi_sim.errors import DtypeError

__all__ = ["IMPLEMENTATIONS", "normal", "philox", "randint", "uniform"]

_Float = TypeVar("_Float", np.float32, np.float64)


def philox(seed: int, counter: int, stream: int = 0) -> tuple[np.uint32, np.uint32, np.uint32, np.uint32]:
    """Return the four random words of a seed, a counter and a stream.

    Parameters
    ----------
    seed : int
        The generator's key, 64 bits.
    counter : int
        Which block of the stream, 64 bits.
    stream : int
        Which of the seed's streams, 64 bits: a number of the work-item, say.

    Returns
    -------
    tuple of four numpy.uint32
        Words that have nothing to do with each other, nor with those of another seed, counter or stream.

    Raises
    ------
    DtypeError
        If a parameter is no integer.

    Examples
    --------
    >>> [int(word) for word in philox(0, 0)]
    [1713891541, 3781805453, 3159862348, 2600524760]
    """
    a, b, c, d = _block(_integral("seed", seed), _integral("counter", counter), _integral("stream", stream))
    return np.uint32(a), np.uint32(b), np.uint32(c), np.uint32(d)


def uniform(seed: int, counter: int, stream: int = 0, dtype: type[_Float] = np.float32) -> _Float:  # type: ignore[assignment]  # a default of a type variable
    """Return a random number of at least 0 and below 1, each of them as likely as any other.

    Parameters
    ----------
    seed, counter, stream : int
        As for `philox`.
    dtype : type
        numpy.float32, whose numbers are multiples of 2**-24, or numpy.float64, of 2**-53.

    Returns
    -------
    numpy.float32 or numpy.float64
        A strong number of the type.

    Raises
    ------
    DtypeError
        If a parameter is no integer, or `dtype` another type.

    Examples
    --------
    >>> print(uniform(7, 0), uniform(7, 1), uniform(7, 0, dtype=np.float64))
    0.9545971 0.40696037 0.9545971285563127
    """
    draw = _of_dtype("uniform", dtype)
    return draw(_integral("seed", seed), _integral("counter", counter), _integral("stream", stream))  # type: ignore[no-any-return]


def normal(seed: int, counter: int, stream: int = 0, dtype: type[_Float] = np.float32) -> _Float:  # type: ignore[assignment]  # as above
    """Return a random number of the normal distribution with mean 0 and standard deviation 1.

    It is the point below which the distribution has as much of its weight as a uniform number says.  Its error
    against the exact point is below 6 units in the last place, for both types, and the same in every world.

    Parameters
    ----------
    seed, counter, stream : int
        As for `philox`.
    dtype : type
        numpy.float32, whose numbers are between -6.4 and 6.4, or numpy.float64, between -8.3 and 8.3.

    Returns
    -------
    numpy.float32 or numpy.float64
        A strong number of the type.

    Raises
    ------
    DtypeError
        If a parameter is no integer, or `dtype` another type.

    Examples
    --------
    >>> draws = [normal(7, k) for k in range(1000)]
    >>> bool(abs(np.mean(draws)) < 0.1), bool(abs(np.std(draws) - 1) < 0.1)
    (True, True)
    """
    draw = _of_dtype("normal", dtype)
    return draw(_integral("seed", seed), _integral("counter", counter), _integral("stream", stream))  # type: ignore[no-any-return]


def randint(seed: int, counter: int, low: int, high: int, stream: int = 0) -> int:
    """Return a random integer of at least `low` and below `high`.

    Of n integers each has its share of 64 random bits, so that no two differ in probability by more than 2**-64.

    Parameters
    ----------
    seed, counter : int
        As for `philox`.
    low, high : int
        The first integer, and the one after the last; 64 bits with a sign.  On a device, `low` is what you get where
        `high` is not above it.
    stream : int
        As for `philox`.

    Returns
    -------
    int
        A weak integer.

    Raises
    ------
    DtypeError
        If a parameter is no integer, or a bound is a `numpy.uint64` or does not fit 64 bits with a sign.
    ValueError
        On the host and in the simulator, if `high` is not above `low`.

    Examples
    --------
    >>> [randint(7, k, 1, 7) for k in range(10)]
    [6, 3, 1, 3, 2, 3, 5, 2, 1, 4]
    """
    low, high = _bound("low", low), _bound("high", high)
    if low >= high:
        raise ValueError(f"high must be above low, got low {low} and high {high}")
    return _randint(_integral("seed", seed), _integral("counter", counter), low, high, _integral("stream", stream))


def _integral(name: str, value: Any) -> int:
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        return int(value)
    raise DtypeError(f"{name} must be an integer, got {value!r}", code="random-integer")


def _bound(name: str, value: Any) -> int:
    integral = _integral(name, value)
    if isinstance(value, np.uint64) or not -(2**63) <= integral < 2**63:
        raise DtypeError(
            f"{name} must be an integer that fits int64, got {value!r}: convert it with np.int64()",
            code="random-integer",
        )
    return integral


def _of_dtype(name: str, dtype: Any) -> Any:
    try:
        return IMPLEMENTATIONS[name, np.dtype(dtype).name]
    except (KeyError, TypeError):
        raise DtypeError(
            f"dtype of random.{name}() must be numpy.float32 or numpy.float64, got {dtype!r}", code="random-dtype"
        ) from None


def _block(seed: int, counter: int, stream: int) -> tuple[int, int, int, int]:
    """Ten rounds of Philox over four words of 32 bits, in Python's integers; devices have it in 32 bits."""
    a, b, c, d = counter & _WORD, counter >> 32 & _WORD, stream & _WORD, stream >> 32 & _WORD
    first, second = seed & _WORD, seed >> 32 & _WORD
    for _ in range(10):
        p = a * 0xD2511F53
        q = c * 0xCD9E8D57
        a, b, c, d = q >> 32 ^ b ^ first, q & _WORD, p >> 32 ^ d ^ second, p & _WORD
        first = first + 0x9E3779B9 & _WORD
        second = second + 0xBB67AE85 & _WORD
    return a, b, c, d


_WORD = 0xFFFFFFFF


# -- in the kernel language: Python's integers here are 64 bits wide on a device, and masks keep what both have --------


def _uniform_float32(seed: int, counter: int, stream: int) -> np.float32:
    return np.float32(philox(seed, counter, stream)[0] >> 8) * np.float32(2.0**-24)


def _bits_of_double(seed: int, counter: int, stream: int) -> int:
    words = philox(seed, counter, stream)
    return (int(words[0]) >> 5) << 26 | int(words[1]) >> 6


def _uniform_float64(seed: int, counter: int, stream: int) -> np.float64:
    return np.float64(_bits_of_double(seed, counter, stream)) * np.float64(2.0**-53)


def _randint(seed: int, counter: int, low: int, high: int, stream: int) -> int:
    """`low` and the upper half of the product of 64 random bits and the number of integers, by halves."""
    words = philox(seed, counter, stream)
    a, b = int(words[0]), int(words[1])
    if low >= high:
        return low
    n = high - low
    m, k = n & _WORD, n >> 32 & _WORD
    right, left = b * m, a * m
    middle = (right >> 32 & _WORD) + (left & _WORD) + (b * k & _WORD)
    return low + (a * k + (left >> 32 & _WORD) + (b * k >> 32 & _WORD) + (middle >> 32))


def _normal_float32(seed: int, counter: int, stream: int) -> np.float32:
    """The point of (a + 1/2) / 2**32: a quotient of polynomials, of another variable in the tails.

    Strong integers become float32 at once; Python's would pass float64, which not every device has.
    """
    twice = 2 * int(philox(seed, counter, stream)[0]) + 1
    q = np.float32(np.int64(twice - 2**32)) * np.float32(2.0**-33)
    if -0.425 <= q <= 0.425:
        r = np.float32(0.180625) - q * q
        above = ((59.109374720 * r + 159.29113202) * r + 50.434271938) * r + 3.3871327179
        below = ((67.187563600 * r + 78.757757664) * r + 17.895169469) * r + 1.0
        return q * above / below
    p = twice if twice < 2**32 else 2**33 - twice
    fraction, exponent = math.frexp(np.float32(np.int64(p)))
    x = np.float32(fraction)
    s = (x - 0.70710678) / (x + 0.70710678)
    t = s * s
    series = ((t / 7.0 + 0.2) * t + np.float32(1.0 / 3.0)) * t + 1.0
    size = np.float32(np.int32(67 - 2 * exponent)) * np.float32(0.34657359) - 2.0 * s * series
    r = np.float32(0.155) * size + 1.3
    for _ in range(3):
        r = 0.5 * (r + size / r)
    if r <= 5.0:
        r = r - 1.6
        above = ((0.17023821103 * r + 1.3067284816) * r + 2.7568153900) * r + 1.4234372777
        below = (0.12021132975 * r + 0.73700164250) * r + 1.0
    else:
        r = r - 5.0
        above = ((0.017337203997 * r + 0.42868294337) * r + 3.0812263860) * r + 6.6579051150
        below = (0.012258202635 * r + 0.24197894225) * r + 1.0
    return above / below if q > 0 else -above / below


def _normal_float64(seed: int, counter: int, stream: int) -> np.float64:
    """The point of (n + 1/2) / 2**53, n being 53 random bits, with longer polynomials."""
    twice = 2 * _bits_of_double(seed, counter, stream) + 1
    q = np.float64(twice - 2**53) * np.float64(2.0**-54)
    if -0.425 <= q <= 0.425:
        r = np.float64(0.180625) - q * q
        above = 2509.0809287301226727 * r + 33430.575583588128105
        above = ((above * r + 67265.770927008700853) * r + 45921.953931549871457) * r + 13731.693765509461125
        above = ((above * r + 1971.5909503065514427) * r + 133.14166789178437745) * r + 3.3871328727963666080
        below = 5226.4952788528545610 * r + 28729.085735721942674
        below = ((below * r + 39307.895800092710610) * r + 21213.794301586595867) * r + 5394.1960214247511077
        below = ((below * r + 687.18700749205790830) * r + 42.313330701600911252) * r + 1.0
        return q * above / below
    p = twice if twice < 2**53 else 2**54 - twice
    fraction, exponent = math.frexp(np.float64(p))
    x = np.float64(fraction)
    s = (x - 0.7071067811865476) / (x + 0.7071067811865476)
    t = s * s
    series = ((t / 21.0 + 1.0 / 19.0) * t + 1.0 / 17.0) * t + 1.0 / 15.0
    series = (((series * t + 1.0 / 13.0) * t + 1.0 / 11.0) * t + 1.0 / 9.0) * t + 1.0 / 7.0
    series = ((series * t + 0.2) * t + 1.0 / 3.0) * t + 1.0
    size = np.float64(109 - 2 * exponent) * 0.34657359027997264 - 2.0 * s * series
    r = np.float64(0.155) * size + 1.3
    for _ in range(4):
        r = 0.5 * (r + size / r)
    if r <= 5.0:
        r = r - 1.6
        above = 7.74545014278341407640e-4 * r + 2.27238449892691845833e-2
        above = ((above * r + 2.41780725177450611770e-1) * r + 1.27045825245236838258) * r + 3.64784832476320460504
        above = ((above * r + 5.76949722146069140550) * r + 4.63033784615654529590) * r + 1.42343711074968357734
        below = 1.05075007164441684324e-9 * r + 5.47593808499534494600e-4
        below = ((below * r + 1.51986665636164571966e-2) * r + 1.48103976427480074590e-1) * r + 0.689767334985100004550
        below = ((below * r + 1.67638483018380384940) * r + 2.05319162663775882187) * r + 1.0
    else:
        r = r - 5.0
        above = 2.01033439929228813265e-7 * r + 2.71155556874348757815e-5
        above = ((above * r + 1.24266094738807843860e-3) * r + 2.65321895265761230930e-2) * r + 0.296560571828504891230
        above = ((above * r + 1.78482653991729133580) * r + 5.46378491116411436990) * r + 6.65790464350110377720
        below = 2.04426310338993978564e-15 * r + 1.42151175831644588870e-7
        below = ((below * r + 1.84631831751005468180e-5) * r + 7.86869131145613259100e-4) * r + 0.0148753612908506148525
        below = ((below * r + 1.36929880922735805310e-1) * r + 5.99832206555887937690e-1) * r + 1.0
    return above / below if q > 0 else -above / below


IMPLEMENTATIONS: dict[tuple[str, str], FunctionType] = {
    ("uniform", "float32"): _uniform_float32,  # type: ignore[dict-item]  # functions all
    ("uniform", "float64"): _uniform_float64,  # type: ignore[dict-item]
    ("normal", "float32"): _normal_float32,  # type: ignore[dict-item]
    ("normal", "float64"): _normal_float64,  # type: ignore[dict-item]
    ("randint", ""): _randint,  # type: ignore[dict-item]
}
"""Functions that make a number of `philox`'s words, by the function's name and that of its dtype; in every world."""
