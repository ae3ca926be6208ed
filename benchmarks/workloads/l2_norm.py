"""Length of each row of a matrix: little arithmetic on strided input."""

from __future__ import annotations

import math
from typing import Any

import dpnp
import numba
import numpy as np
from opencl_peer import Peer

import kapi_runtime as kapi
from workloads import Column, Launch, Workload, kapi_columns, opencl_columns, wait_for

__all__ = ["build"]

OPENCL_C = """
kernel void l2_norm(global const double* restrict a, global double* restrict d, const long dims) {
    const size_t i = get_global_id(0);
    double sum = 0.0;
    for (long k = 0; k < dims; k++) sum += a[i * dims + k] * a[i * dims + k];
    d[i] = sqrt(sum);
}
"""


@kapi.kernel
def l2_norm(item: kapi.Item, a, d):
    i = item.get_id(0)
    total = 0.0
    for k in range(a.shape[1]):
        total += a[i, k] * a[i, k]
    d[i] = math.sqrt(total)


@numba.njit(parallel=True)
def l2_norm_numba(a, d):
    for i in numba.prange(a.shape[0]):
        total = 0.0
        for k in range(a.shape[1]):
            total += a[i, k] * a[i, k]
        d[i] = math.sqrt(total)


def build(scale: float) -> Workload:
    """The workload with 32768 points of 3 dimensions at scale 1."""
    n = max(1024, int(32768 * scale) // 64 * 64)
    a = np.random.default_rng(0).random((n, 3))
    on_device = dpnp.asarray(a)
    kept = {}

    def by_numpy() -> None:
        kept["numpy"] = np.sqrt((a * a).sum(axis=1))

    def by_dpnp() -> None:
        kept["dpnp"] = wait_for(dpnp.sqrt((on_device * on_device).sum(axis=1)))

    def opencl(peer: Peer) -> Column:
        d = peer.empty(n, np.float64)
        kernel = peer.kernel("l2_norm", peer.array(a), d, np.int64(3))
        return Column(lambda: peer.run(kernel, (n,)), lambda: [d])

    def in_kapi(xp: Any, kernel: kapi.Kernel) -> Column:
        d = xp.empty(n)
        return Column(Launch(kernel, kapi.Range(n), xp.asarray(a), d).run, lambda: [d])

    d, offloaded = np.empty(n), dpnp.empty(n)
    columns = {
        "NumPy": Column(by_numpy, lambda: [kept["numpy"]]),
        "Numba parallel": Column(lambda: l2_norm_numba(a, d), lambda: [d]),
        "dpnp": Column(by_dpnp, lambda: [kept["dpnp"]]),
        **opencl_columns(OPENCL_C, opencl),
        **kapi_columns(in_kapi, l2_norm),
        "kapi offload": Column(lambda: (l2_norm_numba(on_device, offloaded), wait_for(offloaded)), lambda: [offloaded]),
    }
    return Workload("l2_norm", f"{n} rows of 3 float64", columns)
