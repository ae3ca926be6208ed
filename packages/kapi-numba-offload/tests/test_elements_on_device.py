"""Loops that touch elements and full arrays stay on the device; others run in the memory of their arrays."""

import warnings
from contextlib import nullcontext

import dpnp
import numba
import numpy as np
import pytest

from kapi_numba_offload import OffloadFallbackWarning, offload_reports
from kapi_numba_offload.libraries.arrays import library
from kapi_numba_offload.libraries.installed import default_library

LIBRARY = type(default_library())

RANDOM = np.random.default_rng(7)


def shortest_paths(path):
    for k in range(path.shape[0]):
        for i in range(path.shape[0]):
            path[i, :] = np.minimum(path[i, :], path[i, k] + path[k, :])


def fields(steps, ex, ey, hz, source):
    for t in range(steps):
        ey[0, :] = source[t]
        ey[1:, :] -= 0.5 * (hz[1:, :] - hz[:-1, :])
        ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
        hz[:-1, :-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])


def orthonormal(a):
    q, r = np.zeros_like(a), np.zeros((a.shape[1], a.shape[1]), a.dtype)
    for k in range(a.shape[1]):
        r[k, k] = np.sqrt(np.dot(a[:, k], a[:, k]))
        q[:, k] = a[:, k] / r[k, k]
        for j in range(k + 1, a.shape[1]):
            r[k, j] = np.dot(q[:, k], a[:, j])
            a[:, j] -= q[:, k] * r[k, j]
    return q, r


def scaled_by_its_first(a):
    for i in range(3):
        a[:] = a * a[0] + i
        a[0] = 1.5


def element_of_what_is_stored_next(a, b):
    for i in range(2):
        c = b * a[1]
        a[:] = c + i
        b += a[0]


CASES = {
    shortest_paths: lambda: [RANDOM.random((9, 9))],
    fields: lambda: [4, RANDOM.random((8, 9)), RANDOM.random((8, 9)), RANDOM.random((8, 9)), RANDOM.random(4)],
    orthonormal: lambda: [RANDOM.random((7, 5))],
    scaled_by_its_first: lambda: [RANDOM.random(6)],
    element_of_what_is_stored_next: lambda: [RANDOM.random(6), RANDOM.random(6)],
}


@pytest.mark.parametrize("function", CASES, ids=lambda each: each.__name__)
def test_loops_with_full_arrays_in_each_iteration_stay_on_the_device(function, launches):
    """Without a warning, and with NumPy's values in the results and in the arguments."""
    given = CASES[function]()
    on_device = [dpnp.asarray(each) if isinstance(each, np.ndarray) else each for each in given]
    with warnings.catch_warnings():
        warnings.simplefilter("error", OffloadFallbackWarning)
        found = numba.njit(function)(*on_device)
    expected = function(*given)
    assert launches
    for one, other in zip(found or (), expected or (), strict=True):
        np.testing.assert_allclose(one.asnumpy(), other)
    for one, other in zip(on_device, given, strict=True):
        if isinstance(other, np.ndarray):
            np.testing.assert_allclose(one.asnumpy(), other)


def running_sum(a, b):
    total = 0.0
    for i in range(1, a.shape[0]):
        a[i] += a[i - 1]
        total += b[i, 0]
    return total


@pytest.mark.sycl
@pytest.mark.parametrize("kind", ["device", "shared", "host"])
def test_a_loop_over_elements_runs_in_memory_that_the_host_reaches(kind):
    """No byte is copied; the queue's earlier work is waited for; views of the same memory see each other."""
    a = dpnp.arange(1.0, 2001.0, usm_type=kind)
    a += 1  # on the queue when the loop begins
    b = dpnp.reshape(dpnp.arange(4000.0, usm_type=kind), (2000, 2))
    assert library(a).is_reachable(a)
    f = numba.njit(running_sum)
    with pytest.warns(OffloadFallbackWarning, match="in the memory of its arrays"):
        total = f(a, b)
    assert (total, float(a[-1])) == (sum(range(2, 4000, 2)), sum(range(2, 2002)))
    (part,) = offload_reports(f)[0].parts
    assert (part.outcome, part.moved) == ("host", 0)


def test_memory_that_the_host_does_not_reach_is_copied_once(monkeypatch):
    """As on a device of its own: there and back, whatever the number of iterations."""
    monkeypatch.setattr(LIBRARY, "is_reachable", lambda *_: False)
    a, b = dpnp.ones(50), dpnp.ones((50, 2))
    f = numba.njit(running_sum)
    with pytest.warns(OffloadFallbackWarning):
        assert f(a, b) == 49
    assert float(a[-1]) == 50
    (part,) = offload_reports(f)[0].parts
    assert part.moved >= a.nbytes * 2 + b.nbytes


def over_flat(a, b, m):
    total = 0.0
    for x in m.flat:
        total += x
    return total


def over_pairs(a, b, m):
    total = 0.0
    for x, y in zip(a, b):  # noqa: B905  # Numba has no `strict`
        total += x * y
    return total


def over_numbered(a, b, m):
    total = 0.0
    for i, x in enumerate(a):
        total += i * x
    return total


def over_indices(a, b, m):
    for at in np.ndindex(m.shape):
        m[at] += 1
    return 0.0


def over_numbered_elements(a, b, m):
    total = 0.0
    for (i, j), x in np.ndenumerate(m):
        total += (i + 2 * j) * x
    return total


@pytest.mark.parametrize(
    "function", [over_flat, over_pairs, over_numbered, over_indices, over_numbered_elements], ids=lambda f: f.__name__
)
def test_loops_in_other_spellings_are_compiled_and_reported(function):
    """Python would copy each element on its own."""
    values = [RANDOM.random(5), RANDOM.random(5), RANDOM.random((3, 4))]
    given = [dpnp.asarray(each) for each in values]
    f = numba.njit(function)
    with pytest.warns(OffloadFallbackWarning, match=r"\[sequential-loop\]"):
        found = f(*given)
    np.testing.assert_allclose(found, function(*values))
    np.testing.assert_allclose(given[2].asnumpy(), values[2])
    (part,) = offload_reports(f)[0].parts
    assert part.outcome == "host"


def test_a_loop_whose_slices_elements_bound_is_compiled_for_the_host():
    """Each iteration on the device would wait for its bounds."""

    def row_sums(starts, values, sums):
        for i in range(sums.shape[0]):
            part = values[starts[i] : starts[i + 1]]
            sums[i] = np.sum(part * 2)

    starts, values = np.asarray([0, 2, 5, 6]), RANDOM.random(6)
    sums = dpnp.zeros(3)
    with pytest.warns(OffloadFallbackWarning, match="sequential-loop"):
        numba.njit(row_sums)(dpnp.asarray(starts), dpnp.asarray(values), sums)
    expected = np.zeros(3)
    row_sums(starts, values, expected)
    np.testing.assert_allclose(sums.asnumpy(), expected)


@numba.njit
def bin_of(x, edges):
    count = edges.shape[0] - 1
    if x == edges[-1]:
        return count - 1
    return int(count * (x - edges[0]) / (edges[-1] - edges[0]))


@numba.njit
def edges_of(a, count):
    return np.linspace(a.min(), a.max(), count + 1)


def test_a_loop_whose_helper_reads_elements_runs_in_the_memory_of_its_arrays(launches, is_gpu):
    """The helper's index is a number of the host's, for which each iteration would wait; on a GPU all is a kernel."""

    @numba.njit
    def histogram(a, count, weights):
        found = np.zeros((count,), dtype=a.dtype)
        edges = edges_of(a, count)
        for i in range(a.shape[0]):
            at = bin_of(a[i], edges)
            found[at] += weights[i]
        return found

    a = RANDOM.random(500)
    with nullcontext() if is_gpu else pytest.warns(OffloadFallbackWarning, match="sequential-loop"):
        found = histogram(dpnp.asarray(a), 7, weights=dpnp.asarray(a))
    assert any(kernel.__name__.startswith("histogram_line_") for kernel, *_ in launches) == is_gpu
    np.testing.assert_allclose(found.asnumpy(), np.histogram(a, 7, weights=a)[0])


def through_a_variable(m):
    elements = m.flat
    total = 0.0
    for i in range(m.size):
        elements[i] = elements[i] * 2
        total += elements[i]
    return total


def of_another_matrix(m):
    elements = m.flat
    m = m * 3
    total = 0.0
    for i in range(m.size):
        total += elements[i]
    return total, m


@pytest.mark.parametrize("turned", [False, True])
def test_a_variable_for_flat_is_indexed_on_the_host(turned):
    values = np.arange(12.0).reshape(3, 4)
    given = dpnp.asarray(values)
    values, given = (values.T, given.T) if turned else (values, given)
    with pytest.warns(OffloadFallbackWarning, match="sequential-loop"):
        found = numba.njit(through_a_variable)(given)
    assert found == through_a_variable(values)
    assert given.asnumpy().tolist() == values.tolist()


def test_a_variable_for_flat_outlives_the_name_of_its_array():
    values = np.arange(12.0).reshape(3, 4)
    total, tripled = numba.njit(of_another_matrix)(dpnp.asarray(values))
    assert total == values.sum()
    assert tripled.asnumpy().tolist() == (values * 3).tolist()


def test_the_length_of_flat_is_the_number_of_elements():
    function = numba.njit(lambda a: len(a.flat))
    assert [function(dpnp.ones(shape)) for shape in ((2, 3), (0, 3), ())] == [6, 0, 1]
