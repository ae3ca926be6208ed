"""Euclidean distances of all pairs of points: arithmetic on a small input, a large output."""

from __future__ import annotations

import math

import dpnp
import numba
import numpy as np
from opencl_peer import Peer

import kapi_runtime as kapi
from workloads import Workload

__all__ = ["build"]

OPENCL_C = """
kernel void pairwise(global const float* x, global float* d, const int n, const int features) {
    const size_t j = get_global_id(0), i = get_global_id(1);
    float sum = 0.0f;
    for (int k = 0; k < features; k++) {
        const float t = x[i * features + k] - x[j * features + k];
        sum += t * t;
    }
    d[i * n + j] = sqrt(sum);
}
"""


@kapi.kernel
def pairwise(item: kapi.Item, x, d):
    i = item.get_id(0)
    j = item.get_id(1)
    total = x.dtype.type(0.0)
    for k in range(x.shape[1]):
        t = x[i, k] - x[j, k]
        total += t * t
    d[i, j] = math.sqrt(total)


@numba.njit(parallel=True)
def pairwise_numba(x, d):
    for i in numba.prange(x.shape[0]):
        for j in range(x.shape[0]):
            total = np.float32(0.0)
            for k in range(x.shape[1]):
                t = x[i, k] - x[j, k]
                total += t * t
            d[i, j] = np.sqrt(total)


def build(scale: float) -> Workload:
    """The workload with 4096 points of 3 features at scale 1."""
    n = max(64, int(4096 * math.sqrt(scale)))
    x = np.random.default_rng(0).random((n, 3), dtype=np.float32)
    by_numba, by_opencl = np.empty((n, n), np.float32), np.empty((n, n), np.float32)
    x_device = dpnp.asarray(x)
    by_kapi = dpnp.empty((n, n), dtype=np.float32)
    peer = Peer(OPENCL_C)
    opencl_result = peer.array(by_opencl)
    peer.kernel.set_args(peer.array(x), opencl_result, np.int32(n), np.int32(3))
    kept = {}

    def by_numpy() -> None:
        difference = x[:, None, :] - x[None, :, :]
        kept["numpy"] = np.sqrt((difference * difference).sum(axis=2))

    def by_dpnp() -> None:
        difference = x_device[:, None, :] - x_device[None, :, :]
        kept["dpnp"] = dpnp.sqrt((difference * difference).sum(axis=2))
        kept["dpnp"].sycl_queue.wait()

    def verify() -> None:
        expected = kept["numpy"]
        results = (by_numba, kept["dpnp"].asnumpy(), peer.fetch(opencl_result, by_opencl), by_kapi.asnumpy())
        for result in results:
            np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6)

    candidates = {
        "NumPy": by_numpy,
        "Numba parallel": lambda: pairwise_numba(x, by_numba),
        "dpnp": by_dpnp,
        "OpenCL C": lambda: peer.run((n, n)),
        "kapi": lambda: kapi.call_kernel(pairwise, kapi.Range(n, n), x_device, by_kapi),
    }
    return Workload(f"pairwise distance {n} x 3", candidates, verify)
