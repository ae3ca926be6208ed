"""Loops that are left by `return`, `break`, `yield` or an exception go on as Python's do, wherever they run."""

import inspect

import dpnp
import numba
import numpy as np
import pytest
from numba import prange

from kapi_numba_offload import OffloadFallbackWarning

pytestmark = pytest.mark.filterwarnings("ignore::kapi_numba_offload.OffloadFallbackWarning")


def position(a, out):
    for i in range(a.size):
        if a[i] > 2.5:
            return i
    return -1


def pair(a, out):
    for i in range(a.size):
        if a[i] > 2.5:
            return i, a[i]
    return -1, 0.0


def bare(a, out):
    for i in range(a.size):
        if a[i] > 3.5:
            return
        out[i] = a[i]
    out[:] = 99


def accumulated(a, out):
    s = 0.0
    for i in range(a.size):
        s += a[i]
        if s > 4:
            return s
    return s * 100


def from_inner_loop(a, out):
    for i in range(a.size):
        j = 0
        while j < a.size:
            if a[i] + a[j] == 7:
                return i, j
            j += 1
        out[i] = j
    return -1, -1


def otherwise(a, out):
    for i in range(a.size):
        if a[i] > 9:
            found = i
            break
    else:
        found = -5
    return found


def out_of_the_outer_loop(a, out):
    k = 0
    while True:
        k += 1
        for i in range(a.size):
            out[i] += a[i]
            if out[i] > 9:
                break
        else:
            continue
        break
    return k


def kept_over_a_break(a, out):
    s = -1.0
    k = 0
    while True:
        for i in range(a.size):
            s = a[i] * 2
        k += 1
        if k > 2:
            break
        s = 0.0
    return s


def without_value(a, out):
    for i in range(a.size):
        if a[i] > 90:
            x = a[i]
    if a.size > 90:
        return x
    return 3.0


def value_of_an_earlier_round(a, out):
    total = 0.0
    for k in range(3):
        for i in range(k, 2):
            x = a[i] + k
        total += x
    return total


def assigned_later(a, out):
    total = 0.0
    if a.size > 1:
        t = 1.0
    for k in range(3):
        for i in range(a.size):
            if k > 0:
                total += a[i] * t
        t = k * 2.0
    return total


def assigned_within(a, out):
    s = 0.0
    i = 0
    while i < a.size and (x := a[i]) < 4:
        s += x
        i += 1
    return s, x


def all_yielded(a, out):
    for i in range(a.size):
        out[i] = a[i] * 2
        yield a[i]
    yield 1.0


def generator(a, out):
    return [float(each) for each in all_yielded(a, out)]


def finally_done(a, out):
    s = 0.0
    try:
        for i in range(a.size):
            s += a[i]
            if a[i] > 2:
                return s
    finally:
        out[:] = s


def stopped_by_an_exception(a, out):
    s = 0.0
    try:
        for i in range(a.size):
            s += a[i]
            out[i] = s
            if a[i] > 2:
                raise ValueError("found")
    except ValueError:
        return s
    return -1.0


def parallel_return(a, out):
    for i in prange(a.size):
        out[i] = a[i]
        if a[i] > 2.5:
            return i
    return -1


def parallel_break(a, out):
    s = 0.0
    for i in prange(a.size):
        if a[i] > 2.5:
            break
        s += a[i]
        out[i] = 1
    return s


def parallel_otherwise(a, out):
    s = 0.0
    for i in prange(a.size):
        s += a[i]
    else:
        s += 100
    return s


def parallel_inner_break(a, out):
    s = 0.0
    for i in prange(a.size):
        for j in prange(a.size):
            if a[j] > i:
                break
            out[i] += 1
        s += out[i]
    return s


def row(a, out):
    b = np.reshape(a, (3, 2))
    for i in range(b.shape[0]):
        if b[i, 0] > 1:
            return b[i]
    return b[0] * 0


def rows_of_one_array(a, out):
    b = np.reshape(a, (3, 2))
    for i in range(b.shape[0]):
        if b[i, 0] > 1:
            first, second = b[i], a
            break
    first += 10
    return second, a * 1


def views_in_a_loop(a, out):
    b = a[::-1]
    c = a[1:]
    for i in range(c.size):
        c[i] = b[i] + a[i]
    return b, c


FUNCTIONS = [
    position, pair, bare, accumulated, from_inner_loop, otherwise, out_of_the_outer_loop, kept_over_a_break,
    without_value, value_of_an_earlier_round, assigned_later, assigned_within, generator, finally_done,
    stopped_by_an_exception, parallel_return, parallel_break, parallel_otherwise, parallel_inner_break, row,
    rows_of_one_array, views_in_a_loop,
]  # fmt: skip


def values(found):
    if isinstance(found, tuple):
        return [values(each) for each in found]
    return found.tolist() if isinstance(found, (np.ndarray, np.generic)) else found


def on_host(found):
    if isinstance(found, tuple):
        return tuple(map(on_host, found))
    return found.asnumpy() if isinstance(found, dpnp.ndarray) else found


@pytest.mark.parametrize("function", FUNCTIONS)
def test_loop_leaves_what_python_s_does(function, monkeypatch):
    """Results, arguments and their sharing of memory are those of the same Python over NumPy arrays."""
    compiled = numba.njit(all_yielded if function is generator else function)
    for compiles in (True, False):
        if not compiles:  # as where Numba cannot compile the loop
            monkeypatch.setattr(
                "kapi_numba_offload.loops.host.host_loop.HostLoop._call", lambda loop, args: loop.function(*args)
            )
        a, out = np.arange(1.0, 7.0), np.zeros(6)
        device_a, device_out = dpnp.asarray(a), dpnp.asarray(out)
        found = compiled(device_a, device_out)
        found = [float(each) for each in found] if function is generator else on_host(found)
        assert values(found) == values(function(a, out))
        assert [device_a.asnumpy().tolist(), device_out.asnumpy().tolist()] == [a.tolist(), out.tolist()]


def test_row_that_a_loop_returns_is_a_view():
    """As in Python: what is stored to it is stored to the array."""
    a = dpnp.arange(6.0)
    found = numba.njit(row)(a, a)
    found += 100
    assert a.asnumpy().tolist() == [0, 1, 102, 103, 4, 5]


def test_stores_before_an_exception_stay():
    """An exception leaves what iterations before it did."""

    def stop(a):
        for i in range(a.size):
            a[i] *= 2
            if i == 1:
                raise ValueError("enough")

    a = dpnp.ones(4)
    with pytest.raises(ValueError, match="enough"):
        numba.njit(stop)(a)
    assert a.asnumpy().tolist() == [2, 2, 1, 1]


@pytest.mark.filterwarnings("default::kapi_numba_offload.OffloadFallbackWarning")
@pytest.mark.parametrize(
    ("function", "words"),
    [
        (parallel_return, r"\[early-exit\].*It runs on the host"),
        (stopped_by_an_exception, r"\[sequential-loop\].*left by an exception.*Python runs it"),
        (position, r"\[sequential-loop\].*It runs on the host"),
    ],
)
def test_reason_and_path_are_reported(function, words):
    """The warning has the loop's line, the device that runs it, and the reason."""
    lines = inspect.getsource(function).splitlines()
    line = function.__code__.co_firstlineno + next(number for number, each in enumerate(lines) if "for" in each)
    with pytest.warns(OffloadFallbackWarning, match=rf"(?s)test_leaving_loops.py:{line}: .*{words}"):
        numba.njit(function)(dpnp.ones(6), dpnp.zeros(6))


@pytest.mark.parametrize("length", [0, 1])
def test_loops_over_few_elements(length):
    """Loops without iterations leave their variables as they were."""
    for function in (position, pair, accumulated, otherwise, without_value, views_in_a_loop):
        a = np.arange(length) * 1.0
        found = on_host(numba.njit(function)(dpnp.asarray(a), dpnp.zeros(length)))
        assert values(found) == values(function(a, np.zeros(length)))
