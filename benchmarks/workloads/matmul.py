"""Product of two square matrices through tiles in local memory: barriers, reuse, multiply-adds."""

from __future__ import annotations

import math
from typing import Any

import dpnp
import kernels
import numba
import numpy as np
from opencl_peer import Peer

import kapi_runtime as kapi
from workloads import Column, Launch, Workload, kapi_columns, opencl_columns, peer_columns, wait_for

__all__ = ["build"]

TILE = 16

OPENCL_C = """
#define TILE 16
kernel void matmul(global const float* restrict a, global const float* restrict b, global float* restrict c,
                   const long n) {
    local float ta[TILE][TILE], tb[TILE][TILE];
    const size_t j = get_global_id(0), i = get_global_id(1), x = get_local_id(0), y = get_local_id(1);
    float sum = 0.0f;
    for (long t = 0; t < n; t += TILE) {
        ta[y][x] = a[i * n + t + x];
        tb[y][x] = b[(t + y) * n + j];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < TILE; k++) sum += ta[y][k] * tb[k][x];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    c[i * n + j] = sum;
}
"""


matmul = kapi.kernel(kernels.matmul_of(TILE))


@numba.njit(parallel=True)
def matmul_numba(a, b, c):
    for i in numba.prange(a.shape[0]):
        for j in range(b.shape[1]):
            c[i, j] = np.float32(0.0)
        for k in range(a.shape[1]):
            factor = a[i, k]
            for j in range(b.shape[1]):
                c[i, j] += factor * b[k, j]


@numba.njit(parallel=True)
def matmul_items(a, b, c):
    """One element an iteration, as work-items have it; the loops above are in the order that a processor likes."""
    for i in numba.prange(c.shape[0]):
        for j in numba.prange(c.shape[1]):
            total = np.float32(0.0)
            for k in range(a.shape[1]):
                total += a[i, k] * b[k, j]
            c[i, j] = total


def build(scale: float) -> Workload:
    """The workload with matrices of 1024 x 1024 at scale 1."""
    n = max(64, int(1024 * math.sqrt(scale)) // 64 * 64)
    random = np.random.default_rng(0)
    a, b = random.random((n, n), dtype=np.float32), random.random((n, n), dtype=np.float32)
    da, db = dpnp.asarray(a), dpnp.asarray(b)
    kept = {}

    def by_numpy() -> None:
        kept["numpy"] = a @ b

    def by_dpnp() -> None:
        kept["dpnp"] = wait_for(da @ db)

    def opencl(peer: Peer) -> Column:
        c = peer.empty((n, n), np.float32)
        kernel = peer.kernel("matmul", peer.array(a), peer.array(b), c, np.int64(n))
        return Column(lambda: peer.run(kernel, (n, n), (TILE, TILE)), lambda: [c])

    def in_kapi(xp: Any, kernel: kapi.Kernel) -> Column:
        c = xp.empty((n, n), dtype=np.float32)
        space = kapi.NdRange((n, n), (TILE, TILE))
        tiles = [kapi.LocalAccessor((TILE, TILE), np.float32) for _ in range(2)]
        return Column(Launch(kernel, space, xp.asarray(a), xp.asarray(b), c, *tiles).run, lambda: [c])

    c, offloaded = np.empty((n, n), np.float32), dpnp.empty((n, n), dtype=np.float32)
    columns = {
        "NumPy": Column(by_numpy, lambda: [kept["numpy"]]),
        "Numba parallel": Column(lambda: matmul_numba(a, b, c), lambda: [c]),
        "dpnp": Column(by_dpnp, lambda: [kept["dpnp"]]),
        **peer_columns("matmul", [a, b], [c]),
        **opencl_columns(OPENCL_C, opencl),
        **kapi_columns(in_kapi, matmul),
        "kapi offload": Column(lambda: (matmul_items(da, db, offloaded), wait_for(offloaded)), lambda: [offloaded]),
    }
    return Workload("matmul", f"{n} x {n} float32, tiles of {TILE} x {TILE}", columns, rtol=1e-4)
