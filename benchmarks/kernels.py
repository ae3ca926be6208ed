"""Kernels that benchmarks on every platform time, apart from their data, which is of one platform.

Each is a plain function: a benchmark makes a kernel of it, or compiles it.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

import kapi_runtime as kapi

__all__ = ["mandelbrot", "matmul_of", "n_body", "pairwise", "saxpy"]


def saxpy(item: kapi.Item, a, x, y, z):
    i = item.get_id(0)
    z[i] = a * x[i] + y[i]


def pairwise(item: kapi.Item, x, y, d):
    i = item.get_id(0)
    j = item.get_id(1)
    total = 0.0
    for k in range(x.shape[1]):
        t = x[i, k] - y[j, k]
        total += t * t
    d[i, j] = math.sqrt(total)


def matmul_of(tile: int) -> Callable[..., None]:
    """Make the kernel for tiles of this many rows and columns."""

    def matmul(item: kapi.NdItem, a, b, c, ta, tb):
        group = item.get_group()
        i = item.get_global_id(0)
        j = item.get_global_id(1)
        y = item.get_local_id(0)
        x = item.get_local_id(1)
        total = np.float32(0.0)
        for t in range(0, a.shape[1], tile):
            ta[y, x] = a[i, t + x]
            tb[y, x] = b[t + y, j]
            kapi.group_barrier(group)
            for k in range(tile):
                total += ta[y, k] * tb[k, x]
            kapi.group_barrier(group)
        c[i, j] = total

    return matmul


def n_body(item: kapi.Item, bodies, velocity, softening, step):
    i = item.get_id(0)
    x = bodies[i, 0]
    y = bodies[i, 1]
    z = bodies[i, 2]
    ax = np.float32(0.0)
    ay = np.float32(0.0)
    az = np.float32(0.0)
    for j in range(bodies.shape[0]):
        dx = bodies[j, 0] - x
        dy = bodies[j, 1] - y
        dz = bodies[j, 2] - z
        square = dx * dx + dy * dy + dz * dz + softening
        force = bodies[j, 3] / (square * math.sqrt(square))
        ax += force * dx
        ay += force * dy
        az += force * dz
    velocity[i, 0] = step * ax
    velocity[i, 1] = step * ay
    velocity[i, 2] = step * az


def mandelbrot(item: kapi.Item, steps, left, top, step, most):
    i = item.get_id(0)
    j = item.get_id(1)
    cx = left + j * step
    cy = top + i * step
    x = np.float32(0.0)
    y = np.float32(0.0)
    n = np.int32(0)
    while n < most and x * x + y * y <= 4.0:
        t = x * x - y * y + cx
        y = 2.0 * x * y + cy
        x = t
        n += 1
    steps[i, j] = n
