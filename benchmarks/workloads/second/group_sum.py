"""Sums of work-groups by the group algorithm: OpenCL C's is work_group_reduce_add."""

from __future__ import annotations

import numba
import numpy as np

import kapi_runtime as kapi
from workloads import Workload
from workloads.second import one_kernel

__all__ = ["build"]

WIDTH = 256

OPENCL_C = """
kernel void group_sum(global const float* restrict x, global float* restrict sums) {
    const float sum = work_group_reduce_add(x[get_global_id(0)]);
    if (get_local_id(0) == 0) sums[get_group_id(0)] = sum;
}
"""


@kapi.kernel
def group_sum(item: kapi.NdItem, x, sums):
    group = item.get_group()
    total = kapi.reduce_over_group(group, x[item.get_global_id(0)], kapi.plus)
    if group.leader:
        sums[group.get_group_id(0)] = total


@numba.njit(parallel=True)
def sum_numba(x, sums):
    share = x.shape[0] // sums.shape[0]
    for part in numba.prange(sums.shape[0]):
        total = np.float32(0)
        for i in range(part * share, (part + 1) * share):
            total += x[i]
        sums[part] = total


def build(scale: float) -> Workload:
    """The workload with four million elements at scale 1."""
    n = max(WIDTH, int(2**22 * scale) // WIDTH * WIDTH)
    x = np.random.default_rng(0).random(n, dtype=np.float32)
    return one_kernel(
        "group_sum",
        f"{n} float32, groups of {WIDTH}",
        inputs=[x],
        outputs=[np.zeros(n // WIDTH, np.float32)],
        reference=[x.reshape(-1, WIDTH).sum(axis=1)],
        space=kapi.NdRange(n, WIDTH),
        kernel=group_sum,
        source=OPENCL_C,
        numba=sum_numba,
        rtol=1e-4,
    )
