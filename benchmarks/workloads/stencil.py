"""Mean of each cell and its four neighbours: bound by memory, neighbours shared between work-items."""

from __future__ import annotations

import math
from typing import Any

import dpnp
import numba
import numpy as np
from opencl_peer import Peer

import kapi_runtime as kapi
from workloads import Column, Launch, Workload, kapi_columns, opencl_columns, peer_columns, wait_for

__all__ = ["build"]

OPENCL_C = """
kernel void stencil(global const float* restrict a, global float* restrict b, const long n) {
    const size_t j = get_global_id(0) + 1, i = get_global_id(1) + 1;
    const size_t p = i * n + j;
    b[p] = 0.2f * (a[p] + a[p - n] + a[p + n] + a[p - 1] + a[p + 1]);
}
"""


@kapi.kernel
def stencil(item: kapi.Item, a, b):
    i = item.get_id(0) + 1
    j = item.get_id(1) + 1
    b[i, j] = 0.2 * (a[i, j] + a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1])


@numba.njit(parallel=True)
def stencil_numba(a, b):
    for i in numba.prange(1, a.shape[0] - 1):
        for j in numba.prange(1, a.shape[1] - 1):
            b[i, j] = np.float32(0.2) * (a[i, j] + a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1])


def expression(a, b):
    """The same, as one expression of NumPy or dpnp arrays."""
    b[1:-1, 1:-1] = 0.2 * (a[1:-1, 1:-1] + a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:])


def build(scale: float) -> Workload:
    """The workload with a grid of 4096 x 4096 inner cells at scale 1."""
    n = max(64, int(4096 * math.sqrt(scale)) // 64 * 64) + 2
    a = np.random.default_rng(0).random((n, n), dtype=np.float32)
    on_device = dpnp.asarray(a)
    by_numpy, by_numba = a.copy(), a.copy()
    by_dpnp, offloaded = on_device.copy(), on_device.copy()

    def opencl(peer: Peer) -> Column:
        b = peer.array(a)
        kernel = peer.kernel("stencil", peer.array(a), b, np.int64(n))
        return Column(lambda: peer.run(kernel, (n - 2, n - 2)), lambda: [b])

    def in_kapi(xp: Any, kernel: kapi.Kernel) -> Column:
        b = xp.asarray(a, copy=True)
        return Column(Launch(kernel, kapi.Range(n - 2, n - 2), xp.asarray(a), b).run, lambda: [b])

    columns = {
        "NumPy": Column(lambda: expression(a, by_numpy), lambda: [by_numpy]),
        "Numba parallel": Column(lambda: stencil_numba(a, by_numba), lambda: [by_numba]),
        "dpnp": Column(lambda: (expression(on_device, by_dpnp), wait_for(by_dpnp)), lambda: [by_dpnp]),
        **peer_columns("stencil", [a], [by_numba]),
        **opencl_columns(OPENCL_C, opencl),
        **kapi_columns(in_kapi, stencil),
        "kapi offload": Column(lambda: (stencil_numba(on_device, offloaded), wait_for(offloaded)), lambda: [offloaded]),
    }
    return Workload("stencil", f"{n - 2} x {n - 2} float32, 5 points", columns, rtol=1e-5)
