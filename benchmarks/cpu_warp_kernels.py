"""Warp's kernels of the workloads, on its CPU device, which runs a launch on one thread.

A variable that a loop changes must begin as a call: `wp.float32(0.0)`.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import warp as wp

__all__ = ["prepare"]

wp.config.quiet = True
wp.config.enable_backward = False
wp.init()

F32_1, F32_2 = wp.array(dtype=wp.float32), wp.array2d(dtype=wp.float32)
F64_1, F64_2, F64_3 = wp.array(dtype=wp.float64), wp.array2d(dtype=wp.float64), wp.array3d(dtype=wp.float64)
I32_1, I32_2, U8_1 = wp.array(dtype=wp.int32), wp.array2d(dtype=wp.int32), wp.array(dtype=wp.uint8)
TILE = wp.constant(16)


@wp.kernel
def saxpy(a: wp.float32, x: F32_1, y: F32_1, z: F32_1):
    i = wp.tid()
    z[i] = a * x[i] + y[i]


@wp.kernel
def stencil(a: F32_2, b: F32_2):
    y, x = wp.tid()
    i, j = y + 1, x + 1
    b[i, j] = 0.2 * (a[i, j] + a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1])


@wp.kernel
def n_body(softening: wp.float32, step: wp.float32, bodies: F32_2, velocity: F32_2):
    i = wp.tid()
    x, y, z = bodies[i, 0], bodies[i, 1], bodies[i, 2]
    ax, ay, az = wp.float32(0.0), wp.float32(0.0), wp.float32(0.0)
    for j in range(bodies.shape[0]):
        dx, dy, dz = bodies[j, 0] - x, bodies[j, 1] - y, bodies[j, 2] - z
        square = dx * dx + dy * dy + dz * dz + softening
        force = bodies[j, 3] / (square * wp.sqrt(square))
        ax += force * dx
        ay += force * dy
        az += force * dz
    velocity[i, 0] = step * ax
    velocity[i, 1] = step * ay
    velocity[i, 2] = step * az


@wp.kernel
def mandelbrot(left: wp.float32, top: wp.float32, step: wp.float32, most: wp.int32, steps: I32_2):
    i, j = wp.tid()
    cx, cy = left + wp.float32(j) * step, top + wp.float32(i) * step
    x, y, n = wp.float32(0.0), wp.float32(0.0), wp.int32(0)
    while n < most and x * x + y * y <= 4.0:
        t = x * x - y * y + cx
        y = 2.0 * x * y + cy
        x = t
        n += 1
    steps[i, j] = n


@wp.kernel
def escape(left: wp.float32, top: wp.float32, step: wp.float32, steps: I32_2):
    i, j = wp.tid()
    cx, cy = left + wp.float32(j) * step, top + wp.float32(i) * step
    x, y, n = wp.float32(0.0), wp.float32(0.0), wp.int32(0)
    while n < 100:
        xx, yy = x * x, y * y
        if xx + yy > 4.0:
            break
        y = 2.0 * x * y + cy
        x = xx - yy + cx
        n += 1
    steps[i, j] = n


@wp.kernel
def julia(cx: wp.float64, cy: wp.float64, speed: F32_2):
    i, j = wp.tid()
    n = wp.float64(speed.shape[0])
    x = wp.float64(3.0) * wp.float64(j) / n - wp.float64(1.5)
    y = wp.float64(3.0) * wp.float64(i) / n - wp.float64(1.5)
    k = wp.int32(0)
    while k < 64 and x * x + y * y < wp.float64(16.0):
        t = x * x - y * y + cx
        y = wp.float64(2.0) * x * y + cy
        x = t
        k += 1
    speed[i, j] = wp.float32(k) / 64.0


@wp.kernel
def black_scholes(
    rate: wp.float64, volatility: wp.float64, price: F64_1, strike: F64_1, years: F64_1, call: F64_1, put: F64_1
):
    i = wp.tid()
    half = wp.float64(0.5)
    spread = volatility * wp.sqrt(years[i])
    d1 = (wp.log(price[i] / strike[i]) + (rate + half * volatility * volatility) * years[i]) / spread
    d2 = d1 - spread
    discounted = strike[i] * wp.exp(-rate * years[i])
    root_half = wp.sqrt(half)
    in1 = half + half * wp.erf(d1 * root_half)
    in2 = half + half * wp.erf(d2 * root_half)
    value = price[i] * in1 - discounted * in2
    call[i] = value
    put[i] = value - price[i] + discounted


@wp.kernel
def pairwise_distance(x: F64_2, y: F64_2, d: F64_2):
    i, j = wp.tid()
    total = wp.float64(0.0)
    for k in range(x.shape[1]):
        t = x[i, k] - y[j, k]
        total += t * t
    d[i, j] = wp.sqrt(total)


@wp.kernel
def spmv(data: F32_1, indices: I32_1, starts: I32_1, x: F32_1, y: F32_1):
    row = wp.tid()
    total = wp.float32(0.0)
    for k in range(starts[row], starts[row + 1]):
        total += data[k] * x[indices[k]]
    y[row] = total


@wp.kernel
def histogram(values: U8_1, partial: I32_2, counts: I32_1):
    wp.atomic_add(counts, wp.int32(values[wp.tid()]), 1)


@wp.kernel
def tree_reduction(x: F32_1, sums: F32_1):
    part = wp.tid()
    share = x.shape[0] // sums.shape[0]
    total = wp.float32(0.0)
    for i in range(part * share, (part + 1) * share):
        total += x[i]
    sums[part] = total


@wp.kernel
def matmul(a: F32_2, b: F32_2, c: F32_2):
    i, j = wp.tid()
    total = wp.tile_zeros(shape=(TILE, TILE), dtype=wp.float32)
    for k in range(a.shape[1] // TILE):
        ta = wp.tile_load(a, shape=(TILE, TILE), offset=(i * TILE, k * TILE))
        tb = wp.tile_load(b, shape=(TILE, TILE), offset=(k * TILE, j * TILE))
        wp.tile_matmul(ta, tb, total)
    wp.tile_store(c, total, offset=(i * TILE, j * TILE))


@wp.kernel
def heat(a: F64_3, c: wp.float64, b: F64_3):
    i, j, k = wp.tid()
    n = a.shape[0]
    value = a[i, j, k]
    if i > 0 and i < n - 1 and j > 0 and j < n - 1 and k > 0 and k < n - 1:
        around = a[i - 1, j, k] + a[i + 1, j, k] + a[i, j - 1, k] + a[i, j + 1, k] + a[i, j, k - 1] + a[i, j, k + 1]
        value = value + c * (around - wp.float64(6.0) * value)
    b[i, j, k] = value


@wp.kernel
def gather(x: F64_1, order: I32_1, y: F64_1):
    i = wp.tid()
    y[i] = x[order[i]]


@wp.kernel
def collatz(steps: I32_1):
    i = wp.tid()
    value, count = wp.int64(i) + wp.int64(1), wp.int32(0)
    while value != wp.int64(1):
        if value % wp.int64(2) == wp.int64(0):
            value = value // wp.int64(2)
        else:
            value = wp.int64(3) * value + wp.int64(1)
        count += 1
    steps[i] = count


@wp.kernel
def small(x: F64_1, y: F64_1):
    i = wp.tid()
    t = x[i]
    y[i] = ((wp.float64(0.5) * t - wp.float64(1.5)) * t + wp.float64(2.0)) * t - wp.float64(0.25)


KERNELS = {
    **{
        each.key: each
        for each in (saxpy, n_body, mandelbrot, black_scholes, pairwise_distance, spmv, tree_reduction, stencil)
    },
    "histogram": histogram,
    "matmul": matmul,
    **{f"second.{each.key}": each for each in (escape, julia, collatz, heat, gather, small)},
}


def prepare(
    name: str, inputs: Sequence[Any], outputs: Sequence[Any]
) -> tuple[Callable[[], None], Callable[[], list[Any]]] | None:
    """Functions that run a workload over Warp's own arrays, and fetch its outputs; None if it has none."""
    kernel = KERNELS.get(name)
    if kernel is None:
        return None
    given, own = ([_own(each) for each in values] for values in (inputs, outputs))
    shape = outputs[0].shape
    if name == "stencil":
        dim: Any = tuple(extent - 2 for extent in shape)
    elif name == "histogram":
        dim = inputs[0].size
    elif name == "matmul":
        dim = tuple(extent // TILE for extent in shape)
    else:
        dim = len(outputs[0]) if name == "n_body" else shape
    launch = wp.launch_tiled if name == "matmul" else wp.launch
    blocks = {"block_dim": 64} if name == "matmul" else {}
    command = launch(kernel, dim=dim, inputs=[*given, *own], device="cpu", record_cmd=True, **blocks)

    def run() -> None:
        if name == "histogram":
            own[-1].zero_()
        command.launch()

    return run, lambda: [each.numpy() for each in own]


def _own(value: Any) -> Any:
    return wp.array(np.ascontiguousarray(value), device="cpu") if isinstance(value, np.ndarray) else value
