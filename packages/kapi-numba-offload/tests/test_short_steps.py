"""Loops of many iterations on a few elements each: Numba compiles them, and a warning says so if types may differ."""

import re
import warnings

import dpnp
import numba
import numpy as np
import pytest

import kapi_numba_offload
from kapi_numba_offload import OffloadFallbackWarning

LENGTH = 2000


@pytest.fixture(autouse=True)
def small_loops(monkeypatch, no_small_loops):
    monkeypatch.delenv("KAPI_OFFLOAD_SMALL")


@pytest.fixture
def accesses(monkeypatch):
    """The accesses of dpnp arrays by Python."""
    seen = []
    for name in ("__getitem__", "__setitem__"):
        method = getattr(dpnp.ndarray, name)
        monkeypatch.setattr(dpnp.ndarray, name, lambda *args, method=method: seen.append(1) or method(*args))
    return seen


@numba.njit
def stores(a, i, v):
    a[i] = v


def changed_by_a_function(a, b):
    for i in range(a.shape[0]):
        b[i : i + 2] *= 0.5
        stores(b[:, 0], i, a[i, 1])


@numba.njit
def spread(row, other):
    row += other
    row[0] = 0.5


def by_a_function_of_rows(a, b):
    for i in range(a.shape[0]):
        spread(b[i], a[i])


def by_a_view(a, b):
    for i in range(a.shape[0]):
        row = a[i]
        row += b.astype(np.float64)[i]
        row *= 0.5


def of_two_lengths(a, b):
    for i, row in enumerate(a):
        b[i] = row
        b[i // 2 : i // 2 + 2, 1] += 1.0


WARNED = {changed_by_a_function: (), by_a_view: (), by_a_function_of_rows: ("float32", "float64"), of_two_lengths: ()}


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("function", WARNED, ids=lambda each: each.__name__)
def test_short_steps_are_compiled(function, dtype, accesses):
    """Compiled from the first call on; a warning names the loop where types may be others than NumPy's."""
    a = (np.arange(3 * LENGTH) % 17).reshape(LENGTH, 3).astype(dtype)
    b = np.ones((LENGTH, 3), dtype)
    given = dpnp.asarray(a), dpnp.asarray(b)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = numba.njit(function)(*given)
    assert len(accesses) < 50
    assert [type(each.message) for each in caught] == [OffloadFallbackWarning] * (dtype in WARNED[function])
    line = function.__code__.co_firstlineno + 1
    assert all(each.filename == __file__ and each.lineno == line for each in caught)
    assert all("[short-steps]" in str(each.message) for each in caught)
    expected = function(a, b)
    if expected is not None:
        np.testing.assert_allclose(found.asnumpy(), expected, rtol=1e-6)
    np.testing.assert_allclose(given[0].asnumpy(), a, rtol=1e-6)
    np.testing.assert_allclose(given[1].asnumpy(), b, rtol=1e-6)


def test_steps_that_numba_refuses_are_reported_before_they_run(accesses):
    """`numpy.ptp` along an axis is none of Numba's functions."""
    before = []

    def f(a, b):
        for i in range(a.shape[0]):
            b[i] = np.ptp(a[i : i + 1], axis=0)

    def note(*_args, **_keywords):
        before.append(len(accesses))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(warnings, "warn_explicit", note)
        numba.njit(f)(dpnp.ones((300, 3)), dpnp.ones((300, 3)))
    assert before
    assert before[0] < 10


def test_steps_that_cannot_be_compiled_alone_are_reported(accesses):
    """A loop that yields stays where it is; each of its statements is a launch."""

    def f(a, b):
        for i in range(a.shape[0]):
            b[i] = a[i] * 2
            if i % 100 == 0:
                yield i

    a, b = dpnp.ones((300, 3)), dpnp.zeros((300, 3))
    with pytest.warns(OffloadFallbackWarning) as caught:
        found = list(numba.njit(f)(a, b))
    (warning,) = caught
    text = r"(?s)\[short-steps\].*it cannot be compiled apart: it yields.*Python runs it, a launch at a time"
    assert re.search(text, str(warning.message))
    assert (warning.filename, warning.lineno) == (__file__, f.__code__.co_firstlineno + 1)
    assert found == [0, 100, 200]
    assert bool((b == 2).all())


@pytest.mark.sycl
@pytest.mark.parametrize("length", [300, 200])
def test_steps_stay_on_the_device_without_fallback_and_a_warning_says_so(length, accesses):
    def f(a, b):
        for i in range(a.shape[0]):
            b[i] = a[i] * 2

    a, b = dpnp.ones((length, 3)), dpnp.zeros((length, 3))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        kapi_numba_offload.offload(fallback=False)(f)(a, b)
    assert len(caught) == (length >= 256)
    assert all("[short-steps]" in str(each.message) for each in caught)
    assert all("It stays on the device, a launch at a time" in str(each.message) for each in caught)
    assert bool((b == 2).all())
    assert len(accesses) >= length


def test_arrays_that_short_steps_leave_have_the_dtypes_of_numpy(accesses):
    """NumPy runs each statement, as Numba's sum of `float32` and a Python number is `float64`; a warning says so."""

    def f(a):
        v = a[0] * 2
        for i in range(a.shape[0]):
            v = v * 0.5 + a[i]
        return v

    a = np.ones((300, 3), "float32")
    with pytest.warns(OffloadFallbackWarning, match=r"(?s)\[short-steps\].*NumPy runs it.*`v` would have"):
        found = numba.njit(f)(dpnp.asarray(a))
    assert found.dtype == np.float32
    np.testing.assert_allclose(found.asnumpy(), f(a), rtol=1e-6)
    assert len(accesses) < 10


@pytest.mark.sycl
def test_steps_over_large_rows_stay_on_the_device():
    def f(a, b):
        for i in range(a.shape[0]):
            b[i] = a[i] * 2

    a, b = dpnp.ones((300, 40_000)), dpnp.zeros((300, 40_000))
    found = kapi_numba_offload.explain(numba.njit(f), a, b)
    assert [(each.where, each.runs) for each in found.parts] == [("kernel", 300)]
    assert bool((b == 2).all())


@pytest.mark.sycl
@pytest.mark.parametrize("size", [10, 1000])
def test_updates_by_other_parts_of_an_array_have_results_of_numpy_in_compiled_loops(size, accesses):
    """Numba reads and stores one element after the other in `a[1:] += a[:-1]`."""

    def f(a, b):
        for _ in range(300):
            a[1:] += a[:-1]
            a *= 0.5
            b += b[::-1]
            b *= 0.5
        return a

    on_host = [np.arange(float(size)), np.arange(float(size)) ** 0.5]
    on_device = [dpnp.asarray(each) for each in on_host]
    numba.njit(f)(*on_device)
    f(*on_host)
    assert not accesses
    for found, expected in zip(on_device, on_host, strict=True):
        np.testing.assert_allclose(found.asnumpy(), expected, rtol=1e-12)


def test_functions_that_numba_runs_take_arrays_that_share_memory(accesses):
    """A statement reads all of an expression before it stores, under Numba, too."""

    def f(a, b):
        b[:] = 0.5 * b + a
        kept = []
        for i in range(len(a)):
            kept.append(a[i] + b[i])
        return len(kept), kept[-1]

    memory = np.arange(601.0)
    given = dpnp.asarray(memory)
    with pytest.warns(OffloadFallbackWarning):
        found = numba.njit(f)(given[1:], given[:-1])
    assert len(accesses) < 10
    assert found == f(memory[1:], memory[:-1])
    np.testing.assert_array_equal(given.asnumpy(), memory)


def by_an_alias(a, b):
    """Numba compiles all of a function with such a list."""
    w = b[:-1]
    kept = [(0, 1)]
    for i in range(a.shape[0]):
        kept.append((i, int(a[i, 0])))
    b[1:] += w * 2


def in_a_loop_of_the_host(a, b):
    for i in range(a.shape[0]):
        a[i, 1:] += a[i, :-1]
        b[i // 2] *= 0.5


@pytest.mark.filterwarnings("ignore::kapi_numba_offload.OffloadFallbackWarning")
@pytest.mark.parametrize("function", [by_an_alias, in_a_loop_of_the_host], ids=lambda each: each.__name__)
def test_updates_in_place_read_all_before_they_store_on_the_host(function):
    on_host = [np.arange(40.0).reshape(8, 5), np.arange(8.0)]
    on_device = [dpnp.asarray(each) for each in on_host]
    numba.njit(function)(*on_device)
    function(*on_host)
    for found, expected in zip(on_device, on_host, strict=True):
        np.testing.assert_array_equal(found.asnumpy(), expected)
