"""`prange` loops around plain loops whose iterations are independent: on a GPU the index space is all of the nest's."""

import dpnp
import numba
import numpy as np
import pytest

from kapi_numba_offload import explain

RANDOM = np.random.default_rng(23)


def products(a, b, out):
    for i in numba.prange(out.shape[0]):
        for j in range(1, out.shape[1] - 1):
            if a[i, j] < 0:
                continue
            out[i, j] = a[i, j + 1] * b[j] - a[i, j - 1]


def three_deep(a, b, out):
    for i in numba.prange(a.shape[0]):
        for j in range(a.shape[1]):
            for k in range(0, b.shape[0], 2):
                out[i, j] += a[i, j] * b[k]


def total(a, b, out):
    t = 0.0
    for i in numba.prange(a.shape[0]):
        for j in range(a.shape[1]):
            t += a[i, j] * b[j]
    out[0, 0] = t


def into_columns(a, b, out):
    for i in numba.prange(a.shape[0]):
        for j in range(a.shape[1]):
            out[0, j] += a[i, j]


def recurrence(a, b, out):
    for i in numba.prange(a.shape[0]):
        for j in range(1, a.shape[1]):
            out[i, j] = out[i, j - 1] + a[i, j]


def triangle(a, b, out):
    for i in numba.prange(a.shape[0]):
        for j in range(i % a.shape[1]):
            out[i, j] = a[i, j] + 1


def leaves(a, b, out):
    for i in numba.prange(a.shape[0]):
        for j in range(a.shape[1]):
            if a[i, j] > 2:
                break
            out[i, j] = b[j]


def carries(a, b, out):
    for i in numba.prange(a.shape[0]):
        last = b[0]
        for j in range(a.shape[1]):
            out[i, j] = last
            last = a[i, j]


def from_the_end(a, b, out):
    for i in numba.prange(a.shape[0]):
        for j in range(-2, 2):
            out[i, j] = a[i, j + 2] * 2


NESTED = {products: 2, three_deep: 2, total: 2, into_columns: 2, recurrence: 1, triangle: 1, leaves: 1, carries: 1,
          from_the_end: 1}  # fmt: skip
"""The number of loops that the index space has; those of `total` are work-items that take several iterations."""


@pytest.mark.parametrize("dtype", ["float64", "int32"])
@pytest.mark.parametrize("function", NESTED)
def test_nests_are_index_spaces(function, dtype, as_on_a_gpu, launches):
    compiled = numba.njit(function)
    for shape in (3, 40), (40, 5), (1, 4):
        a, b, out = (RANDOM.integers(-4, 9, size).astype(dtype) for size in (shape, shape[1], shape))
        expected, (x, y, z) = out.copy(), map(dpnp.asarray, (a, b, out))
        launches.clear()
        compiled(x, y, z)
        function(a, b, expected)
        np.testing.assert_array_equal(z.asnumpy(), expected)
        spaces = [space for _, space, _ in launches]
        assert len(spaces[0]) == NESTED[function]


def test_arrays_that_share_memory_have_their_order(as_on_a_gpu, launches):
    """Iterations of the inner loop stay in their order where the arrays say nothing else."""
    f = numba.njit(products)
    a = RANDOM.integers(1, 9, (3, 40)).astype(np.float64)
    expected, x, b = a.copy(), dpnp.asarray(a), np.ones(40)
    f(x, dpnp.asarray(b), x)
    products(expected, b, expected)
    np.testing.assert_array_equal(x.asnumpy(), expected)
    assert [len(space) for _, space, _ in launches] == [1]


def test_explain_names_the_loop_once(as_on_a_gpu):
    a = dpnp.asarray(RANDOM.random((3, 40)))
    found = explain(numba.njit(three_deep), a, a[0], dpnp.zeros((3, 40)))
    assert [(each.where, each.runs) for each in found.parts] == [("kernel", 1)]
