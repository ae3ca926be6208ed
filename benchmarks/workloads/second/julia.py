"""A Julia set in float64: a while loop with two conditions, and a smooth result."""

from __future__ import annotations

import numba
import numpy as np

import kapi_runtime as kapi
from workloads import Workload
from workloads.second import one_kernel

__all__ = ["build"]

STEPS = 64

OPENCL_C = """
kernel void julia(const double cx, const double cy, global float* restrict speed) {
    const size_t j = get_global_id(0), i = get_global_id(1), n = get_global_size(0);
    double x = 3.0 * j / n - 1.5, y = 3.0 * i / n - 1.5;
    long k = 0;
    while (k < 64 && x * x + y * y < 16.0) {
        const double t = x * x - y * y + cx;
        y = 2.0 * x * y + cy;
        x = t;
        k++;
    }
    speed[i * n + j] = k == 64 ? 1.0f : (float)k / 64;
}
"""


@kapi.kernel
def julia(item: kapi.Item, cx, cy, speed):
    i, j = item.get_id(0), item.get_id(1)
    n = item.get_range(0)
    x, y = 3.0 * j / n - 1.5, 3.0 * i / n - 1.5
    k = 0
    while k < STEPS and x * x + y * y < 16.0:
        x, y = x * x - y * y + cx, 2.0 * x * y + cy
        k += 1
    speed[i, j] = 1.0 if k == STEPS else k / STEPS


@numba.njit(parallel=True)
def julia_numba(cx, cy, speed):
    n = speed.shape[0]
    for i in numba.prange(n):
        for j in range(n):
            x, y = 3.0 * j / n - 1.5, 3.0 * i / n - 1.5
            k = 0
            while k < STEPS and x * x + y * y < 16.0:
                x, y = x * x - y * y + cx, 2.0 * x * y + cy
                k += 1
            speed[i, j] = 1.0 if k == STEPS else k / STEPS


def reference(n, cx, cy):
    line = 3.0 * np.arange(n) / n - 1.5
    x, y = np.broadcast_to(line[None, :], (n, n)), np.broadcast_to(line[:, None], (n, n))
    steps, inside = np.zeros((n, n)), np.ones((n, n), bool)
    for _ in range(STEPS):
        inside &= x * x + y * y < 16.0
        steps += inside
        x, y = np.where(inside, x * x - y * y + cx, x), np.where(inside, 2.0 * x * y + cy, y)
    return (steps / STEPS).astype(np.float32)


def build(scale: float) -> Workload:
    """The workload with 512 x 512 points at scale 1."""
    n = max(64, int(512 * scale**0.5) // 64 * 64)
    cx, cy = np.float64(-0.8), np.float64(0.156)
    return one_kernel(
        "julia",
        f"{n} x {n} float64, {STEPS} steps",
        inputs=[cx, cy],
        outputs=[np.zeros((n, n), np.float32)],
        reference=[reference(n, cx, cy)],
        space=kapi.Range(n, n),
        kernel=julia,
        source=OPENCL_C,
        numba=julia_numba,
        atol=0.1,  # contraction moves points by a step or more
    )
