"""Largest element of each of many short lists of different lengths; a prime number of lists."""

from __future__ import annotations

import numba
import numpy as np

import kapi_runtime as kapi
from workloads import Workload
from workloads.second import one_kernel

__all__ = ["build"]

OPENCL_C = """
kernel void ragged(global const float* restrict values, global const int* restrict starts,
                   global float* restrict largest) {
    const size_t row = get_global_id(0);
    float most = -INFINITY;
    for (int k = starts[row]; k < starts[row + 1]; k++)
        if (values[k] > most) most = values[k];
    largest[row] = most;
}
"""


@kapi.kernel
def ragged(item: kapi.Item, values, starts, largest):
    row = item.get_id(0)
    most = np.float32(-np.inf)
    for k in range(starts[row], starts[row + 1]):
        if values[k] > most:
            most = values[k]
    largest[row] = most


@numba.njit(parallel=True)
def ragged_numba(values, starts, largest):
    for row in numba.prange(largest.shape[0]):
        most = np.float32(-np.inf)
        for k in range(starts[row], starts[row + 1]):
            if values[k] > most:
                most = values[k]
        largest[row] = most


def build(scale: float) -> Workload:
    """The workload with 300,007 lists at scale 1."""
    n = max(1009, int(300_007 * scale))
    random = np.random.default_rng(0)
    lengths = random.integers(1, 12, n)
    starts = np.concatenate(([0], np.cumsum(lengths))).astype(np.int32)
    values = random.standard_normal(starts[-1], dtype=np.float32)
    return one_kernel(
        "ragged",
        f"{n} lists of 1 to 11 float32",
        inputs=[values, starts],
        outputs=[np.zeros(n, np.float32)],
        reference=[np.maximum.reduceat(values, starts[:-1])],
        space=kapi.Range(n),
        kernel=ragged,
        source=OPENCL_C,
        numba=ragged_numba,
    )
