"""Sparse matrix (CSR) times vector: indirect reads, rows of different lengths."""

from __future__ import annotations

from typing import Any

import dpnp
import numba
import numpy as np
import scipy.sparse
from opencl_peer import Peer

import kapi_runtime as kapi
from workloads import Column, Launch, Workload, kapi_columns, opencl_columns, peer_columns, wait_for

__all__ = ["build"]

A_ROW = 16

OPENCL_C = """
kernel void spmv(global const float* restrict data, global const int* restrict indices,
                 global const int* restrict starts, global const float* restrict x, global float* restrict y) {
    const size_t row = get_global_id(0);
    const int end = starts[row + 1];
    float sum = 0.0f;
    for (int k = starts[row]; k < end; k++) sum += data[k] * x[indices[k]];
    y[row] = sum;
}
"""


@kapi.kernel
def spmv(item: kapi.Item, data, indices, starts, x, y):
    row = item.get_id(0)
    total = np.float32(0.0)
    for k in range(starts[row], starts[row + 1]):
        total += data[k] * x[indices[k]]
    y[row] = total


@numba.njit(parallel=True)
def spmv_numba(data, indices, starts, x, y):
    for row in numba.prange(y.shape[0]):
        total = np.float32(0.0)
        for k in range(starts[row], starts[row + 1]):
            total += data[k] * x[indices[k]]
        y[row] = total


def build(scale: float) -> Workload:
    """The workload with 524288 rows of about 16 entries at scale 1."""
    n = max(1024, int(524288 * scale) // 64 * 64)
    random = np.random.default_rng(0)
    lengths = random.poisson(A_ROW, n)
    starts = np.concatenate(([0], np.cumsum(lengths))).astype(np.int32)
    indices = random.integers(0, n, starts[-1], dtype=np.int32)
    data, x = random.random(starts[-1], dtype=np.float32), random.random(n, dtype=np.float32)
    inputs = [data, indices, starts, x]
    on_device = [dpnp.asarray(each) for each in inputs]
    rows = dpnp.asarray(np.repeat(np.arange(n), lengths))
    matrix = scipy.sparse.csr_array((data, indices, starts), shape=(n, n))
    kept = {}

    def by_numpy() -> None:
        kept["numpy"] = matrix @ x

    def by_dpnp() -> None:
        products = on_device[0] * on_device[3][on_device[1]]
        kept["dpnp"] = wait_for(dpnp.bincount(rows, weights=products, minlength=n))

    def opencl(peer: Peer) -> Column:
        y = peer.empty(n, np.float32)
        kernel = peer.kernel("spmv", *map(peer.array, inputs), y)
        return Column(lambda: peer.run(kernel, (n,)), lambda: [y])

    def in_kapi(xp: Any, kernel: kapi.Kernel) -> Column:
        y = xp.empty(n, dtype=np.float32)
        return Column(Launch(kernel, kapi.Range(n), *map(xp.asarray, inputs), y).run, lambda: [y])

    y, offloaded = np.empty(n, np.float32), dpnp.empty(n, dtype=np.float32)
    columns = {
        "NumPy": Column(by_numpy, lambda: [kept["numpy"]]),
        "Numba parallel": Column(lambda: spmv_numba(*inputs, y), lambda: [y]),
        "dpnp": Column(by_dpnp, lambda: [kept["dpnp"]]),
        **peer_columns("spmv", inputs, [y]),
        **opencl_columns(OPENCL_C, opencl),
        **kapi_columns(in_kapi, spmv),
        "kapi offload": Column(lambda: (spmv_numba(*on_device, offloaded), wait_for(offloaded)), lambda: [offloaded]),
    }
    return Workload("spmv", f"{n} rows of {A_ROW} float32 in the mean", columns, rtol=1e-4)
