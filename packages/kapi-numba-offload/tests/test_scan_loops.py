"""Plain loops whose recurrence is a scan: on GPUs they are one; on processors, and for other values, the host's."""

import warnings

import dpnp
import numba
import numpy as np
import pytest

from kapi_numba_offload import OffloadFallbackWarning, explain
from kapi_numba_offload.loops import lifted_loop

RANDOM = np.random.default_rng(31)


@pytest.fixture(autouse=True)
def short_scans(monkeypatch, as_on_a_gpu):
    monkeypatch.setattr(lifted_loop, "_SHORTEST_SCAN", 2)


def running_sum(a, b, s):
    for i in range(a.shape[0]):
        s += a[i]
        b[i] = s
    return s


def of_an_expression(a, b, s):
    for i in range(2, b.shape[0] - 1):
        s = a[i - 1] * 3 - a.shape[0] + s
        b[i + 1] = s
    return 2 * s


def product(a, b, s):
    for i in range(a.shape[0]):
        s *= a[i] - a[i] + 1
        b[i] = s


def from_the_element_before(a, b, s):
    for i in range(1, a.shape[0]):
        b[i] = b[i - 1] + a[i] * s


def ahead(a, b, s):
    for i in range(a.shape[0] - 1):
        b[i + 1] = a[i] + b[i]


def in_place(a, b, s):
    for i in range(1, b.shape[0]):
        b[i] += b[i - 1]


SCANS = [running_sum, of_an_expression, product, from_the_element_before, ahead, in_place]


@pytest.mark.parametrize("dtype", ["int64", "float64"])
@pytest.mark.parametrize("function", SCANS)
def test_recurrences_are_scans(function, dtype, launches):
    f = numba.njit(function)
    for count in (5, 700, 5000):
        a, b = (RANDOM.integers(-5, 9, count).astype(dtype) for _ in range(2))
        s = 2 if dtype == "int64" else 2.5
        expected, found = b.copy(), dpnp.asarray(b)
        launches.clear()
        result = f(dpnp.asarray(a), found, s)
        assert result == function(a, expected, s)
        assert result is None or type(result) is type(s)
        np.testing.assert_array_equal(found.asnumpy(), expected)
        assert any(kernel.__name__.startswith("scan") for kernel, *_ in launches)


def exclusive(a, b, s):
    for i in range(a.shape[0]):
        b[i] = s
        s += a[i]


def of_itself(a, b, s):
    for i in range(a.shape[0]):
        s += a[i] * s
        b[i] = s


def with_halves(a, b, s):
    for i in range(a.shape[0]):
        s += a[i] * 0.5
        b[i] = s


def two_before(a, b, s):
    for i in range(2, a.shape[0]):
        b[i] = b[i - 2] + a[i]


def from_the_end(a, b, s):
    for i in range(a.shape[0]):
        b[i] = b[i - 1] + a[i]


def quotient(a, b, s):
    for i in range(a.shape[0]):
        s /= 2
        b[i] = s + a[i]


@pytest.mark.parametrize("function", [exclusive, of_itself, with_halves, two_before, from_the_end, quotient])
def test_other_recurrences_are_the_hosts(function, launches):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OffloadFallbackWarning)
        a, b = (RANDOM.integers(-2, 3, 40) for _ in range(2))
        expected, found = b.copy(), dpnp.asarray(b)
        numba.njit(function)(dpnp.asarray(a), found, 2)
        numba.njit(function)(a, expected, 2)
        np.testing.assert_array_equal(found.asnumpy(), expected)
    assert not launches


@pytest.mark.parametrize("dtypes", [("float32", "float64"), ("float64", "float32"), ("int64", "float64")])
def test_other_types_are_the_hosts(dtypes, launches):
    a, b = (RANDOM.integers(-2, 3, 40).astype(dtype) for dtype in dtypes)
    expected, found = b.copy(), dpnp.asarray(b)
    with pytest.warns(OffloadFallbackWarning, match="sequential-loop"):
        numba.njit(running_sum)(dpnp.asarray(a), found, 0.5)
    running_sum(a, expected, 0.5)
    np.testing.assert_array_equal(found.asnumpy(), expected)
    assert not launches


def test_arrays_that_share_memory_are_the_hosts(launches):
    values = RANDOM.integers(-2, 3, 40).astype(np.float64)
    expected, found = values.copy(), dpnp.asarray(values)
    with pytest.warns(OffloadFallbackWarning, match="sequential-loop"):
        numba.njit(running_sum)(found[:-1], found[1:], 0.5)
    running_sum(expected[:-1], expected[1:], 0.5)
    np.testing.assert_array_equal(found.asnumpy(), expected)
    assert not launches


def test_explain_says_where_it_ran():
    a = dpnp.arange(300.0)
    found = explain(numba.njit(running_sum), a, dpnp.zeros(300), 0.0)
    assert [(each.where, each.runs) for each in found.parts] == [("kernel", 1)]
    assert found.result == 300 * 299 / 2
