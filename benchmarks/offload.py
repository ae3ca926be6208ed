"""Offloaded njit functions against NumPy, Numba's parallel code and unfused dpnp, and what a call costs; run alone."""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import dpnp
import numba
import numpy as np
from timing import interleaved

import kapi_numba_offload
import kapi_runtime

__all__ = ["call_overhead", "throughput"]


def eight_operations(a, b, c):
    return ((a * b + c) * a - b) * 0.5 + c * (a + b)


def sum_of_products(a, b, c):
    return np.sum(a * b)


def plain_sum(a, b, c):
    return np.sum(a)


def prange_sum(a, b, c):
    s = 0.0
    for i in numba.prange(a.shape[0]):
        s += a[i] * b[i]
    return s


def three_points(a, b, c):
    c[1:-1] = (a[:-2] + a[1:-1] + a[2:]) * 0.25
    return c


FUNCTIONS = (eight_operations, sum_of_products, plain_sum, prange_sum, three_points)


class _Dpnp:
    def __getattr__(self, name: str) -> Any:
        return getattr(dpnp, name)


def throughput(function: Callable[..., Any], size: int, rounds: int) -> dict[str, float]:
    """Median seconds of one call over `size` float32 elements, results awaited."""
    host = [np.random.default_rng(seed).random(size, dtype=np.float32) for seed in range(3)]
    device = [dpnp.asarray(each) for each in host]
    queue = device[0].sycl_queue
    parallel, offloaded = numba.njit(parallel=True)(function), numba.njit(parallel=True)(function)
    unfused = type(function)(function.__code__, {"np": _Dpnp(), "numba": numba})

    def waited(call: Callable[..., Any]) -> Callable[[], object]:
        def run() -> None:
            call(*device)
            queue.wait()

        return run

    candidates: dict[str, Callable[[], object]] = {
        "Numba parallel": lambda: parallel(*host),
        "offloaded": waited(offloaded),
    }
    if function is not prange_sum:
        candidates |= {"NumPy": lambda: function(*host), "dpnp": waited(unfused)}
    return {name: each.median for name, each in interleaved(candidates, rounds).items()}


def call_overhead(rounds: int = 2000) -> dict[str, float]:
    """Median microseconds of a call over 1000 elements, before the queue is waited for; the waits are not counted."""
    a, b, c = (dpnp.ones(1000, dtype="float32") for _ in range(3))
    queue = a.sycl_queue

    @kapi_runtime.kernel
    def kernel(item: kapi_runtime.Item, out: Any, a: Any, b: Any) -> None:
        i = item.get_id(0)
        out[i] = a[i] + b[i]

    @numba.njit
    def into(a, b, c):
        c[:] = a + b

    @numba.njit
    def anew(a, b, c):
        return a + b * c

    space = kapi_runtime.Range(1000)
    candidates: dict[str, Callable[[], object]] = {
        "kernel's own launch": lambda: kapi_runtime.call_kernel_async(kernel, space, (), c, a, b),
        "kernel's own launch into dpnp.empty": lambda: kapi_runtime.call_kernel_async(
            kernel, space, (), dpnp.empty(1000, dtype="float32"), a, b
        ),
        "offloaded, c[:] = a + b": lambda: into(a, b, c),
        "offloaded, return a + b * c": lambda: anew(a, b, c),
        "dpnp, a + b": lambda: a + b,
    }
    found = {}
    for name, call in candidates.items():
        times = []
        for _ in range(rounds):
            start = time.perf_counter()
            kept = call()
            times.append(time.perf_counter() - start)
            queue.wait()
            del kept
        found[name] = statistics.median(times) * 1e6
    return found


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=1 << 24, help="elements of each array (default 16M)")
    parser.add_argument("--rounds", type=int, default=9, help="calls of each candidate, at least")
    options = parser.parse_args()
    print(f"kapi-numba-offload {kapi_numba_offload.__version__}, {options.size} float32 elements, median ms of a call")
    for function in FUNCTIONS:
        times = throughput(function, options.size, options.rounds)
        spelled = ", ".join(f"{name} {1e3 * seconds:.1f}" for name, seconds in times.items())
        print(f"  {function.__name__:<18}{spelled}")
    print("median us of a call, before the queue is waited for")
    for name, microseconds in call_overhead().items():
        print(f"  {name:<38}{microseconds:6.1f}")


if __name__ == "__main__":
    main()
