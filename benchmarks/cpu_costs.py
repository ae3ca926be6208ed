"""Costs around kernels on the CPU, over NumPy arrays: a launch, the threads that share one, and the first result.

What all threads cost is the time of a launch whose work is split, less the time that each thread works.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numba
import numpy as np
from opencl_peer import Peer
from start_cost import KERNEL, interleaved_seconds

import kapi_runtime as kapi

__all__ = ["cpu_costs", "cpu_text"]

GOALS = {
    "launch, 3 arrays": 2e-6,
    "all threads, hot": 15e-6,
    "all threads, after a pause": 60e-6,
    "first launch, warm compiler": 0.1,
    "first launch, from the disk cache": 0.3,
}
_PAUSE = 5e-3  # seconds, in which threads fall asleep
_STEPS = 250_000  # of one thread's share: a millisecond or less
_OPENCL_C = "kernel void add(global float *a, global float *b, global float *c)"
_OPENCL_C += "{ const size_t i = get_global_id(0); c[i] = a[i] + b[i]; }"

_FIRST = KERNEL.format(imports="import numpy, kapi_runtime as kapi") + (
    """
x, d = numpy.ones((64, 3), dtype="float32"), numpy.zeros((64, 64), dtype="float32")
{before}
start = time.perf_counter()
kapi.call_kernel(pairwise, kapi.Range(64, 64), x, d)
print(time.perf_counter() - start)
"""
)
_WARM = "kapi.call_kernel(other, kapi.Range(64), numpy.ones(64))"


@kapi.kernel
def add(item: kapi.Item, a, b, c):
    i = item.get_id(0)
    c[i] = a[i] + b[i]


@kapi.kernel
def spin(item: kapi.NdItem, steps, out):
    state = item.get_global_id(0)
    for _ in range(steps):
        state = state * 6364136223846793005 + 1442695040888963407
    out[item.get_global_id(0)] = state


@numba.njit(parallel=True)
def add_numba(a, b, c):
    for i in numba.prange(c.shape[0]):
        c[i] = a[i] + b[i]


def cpu_costs(rounds: int) -> dict[str, float]:
    """Median seconds of each cost, each in turn."""
    scripts = {
        "first launch, nothing cached": (_FIRST.format(before=""), False),
        "first launch, warm compiler": (_FIRST.format(before=_WARM), False),
        "first launch, from the disk cache": (_FIRST.format(before=""), True),
    }
    costs = interleaved_seconds(scripts, max(3, rounds // 3))  # first, since Numba's threads mind a fork

    a, b, c = (np.ones(64, np.float32) for _ in range(3))
    space = kapi.Range(64)
    peer = Peer(_OPENCL_C, contract=True)
    theirs = peer.kernel("add", *(peer.array(each) for each in (a, b, c)))
    launches: dict[str, Callable[[], Any]] = {
        "launch, 3 arrays": lambda: kapi.call_kernel(add, space, a, b, c),
        "NumPy's add": lambda: np.add(a, b, out=c),
        "Numba parallel, 3 arrays": lambda: add_numba(a, b, c),
        "OpenCL C, 3 arrays that are set": lambda: peer.run(theirs, (64,)),
    }
    costs |= {name: _median(call, 400 * rounds) for name, call in launches.items()}
    costs["launch, 3 arrays, after a pause"] = _median(
        launches["launch, 3 arrays"], 8 * rounds, partial(time.sleep, _PAUSE)
    )

    groups = 16 * kapi.queue("cpu").device.max_compute_units  # each thread takes some, and then some of what is left
    out = np.zeros(groups, np.int64)
    one, all_ = kapi.NdRange(1, 1), kapi.NdRange(groups, 1)
    works = _median(lambda: kapi.call_kernel(spin, one, _STEPS, out), 16 * rounds)

    def share() -> None:
        kapi.call_kernel(spin, all_, _STEPS // 16, out)

    befores: dict[str, Callable[[], Any]] = {
        "hot": lambda: None,
        "after a pause": partial(time.sleep, _PAUSE),
        "after Numba's": launches["Numba parallel, 3 arrays"],
    }
    costs |= {f"all threads, {name}": _median(share, 16 * rounds, before) - works for name, before in befores.items()}
    return costs


def _median(call: Callable[[], Any], rounds: int, before: Callable[[], Any] = lambda: None) -> float:
    """Median seconds of a call, with something before each."""
    times = []
    for _ in range(rounds + 3):
        before()
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times[3:])


def cpu_text(costs: dict[str, float]) -> str:
    """The table, in microseconds."""
    lines = ["the CPU, us"]
    for name, seconds in costs.items():
        goal = f"   goal {GOALS[name] * 1e6:.0f}" if name in GOALS else ""
        lines.append(f"  {name:<36}{seconds * 1e6:12.1f}{goal}")
    return "\n".join(lines) + "\n"
