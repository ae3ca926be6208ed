"""Counts of floats in equal bins: a conversion for each element, and loops whose step is the width of the group."""

from __future__ import annotations

import numba
import numpy as np

import kapi_runtime as kapi
from workloads import Workload
from workloads.second import one_kernel

__all__ = ["build"]

BINS, GROUPS, WIDTH = 256, 64, 128

OPENCL_C = """
kernel void float_histogram(global const float* restrict values, global int* restrict partial, const long n) {
    local int bins[256];
    const size_t lane = get_local_id(0), width = get_local_size(0);
    for (size_t k = lane; k < 256; k += width) bins[k] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (size_t i = get_global_id(0); i < n; i += get_global_size(0)) atomic_inc(&bins[(int)(values[i] * 256)]);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (size_t k = lane; k < 256; k += width) partial[get_group_id(0) * 256 + k] = bins[k];
}
"""


@kapi.kernel
def float_histogram(item: kapi.NdItem, values, partial, bins):
    group = item.get_group()
    lane = item.get_local_id(0)
    width = item.get_local_range(0)
    for k in range(lane, BINS, width):
        bins[k] = 0
    kapi.group_barrier(group)
    for i in range(item.get_global_id(0), values.shape[0], item.get_global_range(0)):
        count = kapi.AtomicRef(bins, int(values[i] * BINS), address_space=kapi.AddressSpace.LOCAL)
        count.fetch_add(1)
    kapi.group_barrier(group)
    for k in range(lane, BINS, width):
        partial[group.get_group_id(0), k] = bins[k]


@numba.njit(parallel=True)
def histogram_numba(values, partial):
    groups = partial.shape[0]
    for group in numba.prange(groups):
        own = np.zeros(BINS, np.int32)
        for first in range(group * WIDTH, values.shape[0], groups * WIDTH):
            for i in range(first, min(first + WIDTH, values.shape[0])):
                own[int(values[i] * BINS)] += 1
        partial[group, :] = own


def build(scale: float) -> Workload:
    """The workload with four million values at scale 1."""
    n = max(GROUPS * WIDTH, int(2**22 * scale))
    values = np.random.default_rng(0).random(n, dtype=np.float32)
    group = np.arange(n) // WIDTH % GROUPS
    bins = (values * np.float32(BINS)).astype(np.int64)
    reference = np.bincount(group * BINS + bins, minlength=GROUPS * BINS).reshape(GROUPS, BINS)
    return one_kernel(
        "float_histogram",
        f"{n} float32, {BINS} bins",
        inputs=[values],
        outputs=[np.zeros((GROUPS, BINS), np.int32)],
        reference=[reference],
        space=kapi.NdRange(GROUPS * WIDTH, WIDTH),
        kernel=float_histogram,
        local=[kapi.LocalAccessor(BINS, np.int32)],
        source=OPENCL_C,
        sizes=[np.int64(n)],
        numba=histogram_numba,
    )
