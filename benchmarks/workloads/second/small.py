"""A polynomial at 1009 points: as short as a launch."""

from __future__ import annotations

import numba
import numpy as np

import kapi_runtime as kapi
from workloads import Workload
from workloads.second import one_kernel

__all__ = ["build"]

OPENCL_C = """
kernel void small(global const double* restrict x, global double* restrict y) {
    const size_t i = get_global_id(0);
    const double t = x[i];
    y[i] = ((0.5 * t - 1.5) * t + 2.0) * t - 0.25;
}
"""


@kapi.kernel
def small(item: kapi.Item, x, y):
    i = item.get_id(0)
    y[i] = ((0.5 * x[i] - 1.5) * x[i] + 2.0) * x[i] - 0.25


@numba.njit(parallel=True)
def small_numba(x, y):
    for i in numba.prange(x.shape[0]):
        y[i] = ((0.5 * x[i] - 1.5) * x[i] + 2.0) * x[i] - 0.25


def build(scale: float) -> Workload:
    """The workload, of the same size at every scale."""
    x = np.random.default_rng(0).random(1009)
    return one_kernel(
        "small",
        f"{x.size} float64",
        inputs=[x],
        outputs=[np.zeros_like(x)],
        reference=[((0.5 * x - 1.5) * x + 2.0) * x - 0.25],
        space=kapi.Range(x.size),
        kernel=small,
        source=OPENCL_C,
        numba=small_numba,
        rtol=1e-8,
        atol=1e-12,
    )
