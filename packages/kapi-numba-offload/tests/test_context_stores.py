"""NumPy arguments in a device context: what a function stores is in them, or the store is refused, as under Numba."""

import numba
import numpy as np
import pytest
from numba import TypingError, prange

import kapi_runtime
from kapi_numba_offload._numba_compat import NumbaError
from kapi_numba_offload.libraries.installed import default_library

LIBRARY = type(default_library())


def by_slice(a):
    a[:] = a + 7


def by_part(a):
    b = a * 2
    a[1:3] = b[2:]


def in_place(a):
    a += 1
    a *= a


def by_element(a):
    b = a * 2
    a[0] = 5
    a[-1] = b[1]


def by_view(a):
    tail = a[1:]
    tail += 5
    tail[::-1][:2] = a[:2] * 3


def by_parallel_loop(a):
    for i in prange(a.shape[0]):
        a[i] = a[i] * 2 + i


def by_sequential_loop(a):
    b = a + 1
    for i in range(1, a.shape[0]):
        a[i] += a[i - 1] * b[i]


def by_method(a):
    b = a + 1
    a.fill(3)
    a[:2] = b[:2]


def by_output(a):
    np.add(a, 1.5, a)
    np.multiply(a * 2, a, a)


def by_mask(a):
    b = a > 1
    a[b] = 0


def by_copy(a):
    b = a * 2
    c = a.copy()
    c += 1
    d = a.ravel()
    d[0] = b[1]
    e = a.flatten()
    e[:] = 7


@numba.njit
def tripled(x, at):
    y = x * 3
    x[at] = y[at]


def by_function(a):
    b = a + 1
    tripled(a, 2)
    tripled(a[1:], 0)
    a[3] = b[3]


def by_tuple(a):
    both = (a, a[1:])
    both[1][:] = both[0][:3] * 2


STORES = [
    by_slice, by_part, in_place, by_element, by_view, by_parallel_loop, by_sequential_loop, by_method, by_output,
    by_mask, by_copy, by_function, by_tuple,
]  # fmt: skip


@pytest.mark.parametrize("function", STORES)
def test_stores_reach_the_argument(function, layouts, in_context):
    """And no other byte of its memory; Python is the reference."""
    compiled = numba.njit(function)
    for name, make in layouts.items():
        memories = []
        for call in (function, lambda a: in_context(compiled, a)):
            base, given = make()
            call(given)
            memories.append(np.array(base))
        np.testing.assert_array_equal(memories[1], memories[0], err_msg=name)


@pytest.mark.nightly(one_in=3)
@pytest.mark.parametrize("function", STORES)
def test_stores_reach_the_argument_from_other_memory(function, layouts, in_context, monkeypatch):
    """As on a device whose memory the host does not reach."""
    monkeypatch.setattr(LIBRARY, "is_reachable", lambda *_: False)
    compiled = numba.njit(function)
    for name, make in layouts.items():
        memories = []
        for call in (function, lambda a: in_context(compiled, a)):
            base, given = make()
            call(given)
            memories.append(np.array(base))
        np.testing.assert_array_equal(memories[1], memories[0], err_msg=name)


@pytest.mark.parametrize("function", STORES)
def test_stores_into_read_only_arguments_raise(function, layouts, in_context):
    """Whether Numba says so when it compiles, or not until it runs; the memory is as it was."""
    compiled = numba.njit(function)
    for name in ("whole", "strided"):
        base, given = layouts[name]()
        before = base.copy()
        given = given.view()
        given.flags.writeable = False
        if function is by_copy and name == "strided":
            in_context(compiled, given)  # it stores into a copy
        else:
            with pytest.raises((NumbaError, ValueError, AttributeError)):  # the last is Numba's own, of `a += b`
                in_context(compiled, given)
        np.testing.assert_array_equal(base, before)


@pytest.mark.parametrize(
    "make",
    [
        lambda: np.broadcast_to(np.zeros(1), (4,)),
        lambda: np.frombuffer(bytes(32)),
        lambda: np.broadcast_to(np.zeros(4), (3, 4))[1],
    ],
)
def test_refusal_of_a_store_matches_numba(make):
    """It has Numba's class and words, and comes without a warning."""
    for function in (by_slice, by_parallel_loop, by_element):
        with kapi_runtime.device_context("opencl:cpu"), pytest.raises(TypingError, match="readonly"):
            numba.njit(function)(make())


def test_functions_that_only_read_take_read_only_arguments(launches, in_context):
    f = numba.njit(lambda a, b: (a + b, a[1:]))
    locked = np.arange(3.0)
    locked.flags.writeable = False
    total, tail = in_context(f, locked, np.broadcast_to(np.ones(1), (3,)))
    assert len(launches) == 1
    assert total.tolist() == [1, 2, 3]
    assert not tail.flags.writeable
    assert np.shares_memory(tail, locked)


def test_writable_and_read_only_views_of_one_memory(in_context):
    """A store through the one is seen through the other."""

    @numba.njit
    def f(a, b):
        a += 1
        return b * 2

    memory = np.zeros(4)
    locked = memory[1:]
    locked.flags.writeable = False
    assert in_context(f, memory, locked).tolist() == [2, 2, 2]
    assert memory.tolist() == [1, 1, 1, 1]


def test_elements_with_several_indices(in_context):
    """Stride 0, and windows that overlap: a store is seen through each index."""

    @numba.njit
    def f(a):
        b = a + 1
        a[0] = b[1] * 5
        return a * 2

    def once():
        base = np.ones(1)
        return base, np.lib.stride_tricks.as_strided(base, (3,), (0,))

    def windows():
        base = np.arange(5.0)
        return base, np.lib.stride_tricks.as_strided(base, (3, 3), (8, 8))

    for make in (once, windows):
        (expected_base, expected), (base, given) = make(), make()
        np.testing.assert_array_equal(in_context(f, given), f(expected))
        np.testing.assert_array_equal(base, expected_base)


def test_the_same_array_twice_and_views_that_overlap(launches, in_context):
    @numba.njit
    def f(a, b, pair):
        a += 1
        b *= 2
        pair[0][0] = 10
        return a + pair[1]

    def calls():
        x, y = np.arange(4.0), np.arange(5.0)
        yield (x, x, (x, x)), (x,)
        yield (y[:-1], y[1:], (y[::-1][1:], y[:4])), (y,)
        z = np.arange(8.0)
        yield (z[::2], z[1::2], (z[:4], z[4:])), (z,)

    for (own, own_memory), (other, other_memory) in zip(calls(), calls(), strict=True):
        np.testing.assert_array_equal(in_context(f, *other), f(*own))
        np.testing.assert_array_equal(other_memory, own_memory)
    assert launches
