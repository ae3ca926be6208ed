"""Steps until each point of the plane escapes: arithmetic alone, loops of different lengths side by side."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import dpnp
import kernels
import numba
import numpy as np
from opencl_peer import Peer

import kapi_runtime as kapi
from workloads import Column, Launch, Workload, kapi_columns, on_host, opencl_columns, peer_columns, wait_for

__all__ = ["build"]

STEPS = 100

OPENCL_C = """
kernel void mandelbrot(global int* restrict steps, const float left, const float top, const float step,
                       const int most) {
    const size_t j = get_global_id(0), i = get_global_id(1);
    const float cx = left + j * step, cy = top + i * step;
    float x = 0.0f, y = 0.0f;
    int n = 0;
    while (n < most && x * x + y * y <= 4.0f) {
        const float t = x * x - y * y + cx;
        y = 2.0f * x * y + cy;
        x = t;
        n++;
    }
    steps[i * get_global_size(0) + j] = n;
}
"""


mandelbrot = kapi.kernel(kernels.mandelbrot)


@numba.njit(parallel=True)
def mandelbrot_numba(steps, left, top, step, most):
    for i in numba.prange(steps.shape[0]):
        for j in numba.prange(steps.shape[1]):
            cx = left + np.float32(j) * step
            cy = top + np.float32(i) * step
            x = np.float32(0.0)
            y = np.float32(0.0)
            n = 0
            while n < most and x * x + y * y <= np.float32(4.0):
                t = x * x - y * y + cx
                y = np.float32(2.0) * x * y + cy
                x = t
                n += 1
            steps[i, j] = n


def expressions(module, n, left, top, step):
    """The same, as array expressions of NumPy or dpnp: every point takes every step."""
    line = module.arange(n, dtype=np.float32)
    cx, cy = (left + line * step)[None, :], (top + line * step)[:, None]
    x, y = module.zeros((n, n), dtype=np.float32), module.zeros((n, n), dtype=np.float32)
    steps = module.zeros((n, n), dtype=np.int32)
    inside = module.ones((n, n), dtype=bool)
    for _ in range(STEPS):
        inside = inside & (x * x + y * y <= 4.0)
        steps += inside
        x, y = module.where(inside, x * x - y * y + cx, x), module.where(inside, 2.0 * x * y + cy, y)
    return steps


def build(scale: float) -> Workload:
    """The workload with 1024 x 1024 points and at most 100 steps at scale 1."""
    n = max(64, int(1024 * math.sqrt(scale)) // 64 * 64)
    left, top, step = np.float32(-2.0), np.float32(-1.5), np.float32(3.0 / n)
    kept = {}

    def by_numpy() -> None:
        kept["numpy"] = expressions(np, n, left, top, step)

    def by_dpnp() -> None:
        kept["dpnp"] = wait_for(expressions(dpnp, n, left, top, step))

    def opencl(peer: Peer) -> Column:
        steps = peer.empty((n, n), np.int32)
        kernel = peer.kernel("mandelbrot", steps, left, top, step, np.int32(STEPS))
        return Column(lambda: peer.run(kernel, (n, n)), lambda: [steps])

    def in_kapi(xp: Any, kernel: kapi.Kernel) -> Column:
        steps = xp.empty((n, n), dtype=np.int32)
        return Column(Launch(kernel, kapi.Range(n, n), steps, left, top, step, np.int32(STEPS)).run, lambda: [steps])

    steps, offloaded = np.empty((n, n), np.int32), dpnp.empty((n, n), dtype=np.int32)
    columns = {
        "NumPy": Column(by_numpy, lambda: [kept["numpy"]]),
        "Numba parallel": Column(lambda: mandelbrot_numba(steps, left, top, step, STEPS), lambda: [steps]),
        "dpnp": Column(by_dpnp, lambda: [kept["dpnp"]]),
        **peer_columns("mandelbrot", [left, top, step, STEPS], [steps]),
        **opencl_columns(OPENCL_C, opencl),
        **kapi_columns(in_kapi, mandelbrot),
        "kapi offload": Column(
            lambda: (mandelbrot_numba(offloaded, left, top, step, STEPS), wait_for(offloaded)), lambda: [offloaded]
        ),
    }
    return Workload(
        "mandelbrot",
        f"{n} x {n} float32, {STEPS} steps",
        {name: Column(each.run, _total(each)) for name, each in columns.items()},
        rtol=1e-3,
    )


def _total(column: Column) -> Callable[[], list[int]]:
    """Its steps in all: contraction moves some points that escape in the last step, so they are not compared singly."""
    return lambda: [int(on_host(column.results()[0]).sum(dtype=np.int64))]
