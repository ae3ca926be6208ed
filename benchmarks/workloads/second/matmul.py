"""Product of two matrices through tiles of 8 x 32 in local memory, in float64, with edges that fill no tile."""

from __future__ import annotations

import numba
import numpy as np

import kapi_runtime as kapi
from workloads import Workload
from workloads.second import one_kernel

__all__ = ["build"]

ROWS, COLUMNS = 8, 32

OPENCL_C = """
kernel void matmul(global const double* restrict a, global const double* restrict b, global double* restrict c,
                   const long n) {
    local double ta[8][32], tb[32][32];
    const size_t j = get_global_id(0), i = get_global_id(1), x = get_local_id(0), y = get_local_id(1);
    double sum = 0.0;
    for (long t = 0; t < n; t += 32) {
        ta[y][x] = i < n && t + x < n ? a[i * n + t + x] : 0.0;
        for (long k = y; k < 32; k += 8) tb[k][x] = t + k < n && j < n ? b[(t + k) * n + j] : 0.0;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < 32; k++) sum += ta[y][k] * tb[k][x];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (i < n && j < n) c[i * n + j] = sum;
}
"""


@kapi.kernel
def matmul(item: kapi.NdItem, a, b, c, ta, tb):
    group = item.get_group()
    i, j = item.get_global_id(0), item.get_global_id(1)
    y, x = item.get_local_id(0), item.get_local_id(1)
    n = a.shape[0]
    total = 0.0
    for t in range(0, n, COLUMNS):
        ta[y, x] = a[i, t + x] if i < n and t + x < n else 0.0
        for k in range(y, COLUMNS, ROWS):
            tb[k, x] = b[t + k, j] if t + k < n and j < n else 0.0
        kapi.group_barrier(group)
        for k in range(COLUMNS):
            total += ta[y, k] * tb[k, x]
        kapi.group_barrier(group)
    if i < n and j < n:
        c[i, j] = total


@numba.njit(parallel=True)
def matmul_numba(a, b, c):
    for i in numba.prange(a.shape[0]):
        for j in range(b.shape[1]):
            c[i, j] = 0.0
        for k in range(a.shape[1]):
            for j in range(b.shape[1]):
                c[i, j] += a[i, k] * b[k, j]


def build(scale: float) -> Workload:
    """The workload with matrices of 500 x 500 at scale 1."""
    n = max(50, int(500 * scale ** (1 / 3)))
    random = np.random.default_rng(0)
    a, b = random.random((n, n)), random.random((n, n))
    space = kapi.NdRange((-(-n // ROWS) * ROWS, -(-n // COLUMNS) * COLUMNS), (ROWS, COLUMNS))
    return one_kernel(
        "matmul",
        f"{n} x {n} float64, tiles of {ROWS} x {COLUMNS}",
        inputs=[a, b],
        outputs=[np.zeros((n, n))],
        reference=[a @ b],
        space=space,
        kernel=matmul,
        local=[kapi.LocalAccessor((ROWS, COLUMNS), np.float64), kapi.LocalAccessor((COLUMNS, COLUMNS), np.float64)],
        source=OPENCL_C,
        sizes=[np.int64(n)],
        numba=matmul_numba,
    )
