"""A step of the heat equation in three dimensions: seven points of float64, edges kept by a guard."""

from __future__ import annotations

import numba
import numpy as np

import kapi_runtime as kapi
from workloads import Workload
from workloads.second import one_kernel

__all__ = ["build"]

OPENCL_C = """
kernel void heat(global const double* restrict a, const double c, global double* restrict b, const long n) {
    const long k = get_global_id(0), j = get_global_id(1), i = get_global_id(2);
    const long p = (i * n + j) * n + k;
    if (i > 0 && i < n - 1 && j > 0 && j < n - 1 && k > 0 && k < n - 1)
        b[p] = a[p] + c * (a[p - n * n] + a[p + n * n] + a[p - n] + a[p + n] + a[p - 1] + a[p + 1] - 6.0 * a[p]);
    else
        b[p] = a[p];
}
"""


@kapi.kernel
def heat(item: kapi.Item, a, c, b):
    i, j, k = item.get_id(0), item.get_id(1), item.get_id(2)
    n = a.shape[0]
    if 0 < i < n - 1 and 0 < j < n - 1 and 0 < k < n - 1:
        around = a[i - 1, j, k] + a[i + 1, j, k] + a[i, j - 1, k] + a[i, j + 1, k] + a[i, j, k - 1] + a[i, j, k + 1]
        b[i, j, k] = a[i, j, k] + c * (around - 6.0 * a[i, j, k])
    else:
        b[i, j, k] = a[i, j, k]


@numba.njit(parallel=True)
def heat_numba(a, c, b):
    n = a.shape[0]
    for i in numba.prange(n):
        for j in range(n):
            for k in range(n):
                if 0 < i < n - 1 and 0 < j < n - 1 and 0 < k < n - 1:
                    around = (
                        a[i - 1, j, k]
                        + a[i + 1, j, k]
                        + a[i, j - 1, k]
                        + a[i, j + 1, k]
                        + a[i, j, k - 1]
                        + a[i, j, k + 1]
                    )
                    b[i, j, k] = a[i, j, k] + c * (around - 6.0 * a[i, j, k])
                else:
                    b[i, j, k] = a[i, j, k]


def build(scale: float) -> Workload:
    """The workload with 160 x 160 x 160 cells at scale 1."""
    n = max(16, int(160 * scale ** (1 / 3)) // 16 * 16)
    a = np.random.default_rng(0).random((n, n, n))
    c, b = np.float64(0.1), a.copy()
    around = a[:-2, 1:-1, 1:-1] + a[2:, 1:-1, 1:-1] + a[1:-1, :-2, 1:-1] + a[1:-1, 2:, 1:-1]
    around = around + a[1:-1, 1:-1, :-2] + a[1:-1, 1:-1, 2:]
    b[1:-1, 1:-1, 1:-1] += c * (around - 6.0 * a[1:-1, 1:-1, 1:-1])
    return one_kernel(
        "heat",
        f"{n} x {n} x {n} float64, 7 points",
        inputs=[a, c],
        outputs=[np.zeros_like(a)],
        reference=[b],
        space=kapi.Range(n, n, n),
        kernel=heat,
        source=OPENCL_C,
        sizes=[np.int64(n)],
        numba=heat_numba,
    )
