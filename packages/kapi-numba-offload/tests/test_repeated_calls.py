"""Calls in the context of the CPU that are like earlier ones: what these resolved serves where nothing differs."""

import threading

import numba
import numpy as np
import pytest
from numba import prange

import kapi_numba_offload
import kapi_runtime
from kapi_sim.errors import DataRaceError


@pytest.fixture
def on_cpu():
    with kapi_runtime.device_context("cpu"):
        yield


def stored(a, b, k):
    for i in prange(a.shape[0]):
        b[i] = a[i] * k + b[i]
    return k


def reduced(a, b, k):
    total, most, count = 0.0, -1e9, 0
    for i in prange(2, a.shape[0]):
        total += a[i] * k - b[i - 2]
        most = max(most, b[i])
        if a[i] > 2:
            count += 1
    return total, most, count


def from_the_end(a, b, k):
    """The sign of a number decides whether it is an index from the end."""
    for i in prange(a.shape[0]):
        b[i] = a[k] + i
    return k


def by_expressions(a, b, k):
    c = a * k + b
    return c, c.sum()


def late(a, b, k):
    """A row that is read after a store to what may be its array."""
    for i in prange(a.shape[0] - 1):
        row = a[i : i + 2] * 1.0
        b[i] = k
        b[i] += row.sum()
    return k


def aligned(a, offset):
    """A copy of an array that begins so many bytes behind a multiple of 64."""
    room = np.empty(a.nbytes + 128, np.uint8)
    start = -room.ctypes.data % 64 + offset
    made = room[start : start + a.nbytes].view(a.dtype).reshape(a.shape)
    made[...] = a
    return made


def read_only(a):
    a = a.copy()
    a.flags.writeable = False
    return a


BASE = np.arange(40.0) / 8 - 1


def base():
    return BASE.copy(), BASE[::-1].copy(), 3


VARIATIONS = {
    "dtype": lambda: (BASE.astype(np.float32), BASE[::-1].copy(), 3),
    "integers": lambda: (np.arange(40), BASE.copy(), 3),
    "both dtypes": lambda: (BASE.astype(np.float32), BASE[::-1].astype(np.float32), 3),
    "shorter": lambda: (BASE[:17].copy(), BASE[:17].copy(), 3),
    "longer second": lambda: (BASE[:17].copy(), BASE.copy(), 3),
    "one element": lambda: (BASE[:1].copy(), BASE[:1].copy(), 0),
    "no element": lambda: (BASE[:0].copy(), BASE[:0].copy(), 0),
    "strides": lambda: (np.repeat(BASE, 2)[::2], BASE[::-1].copy(), 3),
    "other strides": lambda: (np.repeat(BASE, 3)[::3], np.repeat(BASE, 2)[::2], 3),
    "backwards": lambda: (BASE[::-1], BASE.copy(), 3),
    "no stride": lambda: (np.broadcast_to(BASE[3], 40), BASE.copy(), 3),
    "alignment": lambda: (aligned(BASE, 8), aligned(BASE, 24), 3),
    "misaligned": lambda: (aligned(BASE, 4), aligned(BASE, 1), 3),
    "read-only": lambda: (read_only(BASE), BASE[::-1].copy(), 3),
    "the same array": lambda: (lambda a: (a, a, 3))(BASE.copy()),
    "neighbours": lambda: (lambda a: (a[:40], a[40:], 3))(np.concatenate((BASE, BASE[::-1]))),
    "negative": lambda: (BASE.copy(), BASE[::-1].copy(), -3),
    "another number": lambda: (BASE.copy(), BASE[::-1].copy(), 5),
    "a float": lambda: (BASE.copy(), BASE[::-1].copy(), 3.0),
    "a truth value": lambda: (BASE.copy(), BASE[::-1].copy(), True),
    "float32": lambda: (BASE.copy(), BASE[::-1].copy(), np.float32(3)),
    "int8": lambda: (BASE.copy(), BASE[::-1].copy(), np.int8(-3)),
    "int64": lambda: (BASE.copy(), BASE[::-1].copy(), np.int64(3)),
}  # fmt: skip


def outcome(function, args):
    """The result and what is in the arrays then; Numba's refusal by its class."""
    try:
        result = function(*args)
    except Exception as error:
        return type(error).__name__
    return result, [each.copy() for each in args if isinstance(each, np.ndarray)]


def assert_same(found, expected):
    if isinstance(expected, str):
        assert found == expected
        return
    for one, other in zip(
        found[0] if isinstance(found[0], tuple) else found[:1],
        expected[0] if isinstance(expected[0], tuple) else expected[:1],
        strict=True,
    ):
        assert getattr(one, "dtype", type(one)) == getattr(other, "dtype", type(other))
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-6)
    for one, other in zip(found[1], expected[1], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-6)


@pytest.mark.filterwarnings("ignore::kapi_numba_offload.OffloadFallbackWarning")
@pytest.mark.parametrize(
    ("function", "small"),
    [(stored, "0"), (reduced, "0"), (reduced, "32768"), (from_the_end, "0"), (by_expressions, "0"), (late, "0")],
)
def test_what_differs_from_earlier_calls_counts(monkeypatch, function, small):
    """Each variation comes between two calls of the first kind: it must neither use their launch nor spoil it."""
    monkeypatch.setenv("KAPI_OFFLOAD_SMALL", small)
    by_numba, offloaded = numba.njit(function), numba.njit(function)
    for name, make in VARIATIONS.items():
        if function is late and name == "the same array":
            continue  # below
        if function is from_the_end and name not in ("negative", "int8", "another number", "int64", "shorter"):
            continue  # floats are no indices
        for each in (base, make, make, base):
            expected = outcome(by_numba, each())
            with kapi_runtime.device_context("cpu"):
                found = outcome(offloaded, each())
            assert_same(found, expected)


@pytest.mark.filterwarnings("ignore::kapi_numba_offload.OffloadFallbackWarning")
def test_arrays_that_share_memory_after_others_that_do_not(on_cpu):
    offloaded = numba.njit(late)
    for is_shared in (False, False, True, True, False):
        a = BASE.copy()
        b = a if is_shared else BASE[::-1].copy()
        own = a.copy()
        expected = late(own, own if is_shared else b.copy(), 2)
        assert offloaded(a, b, 2) == expected
        if is_shared:
            np.testing.assert_allclose(a, own)


def test_bounds_that_differ(on_cpu):
    @numba.njit
    def filled(a, start, stop):
        for i in prange(start, stop):
            a[i] += i

    for start, stop in ((0, 10), (0, 10), (3, 10), (0, 10), (-4, 0), (5, 5), (0, 10), (-4, 0), (True, 10), (1, 10)):
        a, expected = np.zeros(10), np.zeros(10)
        filled(a, start, stop)
        for i in range(start, stop):
            expected[i] += i
        assert a.tolist() == expected.tolist()


def test_contexts_of_other_queues(launches):
    """A launch that was resolved in one context runs on the queue of the next one."""
    function, other = numba.njit(stored), kapi_runtime.queue("cpu")
    for context in ("cpu", "cpu", other, "cpu", other):
        a, b, k = base()
        with kapi_runtime.device_context(context):
            function(a, b, k)
        np.testing.assert_allclose(b, BASE * 3 + BASE[::-1])
    assert len(launches) == 5
    a, b, k = base()
    function(a, b, k)  # by Numba
    np.testing.assert_allclose(b, BASE * 3 + BASE[::-1])
    assert len(launches) == 5


def test_threads_with_shapes_of_their_own():
    function, failures = numba.njit(reduced), []

    def work(length):
        a, b = np.arange(length) / 4, np.ones(length)
        expected = reduced(a, b, 2)
        with kapi_runtime.device_context("cpu"):
            for _ in range(200):
                if not np.allclose(function(a, b, 2), expected):
                    failures.append(length)

    threads = [threading.Thread(target=work, args=(length,)) for length in (5, 40, 400, 4000)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert failures == []


def test_races_are_looked_for_after_calls_without(on_cpu):
    @numba.njit
    def shifted(a):
        for i in prange(1, a.shape[0]):
            a[i] = a[i - 1]

    for _ in range(2):
        shifted(np.ones(9))
    with pytest.raises(DataRaceError):
        kapi_numba_offload.check_races(shifted, np.ones(9))


def test_explanations_name_calls_like_earlier_ones(monkeypatch, on_cpu):
    for small, reason in (("0", ""), ("32768", "its arrays are small")):
        monkeypatch.setenv("KAPI_OFFLOAD_SMALL", small)
        function = numba.njit(stored)
        for _ in range(2):
            function(*base())
        (part,) = kapi_numba_offload.explain(function, *base()).parts
        assert part.reason.startswith(reason)
        assert bool(part.reason) == bool(reason)
