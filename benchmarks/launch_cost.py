"""Host time of one asynchronous launch, in microseconds, by the number of array arguments."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import dpnp

import kapi_runtime as kapi

__all__ = ["launch_costs"]

_BATCH = 200  # launches between two waits, so that the queue never fills


@kapi.kernel
def with_one(item: kapi.Item, a):
    a[item.get_id(0)] = 1


@kapi.kernel
def with_three(item: kapi.Item, a, b, c):
    i = item.get_id(0)
    c[i] = a[i] + b[i]


@kapi.kernel
def with_eight(item: kapi.Item, a, b, c, d, e, f, g, h):
    i = item.get_id(0)
    h[i] = a[i] + b[i] + c[i] + d[i] + e[i] + f[i] + g[i]


def launch_costs(rounds: int) -> dict[str, tuple[float, float]]:
    """Median and fastest batch of each candidate, in microseconds a launch, timed in turn."""
    arrays = [dpnp.ones(64, dtype="float32") for _ in range(8)]
    space = kapi.Range(64)
    queue = arrays[0].sycl_queue
    candidates: dict[str, Callable[[], object]] = {
        "kapi, 1 array": lambda: kapi.call_kernel_async(with_one, space, (), arrays[0]),
        "kapi, 3 arrays": lambda: kapi.call_kernel_async(with_three, space, (), *arrays[:3]),
        "kapi, 8 arrays": lambda: kapi.call_kernel_async(with_eight, space, (), *arrays),
        "dpnp.add(out=)": lambda: dpnp.add(arrays[0], arrays[1], out=arrays[2]),
    }
    times: dict[str, list[float]] = {name: [] for name in candidates}
    for launch in candidates.values():
        launch()
    for _ in range(rounds):
        for name, launch in candidates.items():
            queue.wait()
            start = time.perf_counter()
            for _ in range(_BATCH):
                launch()
            times[name].append((time.perf_counter() - start) / _BATCH * 1e6)
    queue.wait()
    return {name: (statistics.median(each), min(each)) for name, each in times.items()}
