"""Steps of the Collatz sequence of each number: 64-bit integers, a while loop, a branch in it."""

from __future__ import annotations

import numba
import numpy as np

import kapi_runtime as kapi
from workloads import Workload
from workloads.second import one_kernel

__all__ = ["build"]

OPENCL_C = """
kernel void collatz(global int* restrict steps) {
    long value = get_global_id(0) + 1;
    int count = 0;
    while (value != 1) {
        if (value % 2 == 0) value /= 2; else value = 3 * value + 1;
        count++;
    }
    steps[get_global_id(0)] = count;
}
"""


@kapi.kernel
def collatz(item: kapi.Item, steps):
    value = item.get_id(0) + 1
    count = 0
    while value != 1:
        if value % 2 == 0:
            value //= 2
        else:
            value = 3 * value + 1
        count += 1
    steps[item.get_id(0)] = count


@numba.njit(parallel=True)
def collatz_numba(steps):
    for i in numba.prange(steps.shape[0]):
        value = i + 1
        count = 0
        while value != 1:
            if value % 2 == 0:
                value //= 2
            else:
                value = 3 * value + 1
            count += 1
        steps[i] = count


def reference(n):
    values, steps = np.arange(1, n + 1), np.zeros(n, np.int32)
    active = np.arange(n)
    while len(active := active[values != 1]):
        values = values[values != 1]
        values = np.where(values % 2 == 0, values // 2, 3 * values + 1)
        steps[active] += 1
    return steps


def build(scale: float) -> Workload:
    """The workload with the first 200,000 numbers at scale 1."""
    n = max(1000, int(200_000 * scale))
    return one_kernel(
        "collatz",
        f"{n} numbers, int64",
        inputs=[],
        outputs=[np.zeros(n, np.int32)],
        reference=[reference(n)],
        space=kapi.Range(n),
        kernel=collatz,
        source=OPENCL_C,
        numba=collatz_numba,
    )
