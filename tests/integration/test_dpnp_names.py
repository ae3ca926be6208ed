"""dpnp's functions in kernels are NumPy's rows of the table, on the device and in the simulator."""

import dpnp
import numpy as np
from dpnp import tanh

import kapi_runtime as kapi
import kapi_sim
from kapi_sim.errors import KernelCompilationError
from kapi_sim.language.table.intrinsics import rows
from kapi_sim.testing.reports import raises


def body(item, a, b):
    i = item.get_id(0)
    a[i] = dpnp.sqrt(a[i]) + dpnp.maximum(b[i], 2.0) + tanh(a[i]) + dpnp.where(a[i] > 1, dpnp.float64(1), 0.0)


A, B = np.asarray([0.0, 1.0, 4.0, 9.0]), np.asarray([1.0, 2.0, 3.0, np.nan])
EXPECTED = np.sqrt(A) + np.maximum(B, 2.0) + np.tanh(A) + (A > 1)


def test_on_the_device():
    a = dpnp.asarray(A)
    kapi.call_kernel(kapi.kernel(body), kapi.Range(4), a, dpnp.asarray(B))
    np.testing.assert_allclose(a.asnumpy(), EXPECTED)


def test_in_the_simulator():
    a = A.copy()
    kapi_sim.call_kernel(kapi_sim.kernel(body), kapi_sim.Range(4), a, B)
    np.testing.assert_allclose(a, EXPECTED)


def test_functions_without_a_row_are_refused_in_both():
    def total(item, a):
        a[item.get_id(0)] = dpnp.sum(a)

    with raises(KernelCompilationError, "function-unknown", words=False):
        kapi.call_kernel(kapi.kernel(total), kapi.Range(4), dpnp.asarray(A))
    with raises(KernelCompilationError, "function-unknown", words=False):
        kapi_sim.call_kernel(kapi_sim.kernel(total), kapi_sim.Range(4), A.copy())


def test_most_rows_have_a_function_of_dpnp():
    from kapi_sim.language.table.other_names import numpy_names

    named = [row.name for row in rows("numpy") if hasattr(dpnp, row.name)]
    assert len(named) > 70
    assert [name for name in named if numpy_names(getattr(dpnp, name)) is not getattr(np, name)] == []
