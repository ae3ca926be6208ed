"""`check_races`: the simulator checks the iterations of parallel loops."""

import warnings

import dpnp
import numba
import numpy as np
import pytest
from numba import prange

from kapi_numba_offload import OffloadFallbackWarning, check_races
from kapi_sim import DataRaceError, OutOfBoundsError


def shifted(a, b):
    for i in prange(1, a.shape[0]):
        a[i, 0] = a[i - 1, 0] * 2


def rows_of_others(a, b):
    for i in prange(a.shape[0] - 1):
        a[i] = a[i + 1] + b[i]


def one_element(a, b):
    s = 0.0
    for i in prange(a.shape[0]):
        b[0, 0] = i
        s += a[i, 0]
    return s


def nested(a, b):
    for i in prange(a.shape[0]):
        for j in prange(a.shape[1]):
            b[i, 0] = a[i, j]


def two_names(a, b):
    c = b[:, :]
    for i in prange(3):
        c[i, 0] = b[0, 0] + i


def later_iterations(a, b):
    for t in range(20):
        for i in prange(a.shape[0]):
            b[i if t < 19 else 0, 0] = i


RACES = {shifted: 17, rows_of_others: 22, one_element: 28, nested: 36, two_names: 42, later_iterations: 48}


@pytest.mark.parametrize("function", RACES, ids=lambda each: each.__name__)
def test_races_are_reported_with_the_author_s_line(function):
    a, b = dpnp.arange(20.0).reshape(4, 5), dpnp.zeros((4, 5))
    with pytest.raises(DataRaceError) as raised:
        check_races(numba.njit(parallel=True)(function), a, b)
    assert raised.value.code == "data-race"
    assert f"test_race_checks.py:{RACES[function]}" in str(raised.value)


def own_elements(a, b):
    s, m = 0.0, 1
    for i in prange(a.shape[0]):
        for j in range(a.shape[1]):
            b[i, j] = a[i, j] * 2
        b[i, -1] += np.sum(a[i])
        s += a[i].max()
    for i in prange(1, a.shape[0], 2):
        for j in prange(a.shape[1]):
            b[i, j] -= 1
            m *= 1 + (i + j) % 2
    return s, m


def bins(a, b):
    for i in prange(a.shape[0]):
        b[0, int(a[i, 0]) % 3] += 1.0


def none(a, b):
    for i in prange(0):
        b[i, 0] = 1.0


@pytest.mark.parametrize("function", [own_elements, bins, none], ids=lambda each: each.__name__)
def test_what_has_no_race_gives_its_result(function):
    a, b = np.arange(20.0).reshape(4, 5), np.zeros((4, 5))
    given = dpnp.array(a), dpnp.array(b)
    assert check_races(numba.njit(parallel=True)(function), *given) == function(a, b)
    np.testing.assert_array_equal(dpnp.asnumpy(given[1]), b)


def test_indices_out_of_bounds_are_found():
    @numba.njit(parallel=True)
    def beyond(a):
        for i in prange(a.size + 1):
            a[i] = 0.0

    with pytest.raises(OutOfBoundsError):
        check_races(beyond, dpnp.ones(3))


def test_calls_outside_of_a_check_are_not_simulated():
    a = dpnp.arange(20.0).reshape(4, 5)
    function = numba.njit(parallel=True)(one_element)
    with pytest.raises(DataRaceError):
        check_races(function, a, a.copy())
    assert function(a, a.copy()) == 30.0


def test_loops_on_the_host_are_named_and_not_looked_at():
    @numba.njit(parallel=True)
    def with_texts(a):
        for i in prange(a.size):
            a[0] = len(str(i))

    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        check_races(with_texts, dpnp.ones(3))
    assert any(issubclass(each.category, OffloadFallbackWarning) for each in seen)


def test_integers_have_the_bits_of_kernels():
    """An index that is a sum of bytes does not wrap, and neither does an element that is 300 more."""

    @numba.njit
    def shifted(a, out):
        for i in prange(a.shape[0]):
            k = 0
            for j in range(i):
                k += a[j]
            out[k] = a[i] + 300

    a = np.full(6, 200, "uint8")
    out = dpnp.zeros(1001, dtype="int64")
    check_races(shifted, dpnp.asarray(a), out)
    assert out.asnumpy()[::200].tolist() == [500] * 6
