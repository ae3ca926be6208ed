"""Elements of a device array that Python iterates over: numbers of the time at which they are reached."""

import math

import dpnp
import numba
import numpy as np
import pytest


def listed(a):
    values = [x for x in a]  # noqa: C416
    others = [x * k for k, x in enumerate(a) if x > 1]
    a += 1
    return values, others


def converted(a):
    values, others = list(a), tuple(a)
    a *= 2
    return values, others[1]


def unpacked(a):
    x, y, z = a
    p, q = a[1:] * 2
    a += 1
    return x + z, y, p * q


def reduced(a):
    most, least, total, both = max(a), min(a), sum(a), max(a[0], a[1])
    a += 5
    return most, least, total, both


def starred(a):
    first = inner(*a)
    a += 1
    return first, inner(*a)


@numba.njit
def inner(x, y, z):
    return x - y * z


def by_pairs(a):
    pairs = [x * y for x, y in zip(a, a[::-1])]  # noqa: B905
    words = {k: x for k, x in enumerate(a)}  # noqa: C416
    a += 1
    return pairs, words[2]


def backwards(a):
    values = list(reversed(a))
    steps = iter(a)
    first = next(steps)
    a += 1
    return values, first, next(steps), sorted(a), any(a), all(a)


def rows(m):
    first, second = m
    views = [row for row in m]  # noqa: C416
    m += 1
    return first, second * 2, views[1]


# A comprehension over elements runs on the host, and says so.
@pytest.mark.filterwarnings("ignore::kapi_numba_offload.OffloadFallbackWarning")
@pytest.mark.parametrize("is_numpy", [False, True], ids=["device", "context"])
@pytest.mark.parametrize(
    ("function", "shape"),
    [(each, (3,)) for each in (listed, converted, unpacked, reduced, starred, by_pairs, backwards)] + [(rows, (2, 3))],
)
def test_elements_are_what_python_gives(function, shape, is_numpy, in_context):
    """A store after an element was reached does not change it; rows are views, and change."""
    values = (np.arange(np.prod(shape)) + 1.0).reshape(shape)
    if is_numpy:
        found = in_context(numba.njit(function), values.copy(), device="cpu")
    else:
        found = numba.njit(function)(dpnp.asarray(values))
    expected = function(values.copy())
    for own, other in zip(found, expected, strict=True):
        own = dpnp.asnumpy(own) if isinstance(own, dpnp.ndarray) else own
        np.testing.assert_array_equal(own, other)
        assert isinstance(own, (np.ndarray, list)) or type(own) is type(np.asarray(other).item())


@numba.njit
def sums_of_elements(a):
    total, product = 0, a[0]
    for x in list(a):
        total += x
        product *= x
    return total, product


@pytest.mark.filterwarnings("ignore::kapi_numba_offload.OffloadFallbackWarning")
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16"])
@pytest.mark.parametrize("is_numpy", [False, True], ids=["device", "context"])
def test_sums_of_integers_in_lists_are_numbers(dtype, is_numpy, in_context):
    """Arithmetic of 64 bits, as of other elements: `t += x` wraps at no narrower type."""
    most = np.iinfo(dtype).max
    values = np.array([3, most - 1, most - 2], dtype)
    found = in_context(sums_of_elements, values, device="cpu") if is_numpy else sums_of_elements(dpnp.asarray(values))
    exact = [int(each) for each in values]
    assert found == (sum(exact), exact[0] * math.prod(exact))
