"""`numpy.histogram` of equal bins in offloaded functions: NumPy's counts and edges, and its errors."""

import dpnp
import numpy as np
import pytest
from numba import njit

import kapi_runtime
from kapi_numba_offload.libraries.arrays import device_facts, queue_of
from kapi_numba_offload.run.launching import launches as collected

RANDOM = np.random.default_rng(29)


@njit
def of_all(a, bins):
    return np.histogram(a, bins)


@njit
def within(a, bins, low, high):
    return np.histogram(a, bins=bins, range=(low, high))


@njit
def by_default(a):
    return np.histogram(a)


@njit
def weighted(a, bins, weights):
    return np.histogram(a, bins, weights=weights)


def compare(found, expected):
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one.asnumpy(), other)


def is_counted(function, *args, expected):
    """Compare, and tell whether kernels counted where they are to: on a GPU the array library's function does it."""
    return has_counted(function, *args, expected=expected) == device_facts(queue_of(args[0])).is_cpu


def has_counted(function, *args, expected):
    """Compare with what is expected, on a GPU with the library's own; tell whether kernels counted."""
    is_cpu = device_facts(queue_of(args[0])).is_cpu
    if not is_cpu:
        expected = [each.asnumpy() for each in function.py_func(*args)]
    with collected() as seen:
        compare(function(*args), expected)
    return "count" in [kernel.__name__ for kernel, *_ in seen]


def values(dtype, kind, count, bins):
    """Numbers of a kind: spread, on edges, beside edges, far from zero, all the same."""
    if dtype[0] in "iu":
        ends = np.iinfo(dtype) if kind == "spread" else None
        low, high = (ends.min, ends.max) if ends else (3, 100)
        made = RANDOM.integers(low, high, count, endpoint=True).astype(dtype)
        if kind == "far" and dtype == "int64":
            made += 2**60
    else:
        edges = np.linspace(-3, 7, bins + 1)[RANDOM.integers(0, bins + 1, count)].astype(dtype)
        made = {
            "spread": RANDOM.standard_normal(count).astype(dtype),
            "on edges": edges,
            "beside edges": np.nextafter(edges, np.where(RANDOM.random(count) < 0.5, -9, 9).astype(dtype)),
            "far": (RANDOM.standard_normal(count) + 1e6).astype(dtype),
            "one": np.full(count, 0.1, dtype),
        }[kind]
    return np.full_like(made, made[0]) if kind == "one" and count else made


@pytest.mark.nightly(one_in=3)
@pytest.mark.parametrize("kind", ["spread", "on edges", "beside edges", "far", "one"])
@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint32", "float32", "float64"])
def test_counts_and_edges_match_numpy(dtype, kind, is_gpu):
    for count, bins in [(1, 1), (63, 7), (4096, 3), (30_001, 1000), (500, 4096)]:
        if (kind, dtype) == ("far", "float32") and bins != 3:
            continue  # float32 has too few numbers between the ends
        a = values(dtype, kind, count, bins)
        try:
            expected = np.histogram(a, bins)
        except ValueError:  # far from zero, edges are one and the same
            if not is_gpu:
                with pytest.raises(ValueError, match="Too many bins"):
                    of_all(dpnp.asarray(a), bins)
            continue
        assert is_counted(of_all, dpnp.asarray(a), bins, expected=expected)


@pytest.mark.nightly(one_in=3)
@pytest.mark.parametrize("limits", [(-3, 7), (-3.0, 7.0), (0, 0), (0.1, 0.1), (-1, 0.5), (5.5, 60), (1e-300, 1.0)])
@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
def test_a_range_leaves_out_what_is_beyond(dtype, limits):
    for kind in ("spread", "beside edges"):
        a = values(dtype, kind, 5000, 10)
        if dtype[0] == "f":
            a[:3] = np.nan, np.inf, -np.inf
        assert is_counted(within, dpnp.asarray(a), 10, *limits, expected=np.histogram(a, 10, limits))


def test_ranges_of_numpy_numbers():
    a = values("float32", "beside edges", 5000, 30)
    for low, high in [
        (np.float32(-3), np.float32(7)),
        (np.float32(0.3), 2.5),
        (np.float64(-2), 2.5),
        (-1, np.float32(3)),
    ]:
        for given in (a, a.astype(np.float64), (a * 9).astype(np.int32)):
            assert is_counted(within, dpnp.asarray(given), 30, low, high, expected=np.histogram(given, 30, (low, high)))


def test_arrays_of_other_layouts():
    a = RANDOM.random((40, 50))
    given = dpnp.asarray(a)
    for one, other in [(given, a), (given.T, a.T), (given[::3, 1::2], a[::3, 1::2]), (given[7, ::-2], a[7, ::-2])]:
        assert is_counted(of_all, one, 9, expected=np.histogram(other, 9))
    assert is_counted(by_default, given, expected=np.histogram(a))


def test_an_array_without_elements():
    assert is_counted(of_all, dpnp.zeros(0), 4, expected=np.histogram(np.zeros(0), 4))
    empty = np.zeros((3, 0), np.int32)
    assert is_counted(within, dpnp.asarray(empty), 4, 1, 2, expected=np.histogram(empty, 4, (1, 2)))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_ends_that_are_not_finite_are_an_error(value):
    a = np.ones(1000)
    a[500] = value
    with pytest.raises(ValueError, match="is not finite"):
        of_all(dpnp.asarray(a), 3)
    with pytest.raises(ValueError, match="is not finite"):
        within(dpnp.ones(9), 3, 0.0, value if value > 0 else np.nan)
    with pytest.raises(ValueError, match="max must be larger than min"):
        within(dpnp.ones(9), 3, 2, 1)


@pytest.mark.sycl  # CuPy's edges may be equal
def test_too_many_bins_are_an_error():
    a = dpnp.asarray(np.array([1.0, np.nextafter(1.0, 2.0)]))
    with pytest.raises(ValueError, match="Too many bins for data range"):
        of_all(a, 10)


def test_bins_that_are_none_are_an_error():
    for bins in (0, -2):
        with pytest.raises(ValueError, match="positive"):
            of_all(dpnp.ones(9), bins)


def test_other_calls_stay_with_dpnp():
    a = RANDOM.random(1000)
    edges = np.array([0.0, 0.25, 1.0])
    assert not has_counted(of_all, dpnp.asarray(a), dpnp.asarray(edges), expected=np.histogram(a, edges))
    with collected() as seen:
        found = weighted(dpnp.asarray(a), 5, dpnp.asarray(a))
    assert not seen
    np.testing.assert_allclose(found[0].asnumpy(), np.histogram(a, 5, weights=a)[0])


@njit
def mean_of_counts(a, bins):
    counts, edges = np.histogram(a, bins=bins)
    return counts * (edges[1:] - edges[:-1])


@pytest.fixture
def small(monkeypatch):
    """Small calls over NumPy arrays, which Numba computes."""
    monkeypatch.delenv("KAPI_OFFLOAD_SMALL")
    with kapi_runtime.device_context("cpu"), collected() as seen:
        yield
        assert not seen


@pytest.mark.parametrize("kind", ["spread", "on edges", "beside edges", "far", "one"])
@pytest.mark.parametrize("dtype", ["int64", "float64"])
def test_small_calls_match_numpy(small, dtype, kind):
    """Numba's own counts differ beside edges."""
    for count, bins in [(0, 4), (1, 1), (63, 7), (4096, 3), (20_000, 1000), (500, 4096)]:
        a = values(dtype, kind, count, bins) if count else np.zeros(0, dtype)
        try:
            expected = np.histogram(a, bins)
        except ValueError:
            with pytest.raises(ValueError, match="Too many bins for data range"):
                of_all(a, bins)
            continue
        for ours, numpys in zip(of_all(a, bins), expected, strict=True):
            assert ours.dtype == numpys.dtype
            np.testing.assert_array_equal(ours, numpys)


def test_small_calls_of_other_forms_match_numpy(small):
    a = RANDOM.random((40, 50))
    np.testing.assert_array_equal(by_default(a.T)[0], np.histogram(a)[0])
    np.testing.assert_array_equal(mean_of_counts(a[::3, 1::2], 6), mean_of_counts.py_func(a[::3, 1::2], 6))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_errors_of_small_calls_are_those_of_numpy(small, value):
    with pytest.raises(ValueError, match="is not finite"):
        of_all(np.array([1.0, value, 2.0]), 3)
    with pytest.raises(ValueError, match="positive"):
        of_all(np.ones(9), 0)
