"""Loops whose iterations launch the same kernels with the same operands: the launches are bound after some."""

import dpnp
import numba
import numpy as np
import pytest

import kapi_runtime
from kapi_numba_offload.libraries.installed import default_library
from kapi_numba_offload.regions import fused_region, launch_repetition
from kapi_runtime.kernels.bound_launch import BoundLaunch

LIBRARY = type(default_library())

RANDOM = np.random.default_rng(11)

pytestmark = pytest.mark.usefixtures("no_small_loops")


@pytest.fixture(autouse=True)
def soon(monkeypatch):
    monkeypatch.setattr(fused_region, "_BOUND_AFTER", 3)


@pytest.fixture
def bound(monkeypatch):
    """The kernels of bound launches, one for each that was made."""
    made = []
    original = BoundLaunch.__call__
    monkeypatch.setattr(BoundLaunch, "__call__", lambda self, *given: (made.append(self.kernel), original(self))[1])
    return made


def one_kernel(a, b, c):
    for _ in range(10):
        b[:] = a * 0.5 + c
        c[:] = b - a


def two_kernels(a, b, c):
    for _ in range(10):
        b[1:-1] = 0.3 * (a[:-2] + a[1:-1] + a[2:]) + c[1:-1]
        a[1:-1] = 0.3 * (b[:-2] + b[1:-1] + b[2:])


@pytest.mark.parametrize(("function", "count"), [(one_kernel, 1), (two_kernels, 2)])
def test_later_iterations_are_bound_launches(function, count, bound, as_in_python):
    as_in_python(function, [RANDOM.random(3000) for _ in range(3)])
    assert len(bound) == count * (10 - 3)  # the first one has found out what is kept
    assert len(set(bound)) == count


def counted(a, b, c):
    for k in range(10):
        b[:] = a * k + c
        c[:] = b * 0.5


def changed_in_the_middle(a, b, c):
    factor = 0.5
    for k in range(12):
        if k == 7:
            factor = -0.0
        b[:] = np.copysign(c, a * factor + 0.0 * factor)
        c[:] = b * 0.5


def changed_late(a, b, c):
    factor = 1.0
    for k in range(12):
        if k == 8:
            factor = factor + 1e-3
        b[:] = a * factor
        c[:] = b + c


def signed_zeros(a, b, c):
    zero = 0.0
    for _ in range(12):
        b[:] = np.copysign(a, a * zero)
        c[:] = b + c
        zero = -zero


def exchanged(a, b, c):
    x, y = a, b
    for _ in range(11):
        y[:] = x * 0.5 + c
        x, y = y, x


def results(a, b, c):
    total = a
    for _ in range(10):
        total = total * 0.5 + b
    c[:] = total


def inner_loops(a, b, c):
    for k in range(3):
        for _ in range(8):
            b[:] = a[k] * 0.5 + c
            c[:] = b - a


@pytest.mark.parametrize(
    "function",
    [counted, changed_in_the_middle, changed_late, signed_zeros, exchanged, results, inner_loops],
    ids=lambda each: each.__name__,
)
def test_numbers_and_arrays_that_change_are_noticed(function, as_in_python):
    as_in_python(function, [RANDOM.random(500) - 0.5 for _ in range(3)])


def with_its_counter(a, b, c):
    for k in range(3, 40, 4):  # noqa: B007  it is used after the loop
        b[:] = a * 0.5 + c
        c[:] = b - a
    a[0] = k


def none(a, b, c):
    k = 7
    for k in range(0):  # noqa: B007  it is used after the loop
        b[:] = a * 0.5 + c
        c[:] = b - a
    a[0] = k


def in_a_loop(a, b, c):
    factor = 1.0
    for _ in range(4):
        for _ in range(9):
            b[:] = a * factor + c
            c[:] = b - a
        factor = factor * 0.5


@pytest.mark.parametrize("is_recorded", [False, True])
@pytest.mark.parametrize(
    "function", [one_kernel, two_kernels, with_its_counter, none, in_a_loop], ids=lambda each: each.__name__
)
def test_iterations_that_are_submitted_together_are_the_loop_s(function, is_recorded, as_in_python, monkeypatch):
    """Also where the driver replays a graph, which is recorded of two iterations."""
    made = []
    original = kapi_runtime.graph
    monkeypatch.setattr(kapi_runtime, "graph", lambda queue: (made.append(queue), original(queue))[1])
    monkeypatch.setattr(LIBRARY, "replays_graphs", is_recorded)
    monkeypatch.setattr(launch_repetition, "_RECORDED_FROM", 3)
    monkeypatch.setattr(launch_repetition, "_ITERATIONS", 2)
    as_in_python(function, [RANDOM.random(500) for _ in range(3)])
    assert bool(made) is (is_recorded and function is not none)


def test_loop_is_launched_plainly_where_no_graph_can_be_recorded(as_in_python, monkeypatch):
    monkeypatch.setattr(LIBRARY, "replays_graphs", True)
    monkeypatch.setattr(launch_repetition, "_RECORDED_FROM", 3)

    def refused(queue):
        raise kapi_runtime.KernelLaunchError("a stream must be captured, got none", code="graph-queue")

    monkeypatch.setattr(kapi_runtime, "graph", refused)
    as_in_python(one_kernel, [RANDOM.random(500) for _ in range(3)])


def test_each_call_has_its_own_arrays(bound):
    offloaded = numba.njit(one_kernel)
    for _ in range(2):
        host = [RANDOM.random(100) for _ in range(3)]
        given = [dpnp.asarray(each) for each in host]
        offloaded(*given)
        one_kernel(*host)
        for found, expected in zip(given, host, strict=True):
            np.testing.assert_allclose(found.asnumpy(), expected, rtol=1e-12)
    assert len(bound) == 2 * (10 - 3)


def test_observed_launches_are_all_seen(bound, launches):
    given = [dpnp.asarray(RANDOM.random(100)) for _ in range(3)]
    numba.njit(one_kernel)(*given)
    assert len(launches) == 10
    assert not bound
