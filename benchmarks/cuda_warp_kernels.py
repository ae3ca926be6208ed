"""Warp's kernels of the benchmarks, a thread for each element.

A variable that a loop changes must begin as a call: `float(0.0)`.
"""
# ruff: noqa: UP018, RUF046

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import warp as wp

wp.config.quiet = True
wp.init()


@wp.kernel
def uniform(out: wp.array(dtype=wp.float32), seed: int):
    i = wp.tid()
    state = wp.rand_init(seed, i)
    out[i] = wp.randf(state)


@wp.kernel
def normal(out: wp.array(dtype=wp.float32), seed: int):
    i = wp.tid()
    state = wp.rand_init(seed, i)
    out[i] = wp.randn(state)


@wp.kernel
def saxpy(a: float, x: wp.array(dtype=wp.float32), y: wp.array(dtype=wp.float32), z: wp.array(dtype=wp.float32)):
    i = wp.tid()
    z[i] = a * x[i] + y[i]


@wp.kernel
def gather(x: wp.array(dtype=wp.float32), indices: wp.array(dtype=wp.int32), y: wp.array(dtype=wp.float32)):
    i = wp.tid()
    y[i] = x[indices[i]]


@wp.kernel
def pairwise(x: wp.array2d(dtype=wp.float32), y: wp.array2d(dtype=wp.float32), d: wp.array2d(dtype=wp.float32)):
    i, j = wp.tid()
    total = float(0.0)
    for k in range(x.shape[1]):
        t = x[i, k] - y[j, k]
        total += t * t
    d[i, j] = wp.sqrt(total)


@wp.kernel
def stencil(x: wp.array2d(dtype=wp.float32), y: wp.array2d(dtype=wp.float32)):
    a, b = wp.tid()
    i = a + 1
    j = b + 1
    y[i, j] = 0.2 * (x[i, j] + x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1])


@wp.kernel
def mandelbrot(steps: wp.array2d(dtype=wp.int32), left: float, top: float, step: float, most: int):
    i, j = wp.tid()
    cx = left + float(j) * step
    cy = top + float(i) * step
    x = float(0.0)
    y = float(0.0)
    n = int(0)
    while n < most and x * x + y * y <= 4.0:
        t = x * x - y * y + cx
        y = 2.0 * x * y + cy
        x = t
        n += 1
    steps[i, j] = n


@wp.kernel
def n_body(bodies: wp.array2d(dtype=wp.float32), velocity: wp.array2d(dtype=wp.float32), softening: float, step: float):
    i = wp.tid()
    x = bodies[i, 0]
    y = bodies[i, 1]
    z = bodies[i, 2]
    ax = float(0.0)
    ay = float(0.0)
    az = float(0.0)
    for j in range(bodies.shape[0]):
        dx = bodies[j, 0] - x
        dy = bodies[j, 1] - y
        dz = bodies[j, 2] - z
        square = dx * dx + dy * dy + dz * dz + softening
        force = bodies[j, 3] / (square * wp.sqrt(square))
        ax += force * dx
        ay += force * dy
        az += force * dz
    velocity[i, 0] = step * ax
    velocity[i, 1] = step * ay
    velocity[i, 2] = step * az


@wp.kernel
def black_scholes(
    price: wp.array(dtype=wp.float32), strike: wp.array(dtype=wp.float32), years: wp.array(dtype=wp.float32),
    rate: float, volatility: float, call: wp.array(dtype=wp.float32), put: wp.array(dtype=wp.float32),
):  # fmt: skip
    i = wp.tid()
    spread = volatility * wp.sqrt(years[i])
    d1 = (wp.log(price[i] / strike[i]) + (rate + 0.5 * volatility * volatility) * years[i]) / spread
    d2 = d1 - spread
    discounted = strike[i] * wp.exp(-rate * years[i])
    in1 = 0.5 + 0.5 * wp.erf(d1 * 0.7071067811865476)
    in2 = 0.5 + 0.5 * wp.erf(d2 * 0.7071067811865476)
    value = price[i] * in1 - discounted * in2
    call[i] = value
    put[i] = value - price[i] + discounted


def launched(kernel: Any, dim: Any, arguments: Any) -> Callable[[], object]:
    """A recorded launch over arrays of CuPy and numbers, on the default stream."""
    given = [wp.from_dlpack(each) if hasattr(each, "__dlpack__") and each.ndim else each for each in arguments]
    given = [each.item() if isinstance(each, np.generic) else each for each in given]
    with wp.ScopedStream(wp.Stream(cuda_stream=0)):
        command = wp.launch(kernel, dim=dim, inputs=given, record_cmd=True)
    return command.launch


def fill(out: Any, kind: str, seed: int) -> Callable[[], object]:
    """Kernel that fills an array with random numbers."""
    return launched(uniform if kind == "uniform" else normal, out.size, (out, seed))
