"""Words of programs that nobody here wrote: in loops, they are parts of kernels, and none warns."""

# ruff: noqa: NPY002  # Numba has these functions, and makes no `Generator`

import dpnp
import numba
import numpy as np
import pytest
from numba import njit, prange

import kapi_numba_offload
from kapi_numba_offload import OffloadFallbackWarning

RNG = np.random.default_rng(11)
WITH_NANS = np.where(RNG.random((40, 7)) < 0.3, np.nan, RNG.random((40, 7)) - 0.5)
WITH_NANS[3] = np.nan
ROWS = RNG.random((40, 7))


def of_no_nans(a, out):
    for i in prange(a.shape[0]):
        out[i, 0] = np.nansum(a[i]) + np.nanprod(a[i])
        out[i, 1] = np.nanmin(a[i]) + np.nanmax(a[i])
        out[i, 2] = np.nanmean(a[i])
        out[i, 3] = np.nanvar(a[i]) + np.nanstd(a[i])
        out[i, 4] = np.nanmedian(a[i])


def searches_of_rows(a, out):
    bins = a[0].copy()
    bins.sort()
    for i in prange(a.shape[0]):
        out[i] = np.searchsorted(bins, a[i]) * 100 + np.digitize(a[i], bins) + np.interp(a[i], bins, bins * 2)


def arrays_of_numbers(a, out):
    for i in prange(a.shape[0]):
        v = np.array([a[i, 0], -1.0, 2])
        m = np.array([[1, 2], [3, 4]])
        v[1] = v[1] * a[i, 1]
        out[i, :3] = v / v.sum()
        out[i, 3] = m[i % 2, 1] * m[1].sum()
        out[i, 4] = np.array([7.9, 1.0], dtype=np.int32)[0]


def unpacked_rows(a, out):
    for i in prange(a.shape[0]):
        x, y, z = a[i, :3] * 2
        out[i, 0], out[i, 1] = a[i, 3:5]
        a[i, 0], a[i, 1] = a[i, 1:3]
        out[i, 2] = x + y * z


def arrays_of_a_named_size(a, out):
    for i in prange(a.shape[0]):
        n = 4
        m = np.zeros((n, n + 1))
        for k in range(n):
            m[k, k] = a[i, k]
        out[i, 0] = m.sum() + m.size


@pytest.mark.parametrize(
    ("function", "given"),
    [
        (of_no_nans, WITH_NANS),
        (searches_of_rows, ROWS),
        (arrays_of_numbers, ROWS),
        (unpacked_rows, ROWS),
        (arrays_of_a_named_size, ROWS),
    ],
)
@pytest.mark.filterwarnings("ignore:Mean of empty slice", "ignore:All-NaN", "ignore:Degrees of freedom")
def test_words_in_kernels(as_in_python, function, given):
    as_in_python(function, [given.copy(), np.full((40, 7), -9.0)], rtol=1e-12)


def flat(a, bins):
    for x in a.flat:
        bins[int(x * 5)] += 1


def all_indices(a, bins):
    for i in np.ndindex(a.shape):
        a[i] = a[i] * 2 + bins[0]


@njit
def extent(row):
    low = high = row[0]
    for x in row:
        low, high = min(low, x), max(high, x)
    return low, high


def of_a_function(a, bins):
    for i in range(a.shape[0]):
        low, high = extent(a[i])
        a[i, 0] = np.float64(high - low)


@pytest.mark.usefixtures("as_on_a_gpu")
@pytest.mark.parametrize("function", [flat, all_indices, of_a_function])
def test_loops_over_elements_are_kernels(as_in_python, launches, function):
    as_in_python(function, [RNG.random((300, 4)), np.zeros(5, np.int64)])
    assert len(launches) == 1


def test_a_loop_of_little_work_is_the_hosts_without_a_warning(monkeypatch, is_gpu):
    """A GPU's arrays would have to be copied."""
    monkeypatch.delenv("KAPI_OFFLOAD_SMALL")
    compiled, a = numba.njit(of_a_function), dpnp.asarray(RNG.random((300, 4)))
    found = kapi_numba_offload.explain(compiled, a, dpnp.zeros(5))
    expected = ("kernel", False) if is_gpu else ("host", True)
    assert [(each.where, "little work" in each.reason) for each in found.parts] == [expected]


def test_a_plain_loop_that_is_no_kernel_says_which_array_is_why():
    @numba.njit
    def f(a, counts):
        for i in range(a.shape[0]):
            counts[i] = a[i] * 2

    with pytest.warns(OffloadFallbackWarning, match="it is a kernel where `counts` is of 64-bit numbers"):
        f(dpnp.ones(400), dpnp.zeros(400, dtype="int16"))


# ------------------------------------------------------------------------------------------------ random numbers


@njit
def waiting_time():
    return np.random.exponential(2.0)


@njit
def drawn(out):
    np.random.seed(5)
    for i in prange(out.shape[0]):
        out[i, 0] = np.random.random()
        out[i, 1] = np.random.normal(3.0, 2.0) + 0 * np.random.rand()
        out[i, 2] = waiting_time()
        out[i, 3] = np.random.randint(2, 5)
        z = np.random.uniform(-1.0, 1.0, 8)
        out[i, 4] = z.mean()
        for _ in range(3):
            if np.random.random() < 0.25:
                out[i, 5] += 1


def test_random_numbers_in_kernels(launches):
    """They have the distribution's mean and deviation, do not repeat, and follow the seed."""
    first, second = dpnp.zeros((4000, 6)), dpnp.zeros((4000, 6))
    drawn(first)
    drawn(second)
    x = first.asnumpy()
    np.testing.assert_array_equal(x, second.asnumpy())
    assert len(launches) == 2
    assert len(np.unique(x[:, [0, 1, 2, 4]])) == 16000
    deviation = np.array([1 / 12**0.5, 2.0, 2.0, (2 / 3) ** 0.5, (1 / 24) ** 0.5, (9 / 16) ** 0.5])
    error = (x.mean(0) - [0.5, 3.0, 2.0, 3.0, 0.0, 0.75]) / deviation * 4000**0.5
    assert np.abs(error).max() < 4
    np.testing.assert_allclose(x.std(0), deviation, rtol=0.1)
    assert set(x[:, 3]) == {2, 3, 4}
    assert np.abs(np.corrcoef(x.T) - np.eye(6)).max() < 0.08


def test_two_loops_and_two_axes_draw_different_numbers():
    @numba.njit
    def f(a, b):
        for i in prange(a.shape[0]):
            for j in prange(a.shape[1]):
                a[i, j] = np.random.random()
        for i in prange(b.shape[0]):
            b[i] = np.random.random()

    a, b = dpnp.zeros((50, 60)), dpnp.zeros(3000)
    f(a, b)
    assert len(np.unique(np.concatenate([a.asnumpy().ravel(), b.asnumpy()]))) == 6000


# ------------------------------------------------------------------------------------- functions of the host, whole


@njit
def sorted_by_merging(a):
    if a.size > 1:
        middle = a.size // 2
        x, y = sorted_by_merging(a[:middle].copy()), sorted_by_merging(a[middle:].copy())
        i = j = 0
        for k in range(a.size):
            if j == y.size or (i < x.size and x[i] <= y[j]):
                a[k], i = x[i], i + 1
            else:
                a[k], j = y[j], j + 1
    return a


def test_recursion_runs_on_the_host():
    a = dpnp.asarray(RNG.random(50))
    with pytest.warns(OffloadFallbackWarning, match=r"\[recursion\]") as caught:
        found = sorted_by_merging(a)
    assert len(caught) == 1
    np.testing.assert_array_equal(found.asnumpy(), np.sort(a.asnumpy()))


def test_types_of_variables_make_a_function_the_hosts():
    """With what Numba gives."""

    @numba.njit(locals={"total": numba.float32})
    def f(a):
        total = 0.0
        for i in range(a.shape[0]):
            total += a[i]
        return total

    a = dpnp.asarray(RNG.random(50))
    with pytest.warns(OffloadFallbackWarning, match=r"\[typed-locals\]"):
        assert f(a) == f(a.asnumpy())


def test_the_default_kind_of_a_sort_is_left_out():
    @numba.njit
    def f(a):
        return a.argsort(kind="quicksort"), np.sort(a)

    a = RNG.random(9)
    np.testing.assert_array_equal(f(dpnp.asarray(a))[0].asnumpy(), np.argsort(a))


# ------------------------------------------------------------------------------------------- what must not be a kernel


def filled_by_all(a, out):
    common = np.zeros(a.shape[1])
    for i in prange(a.shape[0]):
        common.fill(0.0)
        for j in range(a.shape[1]):
            common[j] += a[i, j] * 2
        out[i, 0] = common.sum()


def stored_by_all(a, out):
    common = np.zeros(a.shape[1])
    for i in prange(a.shape[0]):
        for j in range(a.shape[1]):
            common[j] = a[i, j] * 2
        out[i, 0] = common.max()


@pytest.mark.parametrize("function", [filled_by_all, stored_by_all])
def test_an_array_that_all_iterations_store_to_and_read_is_the_hosts(as_in_python, function):
    """Without `parallel=True`, Numba has one iteration after the other."""
    with pytest.warns(OffloadFallbackWarning, match="all iterations store to the same elements of `?common"):
        as_in_python(function, [RNG.random((400, 7)), np.zeros((400, 7))])


@pytest.mark.usefixtures("as_on_a_gpu")
def test_a_part_of_a_shape_has_its_own_length(as_in_python):
    """So that the array made of it has two axes, and `flat` numbers."""

    def f(a, out):
        made = np.zeros(a.shape[:2])
        made[:] = a[:, :, 0]
        for x in made.flat:
            if x > 0.5:
                out[0] += x

    as_in_python(f, [RNG.random((300, 20, 3)), np.zeros(1)], rtol=1e-12)
