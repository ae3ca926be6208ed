"""Taichi's kernels of the workloads, on its CPU back end: without its fast mathematics, like the other columns.

The outer loop is what Taichi makes parallel. Inner loops over rows of the results are written out, which it runs faster
than loops over several indices at once. It has no error function, and so no prices of options.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import taichi as ti

__all__ = ["prepare"]

ti.init(arch=ti.cpu, fast_math=False, log_level=ti.WARN)

F32_1, F32_2 = ti.types.ndarray(ti.f32, 1), ti.types.ndarray(ti.f32, 2)
F64_1, F64_2, F64_3 = (ti.types.ndarray(ti.f64, rank) for rank in (1, 2, 3))
I32_1, I32_2, U8_1 = ti.types.ndarray(ti.i32, 1), ti.types.ndarray(ti.i32, 2), ti.types.ndarray(ti.u8, 1)


@ti.kernel
def saxpy(a: ti.f32, x: F32_1, y: F32_1, z: F32_1):
    for i in range(z.shape[0]):
        z[i] = a * x[i] + y[i]


@ti.kernel
def stencil(a: F32_2, b: F32_2):
    for i in range(1, a.shape[0] - 1):
        for j in range(1, a.shape[1] - 1):
            b[i, j] = 0.2 * (a[i, j] + a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1])


@ti.kernel
def n_body(softening: ti.f32, step: ti.f32, bodies: F32_2, velocity: F32_2):
    for i in range(bodies.shape[0]):
        x, y, z = bodies[i, 0], bodies[i, 1], bodies[i, 2]
        ax, ay, az = ti.f32(0.0), ti.f32(0.0), ti.f32(0.0)
        for j in range(bodies.shape[0]):
            dx, dy, dz = bodies[j, 0] - x, bodies[j, 1] - y, bodies[j, 2] - z
            square = dx * dx + dy * dy + dz * dz + softening
            force = bodies[j, 3] / (square * ti.sqrt(square))
            ax += force * dx
            ay += force * dy
            az += force * dz
        velocity[i, 0], velocity[i, 1], velocity[i, 2] = step * ax, step * ay, step * az


@ti.kernel
def mandelbrot(left: ti.f32, top: ti.f32, step: ti.f32, most: ti.i32, steps: I32_2):
    for i in range(steps.shape[0]):
        for j in range(steps.shape[1]):
            cx, cy = left + j * step, top + i * step
            x, y, n = ti.f32(0.0), ti.f32(0.0), 0
            while n < most and x * x + y * y <= 4.0:
                x, y = x * x - y * y + cx, 2.0 * x * y + cy
                n += 1
            steps[i, j] = n


@ti.kernel
def escape(left: ti.f32, top: ti.f32, step: ti.f32, steps: I32_2):
    for i in range(steps.shape[0]):
        for j in range(steps.shape[1]):
            cx, cy = left + j * step, top + i * step
            x, y, count = ti.f32(0.0), ti.f32(0.0), 100
            for n in range(100):
                xx, yy = x * x, y * y
                if xx + yy > 4.0:
                    count = n
                    break
                y = 2.0 * x * y + cy
                x = xx - yy + cx
            steps[i, j] = count


@ti.kernel
def julia(cx: ti.f64, cy: ti.f64, speed: F32_2):
    n = speed.shape[0]
    for i in range(n):
        for j in range(n):
            x, y = ti.f64(3.0) * j / n - 1.5, ti.f64(3.0) * i / n - 1.5
            k = 0
            while k < 64 and x * x + y * y < 16.0:
                x, y = x * x - y * y + cx, 2.0 * x * y + cy
                k += 1
            speed[i, j] = k / 64.0


@ti.kernel
def pairwise_distance(x: F64_2, y: F64_2, d: F64_2):
    for i in range(d.shape[0]):
        for j in range(d.shape[1]):
            total = ti.f64(0.0)
            for k in range(x.shape[1]):
                t = x[i, k] - y[j, k]
                total += t * t
            d[i, j] = ti.sqrt(total)


@ti.kernel
def spmv(data: F32_1, indices: I32_1, starts: I32_1, x: F32_1, y: F32_1):
    for row in range(y.shape[0]):
        total = ti.f32(0.0)
        for k in range(starts[row], starts[row + 1]):
            total += data[k] * x[indices[k]]
        y[row] = total


@ti.kernel
def histogram(values: U8_1, partial: I32_2, counts: I32_1):
    share = values.shape[0] // partial.shape[0]
    for part in range(partial.shape[0]):
        for k in range(256):
            partial[part, k] = 0
        for i in range(part * share, (part + 1) * share):
            bin_ = ti.cast(values[i], ti.i32)
            partial[part, bin_] = partial[part, bin_] + 1
    for k in range(256):
        total = 0
        for part in range(partial.shape[0]):
            total += partial[part, k]
        counts[k] = total


@ti.kernel
def tree_reduction(x: F32_1, sums: F32_1):
    share = x.shape[0] // sums.shape[0]
    for part in range(sums.shape[0]):
        total = ti.f32(0.0)
        for i in range(part * share, (part + 1) * share):
            total += x[i]
        sums[part] = total


@ti.kernel
def matmul(a: F32_2, b: F32_2, c: F32_2):
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            c[i, j] = 0.0
        for k in range(a.shape[1]):
            for j in range(c.shape[1]):
                c[i, j] = c[i, j] + a[i, k] * b[k, j]


@ti.kernel
def heat(a: F64_3, c: ti.f64, b: F64_3):
    n = a.shape[0]
    for i in range(n):
        for j in range(n):
            for k in range(n):
                value = a[i, j, k]
                if 0 < i < n - 1 and 0 < j < n - 1 and 0 < k < n - 1:
                    around = a[i - 1, j, k] + a[i + 1, j, k] + a[i, j - 1, k] + a[i, j + 1, k]
                    value += c * (around + a[i, j, k - 1] + a[i, j, k + 1] - 6.0 * a[i, j, k])
                b[i, j, k] = value


@ti.kernel
def gather(x: F64_1, order: I32_1, y: F64_1):
    for i in range(y.shape[0]):
        y[i] = x[order[i]]


@ti.kernel
def collatz(steps: I32_1):
    for i in range(steps.shape[0]):
        value, count = ti.cast(i, ti.i64) + 1, 0
        while value != 1:
            if value % 2 == 0:
                value //= 2
            else:
                value = 3 * value + 1
            count += 1
        steps[i] = count


@ti.kernel
def small(x: F64_1, y: F64_1):
    for i in range(y.shape[0]):
        y[i] = ((0.5 * x[i] - 1.5) * x[i] + 2.0) * x[i] - 0.25


KERNELS = {
    **{
        each.__name__: each
        for each in (saxpy, stencil, n_body, mandelbrot, pairwise_distance, spmv, histogram, tree_reduction, matmul)
    },
    **{f"second.{each.__name__}": each for each in (escape, julia, collatz, heat, gather, small)},
}


def prepare(
    name: str, inputs: Sequence[Any], outputs: Sequence[Any]
) -> tuple[Callable[[], None], Callable[[], list[Any]]] | None:
    """Functions that run a workload over Taichi's own arrays, and fetch its outputs; None if it has none."""
    kernel = KERNELS.get(name)
    if kernel is None:
        return None
    given, own = ([_own(each) for each in values] for values in (inputs, outputs))

    def run() -> None:
        kernel(*given, *own)
        ti.sync()

    return run, lambda: [each.to_numpy() for each in own]


def _own(value: Any) -> Any:
    if not isinstance(value, np.ndarray):
        return value.item() if isinstance(value, np.generic) else value
    array = ti.ndarray(getattr(ti, f"{value.dtype.kind}{value.dtype.itemsize * 8}"), value.shape)
    array.from_numpy(np.ascontiguousarray(value))
    return array
