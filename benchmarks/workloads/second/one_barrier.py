"""Sums of work-groups with one barrier: work-items add strided elements, one of them adds what they have."""

from __future__ import annotations

import numba
import numpy as np

import kapi_runtime as kapi
from workloads import Workload
from workloads.second import one_kernel

__all__ = ["build"]

WIDTH, SHARE = 64, 16

OPENCL_C = """
kernel void one_barrier(global const double* restrict x, global double* restrict sums, const long share) {
    local double tile[64];
    const size_t lane = get_local_id(0), width = get_local_size(0), first = get_group_id(0) * share;
    double own = 0.0;
    for (size_t i = first + lane; i < first + share; i += width) own += x[i];
    tile[lane] = own;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane == 0) {
        double total = 0.0;
        for (int k = 0; k < 64; k++) total += tile[k];
        sums[get_group_id(0)] = total;
    }
}
"""


@kapi.kernel
def one_barrier(item: kapi.NdItem, x, sums, tile):
    group = item.get_group()
    lane = item.get_local_id(0)
    share = x.shape[0] // group.get_group_range(0)
    first = group.get_group_id(0) * share
    own = 0.0
    for i in range(first + lane, first + share, item.get_local_range(0)):
        own += x[i]
    tile[lane] = own
    kapi.group_barrier(group)
    if lane == 0:
        total = 0.0
        for k in range(WIDTH):
            total += tile[k]
        sums[group.get_group_id(0)] = total


@numba.njit(parallel=True)
def sum_numba(x, sums):
    share = x.shape[0] // sums.shape[0]
    for part in numba.prange(sums.shape[0]):
        total = np.float64(0)
        for i in range(part * share, (part + 1) * share):
            total += x[i]
        sums[part] = total


def build(scale: float) -> Workload:
    """The workload with four million elements at scale 1."""
    share = WIDTH * SHARE
    n = max(share, int(2**22 * scale) // share * share)
    x = np.random.default_rng(0).random(n)
    return one_kernel(
        "one_barrier",
        f"{n} float64, groups of {WIDTH}",
        inputs=[x],
        outputs=[np.zeros(n // share)],
        reference=[x.reshape(-1, share).sum(axis=1)],
        space=kapi.NdRange(n // SHARE, WIDTH),
        kernel=one_barrier,
        local=[kapi.LocalAccessor(WIDTH, np.float64)],
        source=OPENCL_C,
        sizes=[np.int64(share)],
        numba=sum_numba,
    )
