"""a * x + y in float32: bound by memory, so every column that is not wasteful should be alike."""

from __future__ import annotations

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
kernel void saxpy(const float a, global const float* restrict x, global const float* restrict y,
                  global float* restrict z) {
    const size_t i = get_global_id(0);
    z[i] = a * x[i] + y[i];
}
"""


saxpy = kapi.kernel(kernels.saxpy)


@numba.njit(parallel=True)
def saxpy_numba(a, x, y, z):
    for i in numba.prange(x.shape[0]):
        z[i] = a * x[i] + y[i]


def build(scale: float) -> Workload:
    """The workload with 16 million elements at scale 1."""
    n = max(1024, int(2**24 * scale) // 64 * 64)  # OpenCL C would be slow on an awkward size; kapi rounds it up
    random = np.random.default_rng(0)
    x, y = random.random(n, dtype=np.float32), random.random(n, dtype=np.float32)
    a = np.float32(2.5)
    dx, dy = dpnp.asarray(x), dpnp.asarray(y)
    kept = {}

    def by_numpy() -> None:
        kept["numpy"] = a * x + y

    def by_dpnp() -> None:
        kept["dpnp"] = wait_for(a * dx + dy)

    def opencl(peer: Peer) -> Column:
        z = peer.empty(n, np.float32)
        kernel = peer.kernel("saxpy", a, peer.array(x), peer.array(y), z)
        return Column(lambda: peer.run(kernel, (n,)), lambda: [z])

    def in_kapi(xp: Any, kernel: kapi.Kernel) -> Column:
        z = xp.empty(n, dtype=np.float32)
        return Column(Launch(kernel, kapi.Range(n), a, xp.asarray(x), xp.asarray(y), z).run, lambda: [z])

    z, dz = np.empty_like(x), dpnp.empty_like(dx)
    columns = {
        "NumPy": Column(by_numpy, lambda: [kept["numpy"]]),
        "Numba parallel": Column(lambda: saxpy_numba(a, x, y, z), lambda: [z]),
        "dpnp": Column(by_dpnp, lambda: [kept["dpnp"]]),
        **peer_columns("saxpy", [a, x, y], [z]),
        **opencl_columns(OPENCL_C, opencl),
        **kapi_columns(in_kapi, saxpy),
        "kapi offload": Column(lambda: (saxpy_numba(a, dx, dy, dz), wait_for(dz)), lambda: [dz]),
    }
    return Workload("saxpy", f"{n} float32", columns, rtol=1e-6)
