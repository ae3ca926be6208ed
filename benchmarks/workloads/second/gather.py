"""Elements in a random order: indirect reads of float64 by 32-bit indices."""

from __future__ import annotations

import numba
import numpy as np

import kapi_runtime as kapi
from workloads import Workload
from workloads.second import one_kernel

__all__ = ["build"]

OPENCL_C = """
kernel void gather(global const double* restrict x, global const int* restrict order, global double* restrict y) {
    const size_t i = get_global_id(0);
    y[i] = x[order[i]];
}
"""


@kapi.kernel
def gather(item: kapi.Item, x, order, y):
    i = item.get_id(0)
    y[i] = x[order[i]]


@numba.njit(parallel=True)
def gather_numba(x, order, y):
    for i in numba.prange(x.shape[0]):
        y[i] = x[order[i]]


def build(scale: float) -> Workload:
    """The workload with four million elements at scale 1."""
    n = max(1024, int(2**22 * scale))
    random = np.random.default_rng(0)
    x, order = random.random(n), random.permutation(n).astype(np.int32)
    return one_kernel(
        "gather",
        f"{n} float64, int32 indices",
        inputs=[x, order],
        outputs=[np.zeros(n)],
        reference=[x[order]],
        space=kapi.Range(n),
        kernel=gather,
        source=OPENCL_C,
        numba=gather_numba,
    )
