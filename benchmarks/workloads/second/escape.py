"""Mandelbrot's set with a loop of a known length that each work-item leaves early."""

from __future__ import annotations

import numba
import numpy as np

import kapi_runtime as kapi
from workloads import Workload
from workloads.second import one_kernel

__all__ = ["build"]

STEPS = 100

OPENCL_C = """
kernel void escape(const float left, const float top, const float step, global int* restrict steps) {
    const size_t j = get_global_id(0), i = get_global_id(1);
    const float cx = left + j * step, cy = top + i * step;
    float x = 0.0f, y = 0.0f;
    int n = 0;
    for (; n < 100; n++) {
        const float xx = x * x, yy = y * y;
        if (xx + yy > 4.0f) break;
        y = 2.0f * x * y + cy;
        x = xx - yy + cx;
    }
    steps[i * get_global_size(0) + j] = n;
}
"""


@kapi.kernel
def escape(item: kapi.Item, left, top, step, steps):
    i, j = item.get_id(0), item.get_id(1)
    cx, cy = left + j * step, top + i * step
    x = y = np.float32(0)
    count = STEPS
    for n in range(STEPS):
        xx, yy = x * x, y * y
        if xx + yy > 4:
            count = n
            break
        y = 2 * x * y + cy
        x = xx - yy + cx
    steps[i, j] = count


@numba.njit(parallel=True)
def escape_numba(left, top, step, steps):
    for i in numba.prange(steps.shape[0]):
        for j in range(steps.shape[1]):
            cx, cy = left + np.float32(j) * step, top + np.float32(i) * step
            x = y = np.float32(0)
            count = STEPS
            for n in range(STEPS):
                xx, yy = x * x, y * y
                if xx + yy > np.float32(4):
                    count = n
                    break
                y = np.float32(2) * x * y + cy
                x = xx - yy + cx
            steps[i, j] = count


def reference(n, left, top, step):
    line = np.arange(n, dtype=np.float32)
    cx, cy = (left + line * step)[None, :], (top + line * step)[:, None]
    x, y = np.zeros((n, n), np.float32), np.zeros((n, n), np.float32)
    steps, inside = np.zeros((n, n), np.int32), np.ones((n, n), bool)
    for _ in range(STEPS):
        xx, yy = x * x, y * y
        inside &= xx + yy <= 4
        steps += inside
        x, y = np.where(inside, xx - yy + cx, x), np.where(inside, 2 * x * y + cy, y)
    return steps


def build(scale: float) -> Workload:
    """The workload with 768 x 768 points at scale 1."""
    n = max(64, int(768 * scale**0.5) // 64 * 64)
    left, top, step = np.float32(-2.0), np.float32(-1.5), np.float32(3.0 / n)
    return one_kernel(
        "escape",
        f"{n} x {n} float32, {STEPS} steps",
        inputs=[left, top, step],
        outputs=[np.zeros((n, n), np.int32)],
        reference=[reference(n, left, top, step)],
        space=kapi.Range(n, n),
        kernel=escape,
        source=OPENCL_C,
        numba=escape_numba,
        atol=STEPS,  # contraction moves some points that escape in the last step
    )
