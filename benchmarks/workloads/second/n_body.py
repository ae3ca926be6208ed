"""Gravity among bodies in float64, points as rows of an array, the body itself left out by a condition."""

from __future__ import annotations

import math

import numba
import numpy as np

import kapi_runtime as kapi
from workloads import Workload
from workloads.second import one_kernel

__all__ = ["build"]

OPENCL_C = """
kernel void n_body(global const double* restrict points, global const double* restrict masses,
                   global double* restrict forces, const long n) {
    const size_t i = get_global_id(0);
    const double x = points[3 * i], y = points[3 * i + 1], z = points[3 * i + 2];
    double fx = 0, fy = 0, fz = 0;
    for (long j = 0; j < n; j++) {
        if (j != i) {
            const double dx = points[3 * j] - x, dy = points[3 * j + 1] - y, dz = points[3 * j + 2] - z;
            const double square = dx * dx + dy * dy + dz * dz;
            const double factor = masses[j] / (square * sqrt(square));
            fx += factor * dx;
            fy += factor * dy;
            fz += factor * dz;
        }
    }
    forces[3 * i] = fx;
    forces[3 * i + 1] = fy;
    forces[3 * i + 2] = fz;
}
"""


@kapi.kernel
def n_body(item: kapi.Item, points, masses, forces):
    i = item.get_id(0)
    fx = fy = fz = 0.0
    for j in range(points.shape[0]):
        if j != i:
            dx = points[j, 0] - points[i, 0]
            dy = points[j, 1] - points[i, 1]
            dz = points[j, 2] - points[i, 2]
            square = dx * dx + dy * dy + dz * dz
            factor = masses[j] / (square * math.sqrt(square))
            fx += factor * dx
            fy += factor * dy
            fz += factor * dz
    forces[i, 0] = fx
    forces[i, 1] = fy
    forces[i, 2] = fz


@numba.njit(parallel=True)
def n_body_numba(points, masses, forces):
    for i in numba.prange(points.shape[0]):
        fx = fy = fz = 0.0
        for j in range(points.shape[0]):
            if j != i:
                dx = points[j, 0] - points[i, 0]
                dy = points[j, 1] - points[i, 1]
                dz = points[j, 2] - points[i, 2]
                square = dx * dx + dy * dy + dz * dz
                factor = masses[j] / (square * math.sqrt(square))
                fx += factor * dx
                fy += factor * dy
                fz += factor * dz
        forces[i, 0] = fx
        forces[i, 1] = fy
        forces[i, 2] = fz


def build(scale: float) -> Workload:
    """The workload with 2000 bodies at scale 1."""
    n = max(100, int(2000 * scale**0.5))
    random = np.random.default_rng(0)
    points, masses = random.random((n, 3)), random.random(n)
    difference = points[None, :, :] - points[:, None, :]
    square = (difference**2).sum(axis=2)
    np.fill_diagonal(square, 1.0)
    factor = masses[None, :] / square**1.5
    return one_kernel(
        "n_body",
        f"{n} bodies, float64",
        inputs=[points, masses],
        outputs=[np.zeros_like(points)],
        reference=[(factor[:, :, None] * difference).sum(axis=1)],
        space=kapi.Range(n),
        kernel=n_body,
        source=OPENCL_C,
        sizes=[np.int64(n)],
        numba=n_body_numba,
        rtol=1e-6,
        atol=1e-6,
    )
