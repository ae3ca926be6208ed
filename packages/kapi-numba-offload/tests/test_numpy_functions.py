"""The table of NumPy functions, and that each status is what happens."""

import dpnp
import numba
import numpy as np
import pytest

from kapi_numba_offload import STATUSES, OffloadFallbackWarning, numpy_functions, status
from kapi_sim.errors import KernelCompilationError
from kapi_sim.testing.reports import raises

# What is called, by status; a test of each elementwise function is in test_operations.
EXAMPLES = {
    "offloaded": ["np.sin(a)", "np.maximum(a, b)", "np.sum(a)", "np.argmax(m, axis=1)", "np.any(a > 2)"],
    "array library": [
        "np.dot(a, b)", "np.matmul(m, m.T)", "np.sort(b)", "np.cumsum(a)", "np.linalg.norm(a)", "np.linalg.inv(s)",
        "np.fft.fft(a)", "np.unique(b)", "np.transpose(m)", "np.concatenate((a, b))", "np.clip(a, 1, 2)", "np.std(m)",
        "np.argsort(b)", "np.outer(a, b)", "np.linalg.solve(s, np.ones(2))", "np.where(a > 1)[0]",
    ],
    "host": ["np.polyder(a)", "np.polyint(a)"],
    "refused": ["np.save('x', a)", "np.array2string(a)", "np.require(a)"],
}  # fmt: skip


def arguments():
    s = dpnp.asarray([[2.0, 1.0], [1.0, 3.0]])
    return dpnp.arange(1.0, 5.0), dpnp.asarray([3.0, 1.0, 2.0, 1.0]), dpnp.reshape(dpnp.arange(6.0), (2, 3)), s


class Dpnp:
    """NumPy's names, answered by dpnp."""

    def __getattr__(self, name):
        return getattr(dpnp, name)


def run(text):
    scope = {"np": np}
    exec(f"def f(a, b, m, s):\n    return {text}", scope)
    return numba.njit(scope["f"])(*arguments())


def test_each_function_has_one_status():
    """No public function of NumPy is without one, and no status without a function."""
    found = {name: status(name) for name in numpy_functions()}
    assert set(found.values()) == set(STATUSES) == set(EXAMPLES)
    assert len(found) > 300


@pytest.mark.parametrize("kind", ["offloaded", "array library"])
def test_functions_on_the_device_give_what_dpnp_gives(kind, assert_same):
    """Dtype, shape, USM kind and queue included."""
    for text in EXAMPLES[kind]:
        expected = eval(text, {"np": Dpnp(), **dict(zip("abms", arguments(), strict=True))})
        assert_same(run(text), expected)


def test_functions_on_the_host_are_reported(assert_same):
    """NumPy's result, back on the device."""
    for text in EXAMPLES["host"]:
        values = [each.asnumpy() for each in arguments()]
        expected = eval(text, {"np": np, **dict(zip("abms", values, strict=True))})
        with pytest.warns(OffloadFallbackWarning, match=r"\[host-function\]"):
            result = run(text)
        assert_same(result, dpnp.asarray(expected) if isinstance(expected, np.ndarray) else expected)


def test_refused_functions_are_errors():
    """With the name and the line."""
    for text in EXAMPLES["refused"]:
        name = text.split("(")[0].replace("np.", "numpy.")
        with raises(KernelCompilationError, "offload-host-call") as raised:
            run(text)
        assert f"must not call {name} with" in raised.value.message


@pytest.mark.sycl
def test_functions_that_make_arrays_follow_the_arguments(assert_same):
    """With USM arrays alone, `np.zeros` makes one on their queue; with NumPy arrays it is NumPy's."""

    @numba.njit
    def f(a):
        return np.zeros(3) + np.arange(3, dtype=np.float32), np.full((2, 2), 7), dpnp.ones(3), np.linspace(0, 1, 5)

    import dpctl

    queue = dpctl.SyclQueue(dpnp.ones(1).sycl_device)
    found = f(dpnp.ones(3, sycl_queue=queue))
    expected = (
        dpnp.zeros(3, sycl_queue=queue) + dpnp.arange(3, dtype=np.float32, sycl_queue=queue),
        dpnp.full((2, 2), 7, sycl_queue=queue),
        dpnp.ones(3, sycl_queue=queue),
        dpnp.linspace(0, 1, 5, sycl_queue=queue),
    )
    assert_same(found, expected)
    host = numba.njit(lambda a, h: np.zeros(2))(dpnp.ones(2), np.ones(2))
    assert type(host) is np.ndarray
