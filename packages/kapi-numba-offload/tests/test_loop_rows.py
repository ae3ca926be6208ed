"""Rows of arrays in `prange` loops: named, sliced, iterated, reduced; against the same Python over NumPy arrays."""

import dpnp
import numba
import numpy as np
import pytest
from numba import prange

from kapi_numba_offload import OffloadFallbackWarning

MATRIX = np.array([[3.0, 1, 4, 1], [5, 9, 2, 6], [5, 3, 5, 8]])


@numba.njit
def less(x):
    return x - 1


def names_of_rows(a, b, n):
    for i in prange(3):
        if i % 2:
            row = a[0]
        else:
            row = a[1]
        b[i, 0] = row[2]
        j = 0
        first = a[j]
        j = 2
        b[i, 1] = first[1] + j
        late = a[0]
        for k in range(3):
            b[i, 2] += late[k]
            late = a[k]


def temporary_rows(a, b, n):
    for i in prange(3):
        j, scale = i, 2.0
        t = a[j] * scale
        j, scale = 0, 9.0
        b[i] = t + j + scale
        e = np.exp(t - t.max())
        b[i] += e / e.sum()
        b[i, 0] += t[0] + t[-1] + t[1:3].sum() + len(t) + t.shape[0] + t.size
        deep = t > 3
        b[i, 1] += deep.sum()


def broadcasts(a, b, n):
    for i in prange(3):
        b[i] = a[i, 1:2]
        b[i] += a[i, :n] * a[i][None, :][0, 2]
        b[i, :n] += a[:, 0][i] + n


def directions(a, b, n):
    f = lambda x: x * 2  # noqa: E731
    for i in prange(3):
        b[i] = a[i, ::-1] + a[i, 3::-1]
        b[i, ::-2] += a[i, 2:0:-1]
        b[i, 1:] += a.T[1:, i] + f(a[i, 1])
        b[i, :n] += a[i, -n:]


def reductions_of_rows(a, b, n):
    for i in prange(3):
        b[i, 0] = np.sum(a[i] > 3) + a[i].mean() + a[i].std() + np.var(a[i])
        b[i, 1] = np.argmax(a[i]) + 10 * a[i].argmin() + np.ptp(a[i])
        b[i, 2] = np.linalg.norm(a[i]) + np.count_nonzero(a[i] > 2)
        b[i, 3] = a[i] @ a[0] + np.vdot(a[i], a[1]) + np.max(a)


def iterated_rows(a, b, n):
    def g(x, y):
        return less(x) + y

    for i in prange(3):
        for v in a[i]:
            b[i, 0] += g(v, 1)
        for k, v in enumerate(a[i]):
            b[i, 1] += v * k
        for x, y in zip(a[i], a[0] * 2):  # noqa: B905 (Numba knows no `strict`)
            b[i, 2] += x * y
        for row in a:
            for v in row[:2]:
                b[i, 3] += v * i


def private_rows(a, b, n):
    for i in prange(3):
        w = np.ones(4)
        c = np.full(2, 3.0)
        z = np.zeros(4, dtype="int32")
        z[:] = a[i]
        w += z
        b[i, 0] = np.dot(w, a[i]) + c[0]


EACH = [
    names_of_rows, temporary_rows, broadcasts, directions, reductions_of_rows, iterated_rows, private_rows,
]  # fmt: skip


@pytest.mark.parametrize("function", EACH)
def test_rows_give_what_numpy_gives(function, launches):
    """One kernel, and NumPy's values."""
    on_host, on_device = np.ones((3, 4)), dpnp.ones((3, 4))
    numba.njit(function)(dpnp.asarray(MATRIX), on_device, 1)
    function(MATRIX.copy(), on_host, 1)
    np.testing.assert_allclose(on_device.asnumpy(), on_host)
    assert len(launches) == 1


def test_axis_of_one_element_serves_all():
    """Found when the loop is run: the same function, for an array of one column."""

    @numba.njit
    def f(a, b):
        for i in prange(3):
            b[i] = a[i]

    for a in (MATRIX, MATRIX[:, :1]):
        b = dpnp.zeros((3, 4))
        f(dpnp.asarray(a.copy()), b)
        assert (b.asnumpy() == a).all()


def test_what_is_not_a_number_is_an_extremum():
    """As in NumPy: it is the result, and its index the first one."""

    def f(a, b):
        for i in prange(2):
            b[i, 0], b[i, 1] = a[i].max(), a[i].min()
            b[i, 2], b[i, 3] = np.argmax(a[i]), a[i].argmin()

    a, b = np.array([[1, np.nan, 3], [np.nan, 0, np.nan]]), np.zeros((2, 4))
    on_device = dpnp.zeros((2, 4))
    numba.njit(f)(dpnp.asarray(a), on_device)
    f(a, b)
    np.testing.assert_array_equal(on_device.asnumpy(), b)


def test_new_axes():
    """Of one element each; an outer product of rows."""

    def f(a, b):
        for i in prange(3):
            b[i] = a[i][:, None] * a[i, np.newaxis] + a[i].T

    b = np.zeros((3, 4, 4))
    on_device = dpnp.asarray(b)
    numba.njit(f)(dpnp.asarray(MATRIX), on_device)
    f(MATRIX, b)
    np.testing.assert_allclose(on_device.asnumpy(), b)


def test_temporary_row_of_an_array_that_is_stored_to():
    """Its elements are computed late, so arrays that share memory take the loop to the host; so does storing to it."""

    def f(a, b):
        for i in prange(3):
            t = a[i] * 2
            b[i] = t
            b[i] += t

    function, both = numba.njit(f), dpnp.asarray(MATRIX)
    apart = dpnp.zeros((3, 4))
    function(both, apart)
    assert (apart.asnumpy() == 4 * MATRIX).all()
    with pytest.warns(OffloadFallbackWarning, match=r"variable `b`.*\[shared-memory\]"):
        function(both, both)
    assert (both.asnumpy() == 4 * MATRIX).all()


def test_names_for_different_arrays_are_reported():
    """One name is a part of one array in a kernel."""

    @numba.njit
    def f(a, c, b):
        for i in prange(3):
            row = a[i] if i else c[i]
            b[i] = row[0]

    @numba.njit
    def g(a, c, b):
        for i in prange(3):
            row = a[i]
            if i == 1:
                row = c[i]
            b[i] = row[0]

    a, b = dpnp.asarray(MATRIX), dpnp.zeros(3)
    with pytest.warns(OffloadFallbackWarning, match="variable row for parts of several arrays"):
        g(a, a + 1, b)
    assert b.asnumpy().tolist() == [3, 6, 5]
    with pytest.warns(OffloadFallbackWarning, match="a part of an array where a number is needed"):
        f(a, a + 1, b)
    assert b.asnumpy().tolist() == [4, 5, 5]


def test_other_forms_of_reductions(launches):
    """Chains of one operation, extrema of several, guarded assignments, quotients."""

    def f(a):
        s, p, m, hi, lo, q = 0.0, 1.0, 100.0, a[0], np.inf, 1.0
        for i in prange(a.shape[0]):
            s = s + a[i] * 2 - 1
            p = p * a[i] * 0.5
            m = min(m, a[i], a[i] - 3)
            if a[i] > hi:
                hi = a[i]
            if lo >= a[i]:
                lo = a[i]
            q /= a[i]
        return s, p, m, hi, lo, q

    found = numba.njit(f)(dpnp.asarray(MATRIX[1]))
    np.testing.assert_allclose(found, f(MATRIX[1]))
    assert len(launches) in (1, 7)  # on a GPU, each of the six has one of its own besides the loop's


def test_loop_variable_after_the_loop_has_its_last_value():
    """On the host, with the reason."""

    def f(a):
        for i in prange(2, len(a), 3):
            a[i] = i
        return i

    with pytest.warns(OffloadFallbackWarning, match=r"variable `i`.*\[value-after-loop\]"):
        assert numba.njit(f)(dpnp.ones(10)) == f(np.ones(10)) == 8
