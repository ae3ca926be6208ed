"""Products of matrices and vectors in offloaded functions: NumPy's, on processors in the arrays' own memory."""

import dpnp
import numpy as np
import pytest
from numba import njit

import kapi_numba_offload as offload
from kapi_numba_offload.libraries.arrays import device_facts, kind_of, queue_of
from kapi_sim.errors import ExecutionPlacementError

RANDOM = np.random.default_rng(31)


@njit
def products(a, b, v, w):
    return (
        *(a @ b, a @ v[:3], v[:4] @ a, v @ w, np.dot(a, b), np.matmul(a.T, a)),
        *(a[:, 1:] @ b[1:, ::2], b[:, 1] @ a.T, (a @ b) * 2.0 + a[0, 0]),
    )


@njit
def product(a, b):
    return a @ b


@njit
def after_stores(a, b, c):
    for _ in range(3):
        a += 1.0
        c[:] = a @ b
        b *= c[0, 0]
    return c


def numbers(dtype, *shape):
    made = RANDOM.random(shape) * 9
    return (made + 1j * made[::-1]).astype(dtype) if dtype.startswith("complex") else made.astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128", "int32"])
def test_products_match_numpy(dtype):
    arrays = [numbers(dtype, *shape) for shape in [(4, 3), (3, 5), (7,), (7,)]]
    found = products(*map(dpnp.asarray, arrays))
    for one, other in zip(found, products.py_func(*arrays), strict=True):
        if other.ndim == 0:
            assert type(one) is type(other.item())
            np.testing.assert_allclose(one, other, rtol=1e-5)
            continue
        assert isinstance(one, dpnp.ndarray)
        assert (one.dtype, one.shape, kind_of(one)) == (other.dtype, other.shape, "device")
        np.testing.assert_allclose(one.asnumpy(), other, rtol=1e-5)


def test_a_product_is_made_of_what_was_stored_before():
    arrays = [numbers("float64", 40, 40) / 40 for _ in range(3)]
    found = after_stores(*map(dpnp.asarray, arrays))
    np.testing.assert_allclose(found.asnumpy(), after_stores.py_func(*arrays), rtol=1e-12)


@pytest.mark.sycl
@pytest.mark.parametrize(("one", "other"), [("shared", "shared"), ("host", "shared"), ("shared", "device")])
def test_memory_of_a_product_is_the_one_that_reaches_farthest(one, other):
    a, b = (dpnp.ones((2, 2), usm_type=each) for each in (one, other))
    assert product(a, b).usm_type == (a @ b).usm_type


@pytest.mark.skipif(not device_facts(queue_of(dpnp.zeros(1))).is_cpu, reason="other devices have dpnp's products")
def test_the_explanation_says_who_multiplied():
    parts = offload.explain(product, dpnp.ones((2, 2)), dpnp.ones((2, 2))).parts
    assert [(each.where, each.text) for each in parts] == [("numpy", "a @ b")]


@pytest.mark.parametrize(("one", "other"), [((2, 0), (0, 3)), ((2, 3, 3), (3, 3)), ((0,), (0,))])
def test_other_products_are_dpnps(one, other):
    found = product(dpnp.ones(one), dpnp.ones(other))
    np.testing.assert_array_equal(dpnp.asnumpy(found), np.ones(one) @ np.ones(other))


def test_shapes_and_indices_that_do_not_fit_are_errors():
    with pytest.raises(ValueError, match="matmul|Axis dimension"):
        product(dpnp.ones((2, 3)), dpnp.ones((2, 3)))
    with pytest.raises(ExecutionPlacementError):
        product(dpnp.ones((2, 2)), np.ones((2, 2)))
