"""Loops whose launches cost more than their work, on a device with memory of its own: the host runs them on copies."""

import dpnp
import numba
import numpy as np
import pytest

from kapi_numba_offload.libraries.installed import default_library

LIBRARY = type(default_library())

RANDOM = np.random.default_rng(5)
OUTSIDE = 40

pytestmark = pytest.mark.usefixtures("as_on_a_gpu")


@pytest.fixture(autouse=True)
def small_loops(monkeypatch, no_small_loops):
    monkeypatch.delenv("KAPI_OFFLOAD_SMALL")


@pytest.fixture
def copies(monkeypatch):
    """The bytes of each copy to the host."""
    made = []
    original = LIBRARY.host_bytes
    monkeypatch.setattr(
        LIBRARY, "host_bytes", lambda self, *given: (made.append(given[2] - given[1]), original(self, *given))[1]
    )
    return made


def columns(a, b):
    for _ in range(10):
        for j in range(1, a.shape[1]):
            b[:, j] = -a[:, j] / (2.0 + b[:, j - 1])
        for j in range(a.shape[1] - 2, 0, -1):
            a[:, j] = b[:, j] * a[:, j + 1] + 1.0


def while_loop(a, b):
    n = 0
    while n < 3:
        for i in range(len(a)):
            a[i] = a[i] * 0.5 + b[i]
        for j in range(OUTSIDE):
            b[:, j % b.shape[1]] += a[:, 0]
        n += 1
    return n


def triangular(a, b):
    for i in range(min(a.shape)):
        for k in range(i):
            a[i, : k + 1] += 0.25 * b[i, k] * b[: k + 1, 0]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("function", [columns, while_loop, triangular])
def test_loops_run_on_copies_of_their_arrays(function, dtype, copies, launches, no_group_does_a_loop):
    a, b = (RANDOM.random((50, 60)).astype(dtype) for _ in range(2))
    given = dpnp.asarray(a), dpnp.asarray(b)
    offloaded = numba.njit(function)
    found = offloaded(*given)
    assert found == function(a, b)
    for one, other in zip(given, (a, b), strict=True):
        np.testing.assert_allclose(dpnp.asnumpy(one), other, rtol=1e-12 if dtype == "float64" else 2e-5)
    assert not launches
    assert len(copies) == 2 * 2  # what the host cannot reach is copied to compile for it, and to run


@pytest.mark.parametrize("shape", [(50, 60), (3, 40_000)])
def test_much_work_or_few_launches_stay_on_the_device(shape, copies, launches):
    a, b = (RANDOM.random(shape) for _ in range(2))
    given = dpnp.asarray(a), dpnp.asarray(b)

    def rows(a, b):
        for i in range(3):
            a[i] = np.sqrt(a[i] * b[i]) + np.exp(b[a.shape[0] - 1 - i])

    numba.njit(rows)(*given)
    rows(a, b)
    np.testing.assert_allclose(dpnp.asnumpy(given[0]), a, rtol=1e-12)
    assert (len(launches), copies) == (3, [])


def test_small_loops_can_be_switched_off(monkeypatch, copies, launches):
    monkeypatch.setenv("KAPI_OFFLOAD_SMALL", "0")
    a, b = (RANDOM.random((20, 30)) for _ in range(2))
    given = dpnp.asarray(a), dpnp.asarray(b)
    numba.njit(columns)(*given)
    columns(a, b)
    np.testing.assert_allclose(dpnp.asnumpy(given[0]), a, rtol=1e-12)
    assert launches
    assert not copies


def test_views_of_one_array_stay_views(copies):
    a = RANDOM.random((50, 60))
    given = dpnp.asarray(a)
    offloaded = numba.njit(columns)
    offloaded(given[:25], given[25:])
    columns(a[:25], a[25:])
    np.testing.assert_allclose(dpnp.asnumpy(given), a, rtol=1e-12)
