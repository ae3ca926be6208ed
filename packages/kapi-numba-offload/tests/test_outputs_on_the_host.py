"""NumPy's functions with `out` and `where` that dpnp lacks: the host has them, and the array is the one given."""

import dpnp
import numba
import numpy as np
import pytest
from numba import prange

from kapi_numba_offload import OffloadFallbackWarning

VALUES = np.random.default_rng(3).random(6) * 8 - 4


def where_a_condition_holds(v, o, n):
    np.sqrt(v, out=o, where=v > 0)
    return o


def in_place(v, o, n):
    return np.negative(v, out=v, where=v < 0)


def of_a_part(v, o, n):
    r = np.add(v[1:], v[:-1], out=o[1:], where=v[1:] > 0)
    r += 1


def of_another_type(v, o, n):
    np.multiply(n, n, out=(o,))


def in_a_loop(v, o, n):
    for i in prange(2):
        np.add(v[i : i + 2], 1, out=o[2 * i : 2 * i + 2])


def of_products(v, o, n):
    for i in prange(2):
        np.dot(v[i : i + 3], v[3:], out=o[i, ...])


def of_products_with_results(v, o, n):
    for i in prange(2):
        s = np.dot(v[i : i + 3], v[3:], out=o[i, ...])
        o[i + 2] = s + 1


@pytest.mark.parametrize("function", [of_products, of_products_with_results])
@pytest.mark.parametrize("is_numpy", [False, True], ids=["device", "context"])
def test_products_in_a_loop_are_stored_to_what_is_given(function, is_numpy, in_context):
    own, expected = ([VALUES.copy(), np.full(6, 9.0), np.arange(6, dtype=np.int32)] for _ in "ab")
    if is_numpy:
        in_context(numba.njit(function), *own, device="cpu")
    else:
        own = [dpnp.asarray(each) for each in own]
        with pytest.warns(OffloadFallbackWarning):
            numba.njit(function)(*own)
        own = [dpnp.asnumpy(each) for each in own]
    function(*expected)
    np.testing.assert_allclose(own[1], expected[1])


@pytest.mark.filterwarnings("error")
def test_a_part_that_is_given_in_a_loop_is_stored_to_by_a_kernel(as_in_python):
    as_in_python(in_a_loop, [VALUES.copy(), np.full(6, 9.0), np.arange(6, dtype=np.int32)])


@pytest.mark.parametrize(
    "function",
    [
        where_a_condition_holds,
        in_place,
        of_a_part,
        pytest.param(of_another_type, marks=pytest.mark.sycl),
    ],  # CuPy has it
)
def test_the_array_that_is_given_has_the_result(function):
    """The old elements stay where `where` is false."""
    on_host = [VALUES.copy(), np.full(6, 9.0), np.arange(6, dtype=np.int32)]
    on_device = [dpnp.asarray(each) for each in on_host]
    with pytest.warns(OffloadFallbackWarning):
        result = numba.njit(function)(*on_device)
    expected = function(*on_host)
    for found, right in zip(on_device, on_host, strict=True):
        np.testing.assert_allclose(found.asnumpy(), right)
    if expected is not None:
        assert any(result is each for each in on_device)


@pytest.mark.sycl
def test_what_numpy_refuses_is_refused():
    @numba.njit
    def f(v, n):
        np.multiply(v, v, out=n)

    with pytest.raises(ValueError, match="int32"), pytest.warns(OffloadFallbackWarning):
        f(dpnp.asarray(VALUES), dpnp.arange(6, dtype=np.int32))
