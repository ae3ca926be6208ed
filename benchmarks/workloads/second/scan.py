"""Running sums within work-groups by the group algorithm, int32."""

from __future__ import annotations

import numba
import numpy as np

import kapi_runtime as kapi
from workloads import Workload
from workloads.second import one_kernel

__all__ = ["build"]

WIDTH = 128

OPENCL_C = """
kernel void scan(global const int* restrict x, global int* restrict sums) {
    sums[get_global_id(0)] = work_group_scan_inclusive_add(x[get_global_id(0)]);
}
"""


@kapi.kernel
def scan(item: kapi.NdItem, x, sums):
    i = item.get_global_id(0)
    sums[i] = kapi.inclusive_scan_over_group(item.get_group(), x[i], kapi.plus)


@numba.njit(parallel=True)
def scan_numba(x, sums):
    for part in numba.prange(x.shape[0] // WIDTH):
        total = np.int32(0)
        for i in range(part * WIDTH, (part + 1) * WIDTH):
            total += x[i]
            sums[i] = total


def build(scale: float) -> Workload:
    """The workload with four million elements at scale 1."""
    n = max(WIDTH, int(2**22 * scale) // WIDTH * WIDTH)
    x = np.random.default_rng(0).integers(-1000, 1000, n, dtype=np.int32)
    return one_kernel(
        "scan",
        f"{n} int32, groups of {WIDTH}",
        inputs=[x],
        outputs=[np.zeros(n, np.int32)],
        reference=[x.reshape(-1, WIDTH).cumsum(axis=1).reshape(-1)],
        space=kapi.NdRange(n, WIDTH),
        kernel=scan,
        source=OPENCL_C,
        numba=scan_numba,
    )
