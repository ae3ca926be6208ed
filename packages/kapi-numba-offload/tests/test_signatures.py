"""NumPy's functions are called as NumPy takes them: by position or by name, whatever dpnp's own signature is."""

import dpnp
import numba
import numpy as np
import pytest

from kapi_numba_offload import OffloadFallbackWarning

A = np.asarray([3.0, 1.0, 2.0, 1.0])
M = np.arange(6.0).reshape(2, 3)
CALLS = [
    "np.zeros(3, np.float64)", "np.ones((2, 3), np.int32)", "np.full(2, 7, np.float32)",
    "np.full((2, 2), 1.5, 'f4', 'C')",
    "np.zeros(3, dtype=np.int64)", "np.zeros(shape=3)", "np.arange(4, 10, 2, np.int32)", "np.arange(5)",
    "np.zeros_like(a, np.float32)", "np.ones_like(a, dtype=np.int32)", "np.full_like(a, 2, np.int64)",
    "np.concatenate((a, a), 0)", "np.concatenate((m, m), axis=1)", "np.stack((a, a), 1)", "np.linspace(0, 1, 5, True)",
    "np.linspace(0, 1)", "np.linspace(0.0, 2.0, 3, dtype=np.float32)", "np.logspace(0, 2, 3, True, 10.0)",
    "np.clip(a, a_min=0, a_max=1)", "np.clip(a, 1, 2)", "np.triu(m, 1)", "np.tril(m, -1)", "np.eye(3, 4, 1)",
    "np.identity(3, np.float32)", "np.tensordot(a, a, 1)", "np.take(a, np.asarray([0, 2]), 0)", "np.roll(a, 1)",
    "np.round(a / 3, 2)", "np.sum(m, 0)", "np.sum(m, 1, np.float32)", "np.mean(m, axis=1)", "np.std(m, 0)",
    "np.argmax(m, 1)", "np.sort(m, 0)", "np.cumsum(m, 1)", "np.flip(m, 0)", "np.repeat(a, 2, 0)", "np.copy(m, 'C')",
    "np.array([1, 2, 3], np.float32)", "np.asarray([1.0, 2.0], np.float64)", "np.moveaxis(m, 0, 1)",
    "np.expand_dims(a, 0)", "np.hamming(5)", "np.hanning(4)", "np.kaiser(4, 1.0)", "np.indices((2, 3))",
    "np.fft.fftfreq(4, 0.5)", "np.tri(3, 3, 0, np.float32)",
]  # fmt: skip


@pytest.mark.parametrize("text", CALLS)
def test_calls_are_bound_as_numpy_binds_them(text):
    """The dtype, shape and values are NumPy's, and the result is on the device; a number is Python's."""
    scope = {"np": np}
    exec(f"def f(a, m):\n    return {text}", scope)
    expected = scope["f"](A, M)
    result = numba.njit(scope["f"])(dpnp.asarray(A), dpnp.asarray(M))
    if expected.ndim == 0:
        assert (type(result), result) == (type(expected.item()), expected.item())
        return
    assert isinstance(result, dpnp.ndarray)
    assert (result.dtype, result.shape) == (expected.dtype, expected.shape)
    np.testing.assert_allclose(result.asnumpy(), expected, rtol=1e-6)


def test_indices_of_a_triangle_are_on_the_device():
    rows, columns = numba.njit(lambda m: np.tril_indices(3, 0))(dpnp.asarray(M))
    assert isinstance(rows, dpnp.ndarray)
    assert [rows.asnumpy().tolist(), columns.asnumpy().tolist()] == [each.tolist() for each in np.tril_indices(3, 0)]


def test_what_dpnp_lacks_of_a_function_runs_on_the_host_with_its_line():
    """`axis` as a parameter of `unique` is NumPy's, and of `searchsorted` a list is."""

    @numba.njit
    def f(a):
        return np.searchsorted(a, [1.5, 2.5])

    with pytest.warns(OffloadFallbackWarning, match=r"test_signatures.py:\d+: .*\[host-function\]"):
        result = f(dpnp.asarray(np.sort(A)))
    assert result.asnumpy().tolist() == np.searchsorted(np.sort(A), [1.5, 2.5]).tolist()


def test_numpy_arrays_with_usm_arrays_are_named():
    """In a call as in an expression."""

    @numba.njit
    def f(a, host):
        return np.dot(a, host)

    with pytest.raises(ValueError, match="got device array `a` and NumPy array `host`"):
        f(dpnp.asarray(A), A)


def test_arguments_that_no_one_takes_are_errors_with_the_line():
    with pytest.raises(TypeError) as caught:
        numba.njit(lambda a: np.zeros(3, nonsense=1) + a[:3])(dpnp.asarray(A))
    assert "test_signatures.py" in "".join(caught.value.__notes__)


def test_dpnps_functions_take_elements():
    """An element is a number of NumPy's, which dpnp's own functions refuse."""

    @numba.njit
    def f(a):
        a[0] = dpnp.sqrt(a[0])
        return dpnp.maximum(a[1], 5.0)

    a = dpnp.asarray([4.0, 9.0])
    assert (f(a), a.asnumpy().tolist()) == (9.0, [2.0, 9.0])
