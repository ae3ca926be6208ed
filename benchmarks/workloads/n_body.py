"""One step of bodies that attract each other: arithmetic on all pairs, a square root in each."""

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

SOFTENING, STEP = np.float32(1e-3), np.float32(0.01)

OPENCL_C = """
kernel void n_body(global const float4* restrict bodies, global float* restrict velocity, const long n,
                   const float softening, const float step) {
    const size_t i = get_global_id(0);
    const float4 its = bodies[i];
    float ax = 0.0f, ay = 0.0f, az = 0.0f;
    for (long j = 0; j < n; j++) {
        const float4 other = bodies[j];
        const float dx = other.x - its.x, dy = other.y - its.y, dz = other.z - its.z;
        const float square = dx * dx + dy * dy + dz * dz + softening;
        const float force = other.w / (square * sqrt(square));
        ax += force * dx;
        ay += force * dy;
        az += force * dz;
    }
    velocity[3 * i] = step * ax;
    velocity[3 * i + 1] = step * ay;
    velocity[3 * i + 2] = step * az;
}
"""


n_body = kapi.kernel(kernels.n_body)


@numba.njit(parallel=True)
def n_body_numba(bodies, velocity, softening, step):
    for i in numba.prange(bodies.shape[0]):
        ax = np.float32(0.0)
        ay = np.float32(0.0)
        az = np.float32(0.0)
        for j in range(bodies.shape[0]):
            dx = bodies[j, 0] - bodies[i, 0]
            dy = bodies[j, 1] - bodies[i, 1]
            dz = bodies[j, 2] - bodies[i, 2]
            square = dx * dx + dy * dy + dz * dz + softening
            force = bodies[j, 3] / (square * math.sqrt(square))
            ax += force * dx
            ay += force * dy
            az += force * dz
        velocity[i, 0] = step * ax
        velocity[i, 1] = step * ay
        velocity[i, 2] = step * az


def expressions(module, bodies):
    """The same, as array expressions of NumPy or dpnp."""
    positions, masses = bodies[:, :3], bodies[:, 3]
    differences = positions[None, :, :] - positions[:, None, :]
    squares = (differences * differences).sum(axis=2) + SOFTENING
    forces = masses[None, :] / (squares * module.sqrt(squares))
    return STEP * (forces[:, :, None] * differences).sum(axis=1)


def build(scale: float) -> Workload:
    """The workload with 4096 bodies at scale 1."""
    n = max(64, int(4096 * math.sqrt(scale)) // 64 * 64)
    bodies = np.random.default_rng(0).random((n, 4), dtype=np.float32)
    on_device = dpnp.asarray(bodies)
    kept = {}

    def by_numpy() -> None:
        kept["numpy"] = expressions(np, bodies)

    def by_dpnp() -> None:
        kept["dpnp"] = wait_for(expressions(dpnp, on_device))

    def opencl(peer: Peer) -> Column:
        velocity = peer.empty((n, 3), np.float32)
        kernel = peer.kernel("n_body", peer.array(bodies), velocity, np.int64(n), SOFTENING, STEP)
        return Column(lambda: peer.run(kernel, (n,)), lambda: [velocity])

    def in_kapi(xp: Any, kernel: kapi.Kernel) -> Column:
        velocity = xp.empty((n, 3), dtype=np.float32)
        arguments = (xp.asarray(bodies), velocity, SOFTENING, STEP)
        return Column(Launch(kernel, kapi.Range(n), *arguments).run, lambda: [velocity])

    velocity, offloaded = np.empty((n, 3), np.float32), dpnp.empty((n, 3), dtype=np.float32)
    columns = {
        "NumPy": Column(by_numpy, lambda: [kept["numpy"]]),
        "Numba parallel": Column(lambda: n_body_numba(bodies, velocity, SOFTENING, STEP), lambda: [velocity]),
        "dpnp": Column(by_dpnp, lambda: [kept["dpnp"]]),
        **peer_columns("n_body", [SOFTENING, STEP, bodies], [velocity]),
        **opencl_columns(OPENCL_C, opencl),
        **kapi_columns(in_kapi, n_body),
        "kapi offload": Column(
            lambda: (n_body_numba(on_device, offloaded, SOFTENING, STEP), wait_for(offloaded)), lambda: [offloaded]
        ),
    }
    return Workload("n_body", f"{n} bodies, float32", columns, rtol=1e-3, atol=1.0)
