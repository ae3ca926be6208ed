"""Products of small matrices and vectors in `prange` loops, and other functions of them, are parts of kernels."""

import dpnp
import numpy as np
import pytest
from numba import prange

import kapi_numba_offload
from kapi_sim.errors import KernelCompilationError

RNG = np.random.default_rng(7)
STACK = RNG.random((8, 3, 3))
VECTORS = RNG.random((8, 3))


def matrix_by_matrix(t, v, out):
    for i in prange(t.shape[0]):
        out[i] = t[i] @ t[i].T
        out[i] += np.dot(t[i], np.dot(t[0], t[i].T)) * 2
        out[i, :2] -= t[i, :2] @ t[i]


def matrix_by_vector(t, v, out):
    for i in prange(t.shape[0]):
        out[i, 0] = t[i] @ v[i] + t[i].T @ v[0] * 2
        x = v[i].dot(t[i])
        x[0] = 5
        out[i, 1] = x / 3
        out[i, 2, 0] = v[i] @ t[i] @ v[0]
        out[i, 2, 1] = (t[i] @ v[i]).sum()


def powers_of_a_private_matrix(t, v, out):
    for i in prange(t.shape[0]):
        m = np.zeros((3, 3))
        for k in range(3):
            m[k, k] = v[i, k]
            m[k, (k + 1) % 3] = 1.0
        n = m @ m
        out[i] = n @ m
        out[i, 0] += n[1]


def chained_in_a_loop(t, v, out):
    for i in prange(t.shape[0]):
        x = v[i].copy()
        for k in range(4):
            x[:] = t[(i + k) % 8] @ x
            x /= np.linalg.norm(x)
        out[i, 0] = x


def other_products(t, v, out):
    for i in prange(t.shape[0]):
        out[i] = np.outer(v[i], v[0]) + np.eye(3) * t[i] - np.identity(3)
        out[i, 1] += np.cross(v[i], v[0])
        out[i, 2] += np.cross(t[i, 0, :3], t[i, :, 1]) + np.diag(t[i])
        out[i, 0, 0] = np.trace(t[i])
        out[i, 0, 1] = (t[i].flatten() * np.outer(v[i], v[0]).ravel()).sum()
        e = np.eye(3)
        e[0, 1] = i
        out[i, 0, 2] = e.sum()


FUNCTIONS = [matrix_by_matrix, matrix_by_vector, powers_of_a_private_matrix, chained_in_a_loop, other_products]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda each: each.__name__)
def test_they_are_kernels_with_the_numbers_of_numpy(function, as_in_python, launches):
    as_in_python(function, [STACK.copy(), VECTORS.copy(), np.zeros(STACK.shape)], rtol=1e-12)
    assert len(launches) == 1


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int32", "int64", "float32", "complex64", "complex128"])
def test_products_have_numpy_s_dtypes(dtype, as_in_python):
    """Products of integers wrap, those of truth values are truth values."""

    def f(t, v, out):
        for i in prange(t.shape[0]):
            out[i] = t[i] @ t[i].T
            x = t[i] @ v[i]
            out[i, 0] += x

    t = RNG.integers(-120, 120, (8, 3, 3)).astype(dtype)
    out = np.zeros(t.shape, "complex128" if t.dtype.kind == "c" else "float64")
    as_in_python(f, [t, RNG.integers(0, 100, (8, 3)).astype(dtype), out], rtol=1e-5)


def test_matrices_of_no_rows_or_columns(as_in_python):
    def f(t, v, out):
        for i in prange(t.shape[0]):
            out[i] = t[i, :, :i] @ t[i, :i, :] + np.outer(v[i], v[i])

    as_in_python(f, [STACK[:4].copy(), VECTORS.copy(), np.zeros((4, 3, 3))])


def test_vectors_that_may_be_of_another_length_have_no_cross_product():
    def f(v, n, out):
        for i in prange(v.shape[0]):
            out[i, :3] = np.cross(v[i, :n], v[i, :3])

    with pytest.raises(KernelCompilationError, match="not known to have three elements"):
        kapi_numba_offload.offload(fallback=False)(f)(dpnp.asarray(VECTORS[:, :2]), 3, dpnp.zeros((8, 3)))


def test_large_products_have_no_room():
    def f(t, out):
        for i in prange(t.shape[0]):
            out[i] = (t[0] @ t[i]).sum()

    t = dpnp.ones((2, 40, 40))
    with pytest.raises(KernelCompilationError, match="a product of matrices"):
        kapi_numba_offload.offload(fallback=False)(f)(t, dpnp.zeros(2))
