"""Euclidean distances of all pairs of points: arithmetic on a small input, a large output."""

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

OPENCL_C = """
kernel void pairwise(global const double* restrict x, global const double* restrict y, global double* restrict d,
                     const long features) {
    const size_t j = get_global_id(0), i = get_global_id(1);
    double sum = 0.0;
    for (long k = 0; k < features; k++) {
        const double t = x[i * features + k] - y[j * features + k];
        sum += t * t;
    }
    d[i * get_global_size(0) + j] = sqrt(sum);
}
"""


pairwise = kapi.kernel(kernels.pairwise)


@numba.njit(parallel=True)
def pairwise_numba(x, y, d):
    for i in numba.prange(x.shape[0]):
        for j in numba.prange(y.shape[0]):
            total = 0.0
            for k in range(x.shape[1]):
                t = x[i, k] - y[j, k]
                total += t * t
            d[i, j] = math.sqrt(total)


def build(scale: float) -> Workload:
    """The workload with two sets of 1024 points of 3 features at scale 1."""
    n = max(64, int(1024 * math.sqrt(scale)) // 64 * 64)
    random = np.random.default_rng(0)
    x, y = random.random((n, 3)), random.random((n, 3))
    dx, dy = dpnp.asarray(x), dpnp.asarray(y)
    kept = {}

    def by_numpy() -> None:
        difference = x[:, None, :] - y[None, :, :]
        kept["numpy"] = np.sqrt((difference * difference).sum(axis=2))

    def by_dpnp() -> None:
        difference = dx[:, None, :] - dy[None, :, :]
        kept["dpnp"] = wait_for(dpnp.sqrt((difference * difference).sum(axis=2)))

    def opencl(peer: Peer) -> Column:
        d = peer.empty((n, n), np.float64)
        kernel = peer.kernel("pairwise", peer.array(x), peer.array(y), d, np.int64(3))
        return Column(lambda: peer.run(kernel, (n, n)), lambda: [d])

    def in_kapi(xp: Any, kernel: kapi.Kernel) -> Column:
        d = xp.empty((n, n))
        return Column(Launch(kernel, kapi.Range(n, n), xp.asarray(x), xp.asarray(y), d).run, lambda: [d])

    d, dd = np.empty((n, n)), dpnp.empty((n, n))
    columns = {
        "NumPy": Column(by_numpy, lambda: [kept["numpy"]]),
        "Numba parallel": Column(lambda: pairwise_numba(x, y, d), lambda: [d]),
        "dpnp": Column(by_dpnp, lambda: [kept["dpnp"]]),
        **peer_columns("pairwise_distance", [x, y], [d]),
        **opencl_columns(OPENCL_C, opencl),
        **kapi_columns(in_kapi, pairwise),
        "kapi offload": Column(lambda: (pairwise_numba(dx, dy, dd), wait_for(dd)), lambda: [dd]),
    }
    return Workload("pairwise_distance", f"{n} x {n} points, 3 float64", columns)
