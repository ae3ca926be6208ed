"""Transpose of a matrix through tiles in local memory."""

from __future__ import annotations

import numba
import numpy as np

import kapi_runtime as kapi
from workloads import Workload
from workloads.second import one_kernel

__all__ = ["build"]

TILE = 16

OPENCL_C = """
kernel void transpose(global const float* restrict a, global float* restrict b) {
    local float tile[16][17];
    const size_t x = get_local_id(0), y = get_local_id(1), n = get_global_size(0);
    tile[y][x] = a[get_global_id(1) * n + get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    b[(get_group_id(0) * 16 + y) * n + get_group_id(1) * 16 + x] = tile[x][y];
}
"""


@kapi.kernel
def transpose(item: kapi.NdItem, a, b, tile):
    group = item.get_group()
    y, x = item.get_local_id(0), item.get_local_id(1)
    tile[y, x] = a[item.get_global_id(0), item.get_global_id(1)]
    kapi.group_barrier(group)
    b[group.get_group_id(1) * TILE + y, group.get_group_id(0) * TILE + x] = tile[x, y]


@numba.njit(parallel=True)
def transpose_numba(a, b):
    for i in numba.prange(a.shape[0]):
        for j in range(a.shape[1]):
            b[j, i] = a[i, j]


def build(scale: float) -> Workload:
    """The workload with a matrix of 2048 x 2048 at scale 1."""
    n = max(64, int(2048 * scale**0.5) // TILE * TILE)
    a = np.random.default_rng(0).random((n, n), dtype=np.float32)
    return one_kernel(
        "transpose",
        f"{n} x {n} float32, tiles of {TILE} x {TILE}",
        inputs=[a],
        outputs=[np.zeros_like(a)],
        reference=[a.T],
        space=kapi.NdRange((n, n), (TILE, TILE)),
        kernel=transpose,
        local=[kapi.LocalAccessor((TILE, TILE + 1), np.float32)],
        source=OPENCL_C,
        numba=transpose_numba,
    )
