"""Functions whose expressions have the same dtypes by NumPy's rules and by Numba's: NumPy says which."""

import math

import numba
import numpy as np
import pytest
from numba import prange

from kapi_numba_offload.frontend.context_arguments import on_device_type
from kapi_numba_offload.frontend.offloaded_function import OffloadedFunction
from kapi_numba_offload.libraries.installed import library_named
from kapi_numba_offload.run.options import OffloadOptions

NARROW = ("bool", "uint8", "int16", "int32", "float32")


def totals(a, b):
    return a.sum(), a.max(), b.min(), a.argmax()


def moments(a, b):
    return a.mean(), b.var()


def summed(a, b):
    return a + b, a * b, a < b


def scaled(a, b):
    return a * 2.0 + b


def shifted(a, b):
    return a + 3


def negated(a, b):
    return -a


def roots(a, b):
    return np.sqrt(a) + np.exp(b)


def quotients(a, b):
    return a / (b + b)


def remainders(a, b):
    return a // b, a % b


def chosen(a, b):
    return np.where(a > b, a, b), np.maximum(a, b)


def compared(a, b):
    return a > 2, b <= 0.1


def nested(a, b):
    return (a + b) // b


def compared_sums(a, b):
    return a + b > a, np.where(a - b < b, a, b)


def named(a, b):
    c = a * b
    return c // b


def extremes_of_sums(a, b):
    return np.maximum(a + b, b), (a * b).max(), np.sum(a * b)


def changed_copy(a, b):
    c = a.copy()
    c += b
    return c % b


def stored(a, b):
    c = np.empty_like(a)
    c[:] = a - b
    return c // b


def masked(a, b):
    return ~a & b, (a & b) // b, (a ^ b) < b


def wider(a, b):
    c = np.empty(a.shape[0], np.float64)
    c[:] = a + b
    return c


def counted(a, b):
    n = 0
    total = 0
    for i in prange(a.shape[0]):
        n += a[i] > b[i]
        total += a[i]
    return n, total


def product_loop(a, b):
    out = np.empty(a.shape[0], np.float64)
    for i in prange(a.shape[0]):
        out[i] = a[i] * b[i] + a[i]
    return out


def same_loop(a, b):
    out = np.zeros_like(a)
    for i in prange(a.shape[0]):
        out[i] = a[i] * b[i]
    return out


def halved_loop(a, b):
    out = np.empty(a.shape[0])
    for i in prange(a.shape[0]):
        out[i] = a[i] * 0.3
    return out


def mathematics(a, b):
    out = np.empty(a.shape[0])
    for i in prange(a.shape[0]):
        out[i] = np.sqrt(a[i]) + math.sqrt(a.shape[0])
    return out


def conversions(a, b):
    return a.astype(np.float64) * 0.1, np.float32(2) * a, b.astype(np.int64) * a


def updated(a, b):
    c = a.copy()
    c += b
    c[1:] = b[1:]
    return c


def powers(a, b):
    return a**2, b**0.5


def differences(a, b):
    return a.max() - a.min(), a.sum() - 1


def joined(a, b):
    s = 0
    for i in range(a.shape[0]):
        s = max(s, a[i])
    return s


FUNCTIONS = (
    totals, moments, summed, scaled, shifted, negated, roots, quotients, remainders, chosen, compared, counted,
    product_loop, same_loop, halved_loop, mathematics, conversions, updated, powers, differences, joined,
)  # fmt: skip
OVERFLOWING = (
    summed, negated, chosen, updated, nested, compared_sums, named, extremes_of_sums, changed_copy, stored, wider,
    masked,
)  # fmt: skip


def is_alike(function, *args, parallel=False):
    """Whether the function's small calls may be Numba's."""
    given = tuple(on_device_type(numba.typeof(each), "numpy") for each in args)
    options = OffloadOptions(parallel=parallel)
    return OffloadedFunction(function, given, options=options, library=library_named("numpy")).work is not None


def operands(dtype):
    first, second = np.array([1, 3, 2, 7, 5, 4]), np.array([2, 1, 2, 3, 5, 1])
    return first.astype(dtype), second.astype(dtype)


def large_operands(dtype):
    """Operands whose sums and products overflow integers of few bits."""
    if np.dtype(dtype).kind not in "iu":
        return operands(dtype)
    most = np.iinfo(dtype).max
    return np.array([most, most - 3, 5, most // 2], dtype), np.array([most, 3, most // 3, 9], dtype)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", NARROW)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_numba_computes_in_dtypes_of_numpy_where_they_are_alike(function, dtype):
    """The results of Numba have the dtypes and values that the same source has as plain NumPy."""
    a, b = operands(dtype)
    if is_alike(function, a, b):
        assert_alike(numba.njit(function)(a, b), function(a, b))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("parallel", [False, True])
@pytest.mark.parametrize("dtype", ["bool", "uint8", "int16"])
@pytest.mark.parametrize("function", OVERFLOWING)
def test_integers_that_overflow_are_those_of_numpy_where_dtypes_are_alike(function, dtype, parallel):
    """Numba has 64 bits within an expression, and in parallel code where the expression has a name."""
    a, b = large_operands(dtype)
    if is_alike(function, a, b, parallel=parallel):
        assert_alike(numba.njit(parallel=parallel)(function)(a, b), function(a, b))


def assert_alike(found, expected):
    pairs = zip(found, expected, strict=True) if isinstance(found, tuple) else [(found, expected)]
    for ours, theirs in pairs:
        if isinstance(ours, np.ndarray):
            assert ours.dtype == theirs.dtype
        is_short = np.result_type(theirs) == np.float32
        np.testing.assert_allclose(ours, theirs, rtol=1e-6 if is_short else 1e-12)


@pytest.mark.parametrize(
    ("function", "alike", "unlike"),
    [
        (totals, {"uint8", "int32", "bool", "float32"}, set()),
        (summed, {"uint8", "int16", "float32"}, set()),
        (scaled, {"uint8", "int16"}, {"float32"}),
        (shifted, {"float32"}, {"uint8", "int32"}),
        (counted, {"uint8", "int32"}, {"float32"}),
        (product_loop, {"int8", "float32"}, set()),
        (halved_loop, {"int32", "uint8"}, {"float32"}),
        (compared, set(), {"float32"}),
        (roots, {"float32"}, {"int8"}),
        (updated, {"uint8", "float32"}, set()),
        (nested, {"float32"}, {"uint8", "int32"}),
        (masked, {"int32"}, {"uint8"}),
        (named, {"uint8", "float32"}, set()),
    ],
)
def test_dtypes_are_alike_without_numbers_of_python(function, alike, unlike):
    """A Python number takes the dtype of NumPy's operand, and has 64 bits for Numba."""
    assert {each for each in alike | unlike if is_alike(function, *operands(each))} == alike
