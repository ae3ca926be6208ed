"""Partial results that a work-group combines, as on devices that are no processors."""

import dpnp
import numba
import numpy as np
import pytest

RANDOM = np.random.default_rng(11)


pytestmark = pytest.mark.usefixtures("as_on_a_gpu")


COUNTS = 1, 255, 256, 257, 8192, 8193, 100_003
"""Elements of an array: those of one group and of several, the last of which is full or not."""


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "complex128"])
def test_reductions_of_expressions(dtype, launches):
    @numba.njit
    def f(x, y):
        return np.sum(x * y), np.mean(x - y)

    for count in COUNTS:
        x, y = (RANDOM.integers(-9, 9, count).astype(dtype) for _ in range(2))
        launches.clear()
        total, mean = f(dpnp.asarray(x), dpnp.asarray(y))
        np.testing.assert_allclose([total, mean], [np.sum(x * y), np.mean(x - y)], rtol=1e-6, err_msg=str(count))
        names = ["f_by_groups", "f_combined"] if count > 8192 else ["f_by_groups"]
        assert [kernel.__name__ for kernel, *_ in launches] == 2 * names, count


def test_other_reductions():
    @numba.njit
    def f(x):
        return np.max(x * 2), np.min(x + 1), np.any(x * 1 > 3), np.all(x * 1 < 9)

    for count in COUNTS:
        x = RANDOM.standard_normal(count)
        assert f(dpnp.asarray(x)) == (np.max(x * 2), np.min(x + 1), np.any(x > 3), np.all(x < 9)), count


def test_reductions_of_parts():
    @numba.njit
    def f(x, y):
        return np.max(x[:, 1]), np.sum(x[1:, ::2] * y), np.min(x[::-1].T), np.mean(x[:, 1:] - x[:, :-1])

    for rows in (1, 3, 4099, 20_001):
        x, y = RANDOM.standard_normal((rows, 4)), RANDOM.standard_normal(2)
        given = f(dpnp.asarray(x), dpnp.asarray(y))
        expected = x[:, 1].max(), np.sum(x[1:, ::2] * y), x.min(), np.mean(x[:, 1:] - x[:, :-1])
        np.testing.assert_allclose(given, expected, rtol=1e-9, atol=1e-12, err_msg=str(rows))


SHAPES = (1, 3), (3, 1), (7, 5), (2, 40), (300, 33), (2, 20_001), (20_001, 2), (2, 3, 4100), (3, 4100, 2)
"""Rows and columns: one work-item's, one group's and several groups', the last of which is full or not."""


def test_reductions_along_axes_of_parts():
    @numba.njit
    def of_two(x, y):
        return np.sum(x * y, axis=0), np.max(x[:, ::-1] - y, axis=1), (x + y).mean(axis=1, keepdims=True)

    @numba.njit
    def of_three(x, y):
        return np.sum(x * y, axis=(0, 2)), np.min(x - y, axis=1), np.mean(x + y, axis=2)

    for shape in SHAPES:
        x, y = RANDOM.integers(-9, 9, shape) / 4, RANDOM.integers(-9, 9, shape[-1]) / 4
        f = of_two if len(shape) == 2 else of_three
        for found, expected in zip(f(dpnp.asarray(x), dpnp.asarray(y)), f.py_func(x, y), strict=True):
            np.testing.assert_allclose(found.asnumpy(), expected, rtol=1e-12, err_msg=str(shape))


def test_nan_is_the_extremum():
    x = RANDOM.standard_normal(5000)
    x[4321] = np.nan
    f = numba.njit(lambda x: (np.max(x * 2), np.min(x * 2)))
    assert np.isnan(f(dpnp.asarray(x))).all()


def test_reductions_of_loops():
    @numba.njit
    def f(x, start):
        total, most = start, -np.inf
        for i in numba.prange(x.shape[0]):
            total += x[i] * x[i]
            most = max(most, x[i])
        return total, most

    for count in (0, *COUNTS):
        x = RANDOM.integers(-9, 9, count).astype(np.float64)
        assert f(dpnp.asarray(x), 2.5) == (2.5 + np.sum(x * x), x.max(initial=-np.inf)), count
