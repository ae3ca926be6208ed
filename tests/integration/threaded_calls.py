"""Calls from several threads on one queue, each checked: `threaded_calls.py offload|dpnp warm|cold THREADS CALLS`.

Each thread has arrays of its own, and numbers that no other thread has, so that a value of another thread, or of memory
that was given to somebody else too early, is seen. It runs in a process of its own: only there the first call is cold.
"""

from __future__ import annotations

import sys
import threading
from contextlib import nullcontext
from typing import Any

import dpnp
import numba
import numpy as np

import kapi_numba_offload
from kapi_runtime import memory

LENGTH = 96


def fused(a: Any, b: Any) -> Any:
    """One kernel of two statements."""
    c = a * b
    return c + a


def temporaries(a: Any, b: Any) -> Any:
    """Arrays that are made and freed while kernels are pending, of dpnp's functions and ours."""
    c = a + b
    d = np.roll(c, 1) * 2
    e = np.cumsum(d - c)
    return e + d


def in_place(a: Any, b: Any) -> Any:
    """Stores into memory that the next call reads."""
    b[:] = a * 3
    b += a
    return np.flip(b) - a


def reduced(a: Any, b: Any) -> Any:
    """A reduction in two kernels, and its result in a third one."""
    return a * np.sum(a * b) + b


def loop(a: Any, b: Any) -> Any:
    """A parallel loop over both arrays."""
    for i in numba.prange(a.shape[0]):
        b[i] = a[i] * 2 + i
    return b - a


FUNCTIONS = (fused, temporaries, in_place, reduced, loop)


def over_arrays(function: Any, a: Any, b: Any) -> Any:
    """Result of the function as plain Python over arrays; the loop as an expression."""
    if function is loop:
        b[:] = a * 2 + np.arange(LENGTH)
        return b - a
    return function(a, b)


def over_dpnp(function: Any, a: Any, b: Any) -> Any:
    """The same by dpnp alone."""
    if function is loop:
        b[:] = a * 2 + dpnp.arange(LENGTH)
        return b - a
    if function is temporaries:
        c = a + b
        d = dpnp.roll(c, 1) * 2
        return dpnp.cumsum(d - c) + d
    if function is in_place:
        b[:] = a * 3
        b += a
        return dpnp.flip(b) - a
    return a * dpnp.sum(a * b) + b if function is reduced else function(a, b)


def run(with_offload: bool, is_warm: bool, threads: int, calls: int) -> list[str]:
    """Make all calls, and say which gave something else than NumPy."""
    wrong: list[str] = []
    compiled = {function: numba.njit(function) for function in FUNCTIONS}
    # The first use of one of dpnp's extensions by several threads at once may never end, whoever calls it.
    for function in FUNCTIONS:
        over_dpnp(function, dpnp.arange(LENGTH) * 1.0, dpnp.arange(LENGTH) * 1.0 + 1).asnumpy()
        if is_warm and with_offload:
            compiled[function](dpnp.arange(LENGTH) * 1.0, dpnp.arange(LENGTH) * 1.0 + 1)
    to_device, to_host = (memory.asarray, memory.asnumpy) if with_offload else (dpnp.asarray, dpnp.asnumpy)
    together = threading.Barrier(threads)
    # dpnp's copies by several threads at once end the process within some ten thousand of them, by a segmentation fault
    # within Intel's runtime: each asks it to finish the queue. kapi's do not. All else is done at once.
    copying = nullcontext() if with_offload else threading.Lock()

    def work(number: int) -> None:
        rng = np.random.default_rng(number)
        together.wait()
        for call in range(calls):
            function = FUNCTIONS[(call + number) % len(FUNCTIONS)]
            one, other = rng.integers(0, 9, LENGTH) + number * 10.0, rng.integers(0, 9, LENGTH) * 1.0
            expected = over_arrays(function, one.copy(), other.copy())
            with copying:
                a, b = to_device(one), to_device(other)
            result = compiled[function](a, b) if with_offload else over_dpnp(function, a, b)
            with copying:
                found = to_host(result)
            if not np.array_equal(found, expected):
                wrong.append(f"thread {number}, call {call}, {function.__name__}: {found} for {expected}")

    workers = [threading.Thread(target=work, args=(number,)) for number in range(threads)]
    for each in workers:
        each.start()
    for each in workers:
        each.join()
    return wrong


def main(what: str, state: str, threads: str, calls: str) -> int:
    """Run, and print what was wrong."""
    wrong = run(what == "offload", state == "warm", int(threads), int(calls))
    print(*wrong[:5], sep="\n")
    print(f"{what}, {state}: {len(wrong)} wrong of {int(threads) * int(calls)}")
    return len(wrong) != 0


if __name__ == "__main__":
    assert kapi_numba_offload  # imported before the first array, which finds the driver
    sys.exit(main(*sys.argv[1:]))
