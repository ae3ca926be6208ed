"""Sums of work-groups by a tree in local memory, an element for each work-item: barriers and little else."""

from __future__ import annotations

import numpy as np

import kapi_runtime as kapi
from workloads import Workload
from workloads.second import one_kernel
from workloads.second.group_sum import sum_numba

__all__ = ["build"]

WIDTH = 256

OPENCL_C = """
kernel void tree_sum(global const float* restrict x, global float* restrict sums) {
    local float tile[256];
    const size_t lane = get_local_id(0);
    tile[lane] = x[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (size_t half_of = get_local_size(0) / 2; half_of > 0; half_of /= 2) {
        if (lane < half_of) tile[lane] += tile[lane + half_of];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (lane == 0) sums[get_group_id(0)] = tile[0];
}
"""


@kapi.kernel
def tree_sum(item: kapi.NdItem, x, sums, tile):
    group = item.get_group()
    lane = item.get_local_id(0)
    tile[lane] = x[item.get_global_id(0)]
    kapi.group_barrier(group)
    half = item.get_local_range(0) // 2
    while half > 0:
        if lane < half:
            tile[lane] += tile[lane + half]
        kapi.group_barrier(group)
        half //= 2
    if lane == 0:
        sums[group.get_group_id(0)] = tile[0]


def build(scale: float) -> Workload:
    """The workload with four million elements at scale 1."""
    n = max(WIDTH, int(2**22 * scale) // WIDTH * WIDTH)
    x = np.random.default_rng(0).random(n, dtype=np.float32)
    return one_kernel(
        "tree_sum",
        f"{n} float32, groups of {WIDTH}",
        inputs=[x],
        outputs=[np.zeros(n // WIDTH, np.float32)],
        reference=[x.reshape(-1, WIDTH).sum(axis=1)],
        space=kapi.NdRange(n, WIDTH),
        kernel=tree_sum,
        local=[kapi.LocalAccessor(WIDTH, np.float32)],
        source=OPENCL_C,
        numba=sum_numba,
        rtol=1e-4,
    )
