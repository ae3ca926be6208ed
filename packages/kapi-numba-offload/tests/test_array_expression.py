"""Array expressions under plain `numba.njit`, against dpnp's own result."""

import dpnp
import numba
import numpy as np
import pytest

import kapi_numba_offload
from kapi_sim.errors import ExecutionPlacementError, KernelCompilationError


@numba.njit
def add(a, b):
    return a + b


@numba.njit
def fused(a, b, scale):
    c = a * scale - b
    return (c + 1) / 2


def assert_same(result, expected):
    assert type(result) is type(expected)
    assert (result.dtype, result.shape) == (expected.dtype, expected.shape)
    assert (result.usm_type, result.sycl_queue) == (expected.usm_type, expected.sycl_queue)
    np.testing.assert_allclose(result.asnumpy(), expected.asnumpy(), rtol=1e-6)


@pytest.mark.parametrize("left", ["int32", "float32", "float64"])
@pytest.mark.parametrize("right", ["int64", "float32"])
def test_expression_result_is_dpnps(left, right):
    """Dtype, shape, USM kind, queue and values are what dpnp gives."""
    a, b = dpnp.arange(12, dtype=left), dpnp.arange(12, 24, dtype=right)
    assert_same(add(a, b), a + b)


@pytest.mark.parametrize(
    "shapes", [((3, 4), (4,)), ((2, 1, 3), (5, 1)), ((), (4,)), ((2, 1, 3, 1, 2), (2,)), ((0,), (0,))]
)
def test_expression_broadcasts(shapes):
    """Shapes of any rank are broadcast as NumPy broadcasts them."""
    a, b = (dpnp.ones(shape, dtype="float32") * 3 for shape in shapes)
    assert_same(fused(a, b, 2), (a * 2 - b + 1) / 2)


def test_expression_keeps_float32_with_python_scalars():
    """Python numbers are weak: they leave float32 as it is."""
    assert fused(dpnp.ones(3, dtype="float32"), dpnp.ones(3, dtype="float32"), 2.5).dtype == np.float32


def test_expression_takes_strided_views():
    """Reversed and transposed views are read where they are."""
    a = dpnp.reshape(dpnp.arange(12, dtype="float64"), (3, 4))
    assert_same(add(a.T, a[::-1].T), a.T + a[::-1].T)


@pytest.mark.parametrize("kinds", [("shared", "device"), ("shared", "host"), ("host", "host")])
def test_expression_coerces_usm_kinds_as_dpnp_does(kinds):
    """The result is of the USM kind that dpnp would choose."""
    a, b = (dpnp.ones(4, usm_type=kind) for kind in kinds)
    assert_same(add(a, b), a + b)


def test_expression_is_one_kernel(monkeypatch):
    """However many operators, one launch."""
    launches = []
    original = kapi_numba_offload.expression.kapi_runtime.call_kernel_async
    monkeypatch.setattr(
        kapi_numba_offload.expression.kapi_runtime,
        "call_kernel_async",
        lambda *args: launches.append(args) or original(*args),
    )
    fused(dpnp.ones(3), dpnp.ones(3), 2)
    assert len(launches) == 1


def test_expression_is_compiled_once():
    """A second call with arrays of the same types finds the first one's code."""
    before = len(add.signatures)
    for _ in range(2):
        add(dpnp.ones((2, 2, 2), dtype="float32"), dpnp.ones((2, 2, 2), dtype="float32"))
    assert len(add.signatures) == before + 1


def test_numpy_arguments_are_numbas_own():
    """With NumPy arrays the same function is what Numba alone makes of it."""
    result = add(np.arange(3), np.arange(3))
    assert type(result) is np.ndarray
    assert result.tolist() == [0, 2, 4]


def test_mixed_arguments_are_refused_by_name():
    """A NumPy array beside a USM array is an error that names it."""
    with pytest.raises(ExecutionPlacementError, match=r"got a NumPy array as `b`: `dpnp\.asarray\(b\)`"):
        add(dpnp.ones(3), np.ones(3))


def test_different_queues_are_refused_by_name():
    """Arrays of two queues of one device do not meet."""
    import dpctl

    other = dpnp.ones(3, sycl_queue=dpctl.SyclQueue(dpnp.ones(1).sycl_device))
    with pytest.raises(ExecutionPlacementError, match="`a` and `b` of kernel `add` must share one queue"):
        add(dpnp.ones(3), other)


def test_loop_is_refused_with_its_lines():
    """What is not offloaded is said with the line and the reason."""

    @numba.njit
    def loop(a):
        for i in range(3):
            a[i] = i
        return a

    with pytest.raises(KernelCompilationError, match="(?s)branches and loops.*assignments to elements"):
        loop(dpnp.ones(3))


def test_in_place_operator_is_refused():
    """`a += b` would change `a`, which an expression does not."""

    @numba.njit
    def accumulate(a, b):
        a += b
        return a

    with pytest.raises(KernelCompilationError, match="in-place operators are not offloaded"):
        accumulate(dpnp.ones(3), dpnp.ones(3))


def test_operands_that_numpy_refuses_are_numpys_error():
    """What the operators cannot do is said in NumPy's words."""
    with pytest.raises(TypeError, match="left_shift"):
        numba.njit(lambda a, b: a << b)(dpnp.ones(3), dpnp.ones(3))
