"""Array expressions under plain `numba.njit`, against dpnp's own result."""

import dpnp
import numba
import numpy as np
import pytest

from kapi_sim.errors import ExecutionPlacementError
from kapi_sim.testing.reports import raises


@numba.njit
def add(a, b):
    return a + b


@numba.njit
def fused(a, b, scale):
    c = a * scale - b
    return (c + 1) / 2


@pytest.mark.parametrize("left", ["int32", "float32", "float64"])
@pytest.mark.parametrize("right", ["int64", "float32"])
def test_expression_result_is_dpnps(left, right, assert_same):
    """Dtype, shape, USM kind, queue and values are what dpnp gives."""
    a, b = dpnp.arange(12, dtype=left), dpnp.arange(12, 24, dtype=right)
    assert_same(add(a, b), a + b)


@pytest.mark.parametrize(
    "shapes", [((3, 4), (4,)), ((2, 1, 3), (5, 1)), ((), (4,)), ((2, 1, 3, 1, 2), (2,)), ((0,), (0,))]
)
def test_expression_broadcasts(shapes, assert_same):
    """Shapes of any rank are broadcast as NumPy broadcasts them."""
    a, b = (dpnp.ones(shape, dtype="float32") * 3 for shape in shapes)
    assert_same(fused(a, b, 2), (a * 2 - b + 1) / 2)


def test_expression_keeps_float32_with_python_scalars():
    """Python numbers are weak: they leave float32 as it is."""
    assert fused(dpnp.ones(3, dtype="float32"), dpnp.ones(3, dtype="float32"), 2.5).dtype == np.float32


def test_expression_takes_strided_views(assert_same):
    """Reversed and transposed views are read where they are."""
    a = dpnp.reshape(dpnp.arange(12, dtype="float64"), (3, 4))
    assert_same(add(a.T, a[::-1].T), a.T + a[::-1].T)


@pytest.mark.sycl
@pytest.mark.parametrize("kinds", [("shared", "device"), ("shared", "host"), ("host", "host")])
def test_expression_coerces_usm_kinds_as_dpnp_does(kinds, assert_same):
    """The result is of the USM kind that dpnp would choose."""
    a, b = (dpnp.ones(4, usm_type=kind) for kind in kinds)
    assert_same(add(a, b), a + b)


def test_expression_is_one_kernel(launches):
    """However many operators, one launch."""
    fused(dpnp.ones(3), dpnp.ones(3), 2)
    assert len(launches) == 1


def test_expression_is_compiled_once():
    """A second call with arrays of the same types finds the first one's code."""
    before = len(add.signatures)
    for _ in range(2):
        add(dpnp.ones((2, 2, 2), dtype="float32"), dpnp.ones((2, 2, 2), dtype="float32"))
    assert len(add.signatures) == before + 1


def test_numpy_arguments_are_left_to_numba():
    """With NumPy arrays the same function is what Numba alone makes of it."""
    result = add(np.arange(3), np.arange(3))
    assert type(result) is np.ndarray
    assert result.tolist() == [0, 2, 4]


def test_mixed_arguments_are_refused_by_name():
    """A NumPy array with a USM array is an error that names it."""
    with raises(ExecutionPlacementError, "arrays-mixed"):
        add(dpnp.ones(3), np.ones(3))


TABLE = np.arange(3.0)


def test_numpy_arrays_from_outside_are_constants(launches):
    """Globals and closures, in operations and in calls; their elements are those of the time of the call."""
    own = np.ones(3)
    f = numba.njit(lambda a: (a * TABLE + own, np.dot(a, TABLE)))
    try:
        for first in (0.0, 5.0):
            TABLE[0] = first
            found, product = f(dpnp.ones(3) * 2)
            assert found.asnumpy().tolist() == [2 * first + 1, 3.0, 5.0]
            assert float(product) == 2 * first + 6
    finally:
        TABLE[0] = 0.0
    assert launches


def test_numpy_arrays_from_outside_are_constants_for_device_indices():
    """A table that is read at the indices that an array on the device has."""
    indices = np.array([[2, 0], [1, 1]])

    def gather(i):
        return TABLE[i] * 2, TABLE[i[0]][::-1]

    found = numba.njit(gather)(dpnp.asarray(indices))
    for own, expected in zip(found, gather(indices), strict=True):
        np.testing.assert_array_equal(own.asnumpy(), expected)


@pytest.mark.filterwarnings("ignore::kapi_numba_offload.ArrayIntegersWarning")
@pytest.mark.parametrize("dtypes", [("float64", "float64"), ("int32", "float32"), ("bool", "int8")])
def test_outer_products_are_part_of_the_kernel(dtypes, launches, assert_same):
    """In NumPy's spelling they would be arrays of their own."""
    u, v = (dpnp.asarray(np.arange(number)).astype(dtype) for number, dtype in zip((4, 3), dtypes, strict=True))

    def update(u, v):
        return np.outer(u, v[::-1]) + np.outer(u, v) * 2

    assert_same(numba.njit(update)(u, v), dpnp.outer(u, v[::-1]) + dpnp.outer(u, v) * 2)
    assert len(launches) == 1


@pytest.mark.filterwarnings("ignore::kapi_numba_offload.OffloadFallbackWarning")  # CuPy's takes arrays alone
def test_outer_products_of_other_ranks_match_numpy(assert_same):
    """They are of all elements, and numbers among the operands have one."""
    m, s = dpnp.reshape(dpnp.arange(6.0), (2, 3)), dpnp.asarray(2.0)
    found = numba.njit(lambda m, s: (np.outer(m, m[0]), np.outer(s, m), np.outer(m[0], 2.0)))(m, s)
    expected = dpnp.outer(m, m[0]), dpnp.outer(s, m), dpnp.outer(m[0], dpnp.asarray(2.0))
    for own, other in zip(found, expected, strict=True):
        assert_same(own, other)


def test_usm_arrays_are_stored_to_no_numpy_array():
    """It would be a copy to the host, which nobody asked for."""

    @numba.njit
    def stores(n, d):
        n[:] = d

    with raises(ExecutionPlacementError, "arrays-mixed"):
        stores(np.ones(3), dpnp.ones(3))


def test_dpnps_functions_take_no_numpy_array():
    """The error names the array."""

    @numba.njit
    def sums(n, d):
        return dpnp.exp(n), d

    with raises(ExecutionPlacementError, "arrays-mixed"):
        sums(np.ones(3), dpnp.ones(3))


@pytest.mark.parametrize("own", [np.float32, np.int64, np.complex64])
def test_numpy_types_convert_arrays(own):
    """An array, a sum, an expression and an element, as `astype` does."""

    @numba.njit
    def converted(a):
        return own(a), own(a.sum()), own(a * 2) + 1, own(a[0, 1])

    values = np.array([[1.5, 2.5], [3.5, -4.5]])
    found = converted(dpnp.asarray(values))
    for each, expected in zip(found, converted.py_func(dpnp.asarray(values).asnumpy()), strict=True):
        if expected.ndim == 0:
            assert type(each) is type(expected.item())
        else:
            assert each.dtype == expected.dtype
        np.testing.assert_array_equal(dpnp.asnumpy(each), expected)


@pytest.mark.sycl
def test_different_queues_are_refused_by_name():
    """Arrays of two queues of one device are refused in one expression."""
    import dpctl

    other = dpnp.ones(3, sycl_queue=dpctl.SyclQueue(dpnp.ones(1).sycl_device))
    with raises(ExecutionPlacementError, "different-queues", words=False):
        add(dpnp.ones(3), other)


def test_operands_that_numpy_refuses_are_an_error_of_numpy():
    """The error is the library's own."""
    with pytest.raises((TypeError, ValueError), match="left_shift"):
        numba.njit(lambda a, b: a << b)(dpnp.ones(3), dpnp.ones(3))
