"""Code that is no kernel runs on the host, with a warning for each reason, or is an error on request."""

import inspect
import re

import dpnp
import numba
import numpy as np
import pytest
from numba import prange

from kapi_numba_offload import REASONS, OffloadFallbackWarning
from kapi_sim.errors import KernelCompilationError
from kapi_sim.testing.reports import raises


def running_sum(a):
    for i in range(1, a.shape[0]):
        a[i] += a[i - 1]
    return a


def count_up(a):
    i = 0
    while i < a.shape[0] and a[i] < 3:
        i += 1
    return i, a


def carried(a):
    last = a[0]
    for i in prange(1, a.shape[0]):
        a[i] = a[i] + last
        last = a[i]
    return a


def value_after(a):
    t = 0.0
    for i in prange(a.shape[0]):
        t = a[i] * 2
        a[i] = t
    return a, t


def array_reduction(a):
    total = np.zeros(3, dtype=a.dtype)
    for i in prange(a.shape[0]):
        total += a[i]
    return total


def own_variable(a):
    for i in prange(a.shape[0]):
        j = i
        i = 0
        a[j] += i + 1
    return a


def not_in_kernel(a):
    for i in prange(a.shape[0]):
        a[i] = np.unwrap(a[i:]).size
    return a


SERIAL = {"carried-value": carried, "value-after-loop": value_after, "sequential-loop": running_sum}
EACH = {**SERIAL, "array-reduction": array_reduction, "loop-variable": own_variable, "not-in-kernel": not_in_kernel}


@pytest.mark.parametrize("reason", EACH)
def test_reason_is_reported_with_line_variable_and_hint(reason):
    """The warning has file, line, variable, reason id and what to change; the loop has run all the same."""
    a = dpnp.arange(1.0, 5.0)
    with pytest.warns(OffloadFallbackWarning) as caught:
        result = numba.njit(EACH[reason])(a)
    (warning,) = caught
    text = str(warning.message)
    lines = inspect.getsource(EACH[reason]).splitlines()
    line = EACH[reason].__code__.co_firstlineno + next(number for number, each in enumerate(lines) if "for" in each)
    told_at_the_loop = f"test_fallback.py:{line}: variable `" in text
    assert told_at_the_loop or reason == "not-in-kernel"  # which tells the line within
    assert f"[{reason}]; {REASONS[reason].cure}" in text
    if reason in SERIAL:
        expected = EACH[reason](np.arange(1.0, 5.0))
        first, other = (result[0], expected[0]) if isinstance(expected, tuple) else (result, expected)
        assert first is a
        np.testing.assert_allclose(first.asnumpy(), other)


def test_loops_of_a_function_with_one_cause_have_one_warning():
    """The first of them is named, at each call; another cause has a warning of its own."""

    def f(a, b):
        for i in range(1, a.shape[0]):
            a[i] += a[i - 1]
        for i in range(1, b.shape[0]):
            b[i] += b[i - 1]
        for i in prange(b.shape[0]):
            if b[i] > 100:
                break

    compiled, first = numba.njit(f), f.__code__.co_firstlineno
    for _ in range(2):
        with pytest.warns(OffloadFallbackWarning) as caught:
            compiled(dpnp.ones(4), dpnp.ones(4))
        found = [(re.search(r"\[([\w-]+)\]", str(each.message))[1], each.lineno - first) for each in caught]
        assert found == [("sequential-loop", 1), ("early-exit", 5)]


def test_while_loop_over_elements_returns_its_variable():
    """A variable that the loop leaves has its value; an array that it only reads is not copied back."""
    a = dpnp.arange(6.0)
    with pytest.warns(OffloadFallbackWarning, match=r"variable `a`.*\[sequential-loop\]"):
        index, same = numba.njit(count_up)(a)
    assert (index, same) == (3, a) or index == 3


def test_host_function_is_reported(assert_same):
    """A NumPy function that dpnp lacks runs on a copy, and its result is copied back."""

    @numba.njit
    def f(a):
        return np.polyint(a) + 1

    a = dpnp.arange(3.0)
    assert not hasattr(dpnp, "polyint")  # else another function shows it
    with pytest.warns(OffloadFallbackWarning, match=r"(?s)\[host-function\].*numpy\.polyint at"):
        result = f(a)
    assert_same(result, dpnp.asarray(np.polyint(np.arange(3.0)) + 1))


@pytest.mark.parametrize("variable", ["KAPI_OFFLOAD_FALLBACK", "NUMBA_DPPY_FALLBACK_OPTION"])
def test_fallback_is_an_error_where_it_is_switched_off(variable, monkeypatch):
    """The environment makes each an error, with the same words; numba-dppy's variable is honoured."""
    monkeypatch.setenv(variable, "0")
    a = dpnp.ones(3)
    with raises(KernelCompilationError, "offload-falls-back"):
        numba.njit(running_sum)(a)
    assert a.asnumpy().tolist() == [1, 1, 1]


def test_arrays_that_share_memory_keep_sharing_it():
    """Copies would not see each other's changes."""

    @numba.njit
    def f(a, b):
        for i in range(b.shape[0]):
            b[i] = a[i] + 1

    a = dpnp.zeros(4)
    with pytest.warns(OffloadFallbackWarning):
        f(a, a[1:])
    assert a.asnumpy().tolist() == [0, 1, 2, 3]


def test_arrays_made_by_a_host_loop_are_on_the_device():
    """Changes of copies by the loop are copied back, too."""

    @numba.njit
    def f(a):
        b = a * 0
        for i in range(a.shape[0]):
            b = np.full(4, a[i] * 2)
        return b

    with pytest.warns(OffloadFallbackWarning, match="sequential-loop"):
        result = f(dpnp.arange(4.0))
    assert isinstance(result, dpnp.ndarray)
    assert result.asnumpy().tolist() == [6] * 4


def test_host_loop_of_full_arrays_is_no_fallback(recwarn):
    """A plain loop that works on full arrays runs its kernels from Python."""

    @numba.njit
    def f(a, n):
        for k in range(n):
            a = a * 2 + k
        return a

    assert f(dpnp.ones(2), 3).asnumpy().tolist() == [12, 12]
    assert not [each for each in recwarn if issubclass(each.category, OffloadFallbackWarning)]


@numba.stencil
def three_points(a):
    return (a[-1] + a[0] + a[1]) * 0.5


def test_stencil_runs_on_the_host(assert_same):
    """`numba.stencil` is told, and gives what it gives for NumPy arrays."""

    @numba.njit
    def f(a):
        return three_points(a) + 1

    a = np.arange(6.0)
    with pytest.warns(OffloadFallbackWarning, match=r"(?s)`numba.stencil`.*\[host-function\].*stencil at"):
        result = f(dpnp.asarray(a))
    assert_same(result, dpnp.asarray(three_points(a) + 1))


@numba.njit
def spread(a, i):
    if a[i] > a[i - 1]:
        a[i] += a[i - 1]


def test_loops_whose_helpers_touch_elements_run_on_the_host():
    """Python would copy each element on its own."""

    @numba.njit
    def relax(a, steps):
        for _ in range(steps):
            for i in range(1, a.shape[0]):
                spread(a, i)

    expected = np.arange(8.0)
    relax.py_func(expected, 3)
    a = dpnp.arange(8.0)
    with pytest.warns(OffloadFallbackWarning, match=r"variable `a`.*\[sequential-loop\]"):
        relax(a, 3)
    np.testing.assert_array_equal(a.asnumpy(), expected)
