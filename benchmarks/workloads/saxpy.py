"""a * x + y: bound by memory, so every column that is not wasteful should be alike."""

from __future__ import annotations

import dpnp
import numba
import numpy as np
from opencl_peer import Peer

import kapi_runtime as kapi
from workloads import Workload

__all__ = ["build"]

OPENCL_C = """
kernel void saxpy(const float a, global const float* x, global const float* y, global float* z) {
    const size_t i = get_global_id(0);
    z[i] = a * x[i] + y[i];
}
"""


@kapi.kernel
def saxpy(item: kapi.Item, a, x, y, z):
    i = item.get_id(0)
    z[i] = a * x[i] + y[i]


@numba.njit(parallel=True)
def saxpy_numba(a, x, y, z):
    for i in numba.prange(x.shape[0]):
        z[i] = a * x[i] + y[i]


def build(scale: float) -> Workload:
    """The workload with 16 million elements at scale 1."""
    n = max(1024, int(2**24 * scale))
    random = np.random.default_rng(0)
    x, y = random.random(n, dtype=np.float32), random.random(n, dtype=np.float32)
    a = np.float32(2.5)
    by_numba, by_opencl = np.empty_like(x), np.empty_like(x)
    x_device, y_device = dpnp.asarray(x), dpnp.asarray(y)
    by_kapi = dpnp.empty(n, dtype=np.float32)
    peer = Peer(OPENCL_C)
    opencl_result = peer.array(by_opencl)
    peer.kernel.set_args(a, peer.array(x), peer.array(y), opencl_result)
    kept = {}

    def by_numpy() -> None:
        kept["numpy"] = a * x + y

    def by_dpnp() -> None:
        kept["dpnp"] = a * x_device + y_device
        kept["dpnp"].sycl_queue.wait()

    def verify() -> None:
        results = (by_numba, kept["dpnp"].asnumpy(), peer.fetch(opencl_result, by_opencl), by_kapi.asnumpy())
        for result in results:
            np.testing.assert_allclose(result, kept["numpy"], rtol=1e-6)

    candidates = {
        "NumPy": by_numpy,
        "Numba parallel": lambda: saxpy_numba(a, x, y, by_numba),
        "dpnp": by_dpnp,
        "OpenCL C": lambda: peer.run((n,)),
        "kapi": lambda: kapi.call_kernel(saxpy, kapi.Range(n), a, x_device, y_device, by_kapi),
    }
    return Workload(f"saxpy {n}", candidates, verify)
