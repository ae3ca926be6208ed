"""A generation of Conway's Game of Life: bytes, a torus, nested loops over the neighbours."""

from __future__ import annotations

import numba
import numpy as np

import kapi_runtime as kapi
from workloads import Workload
from workloads.second import one_kernel

__all__ = ["build"]

OPENCL_C = """
kernel void life(global const uchar* restrict a, global uchar* restrict b, const long n) {
    const long j = get_global_id(0), i = get_global_id(1);
    int count = 0;
    for (int y = -1; y < 2; y++)
        for (int x = -1; x < 2; x++)
            count += a[(i + y + n) % n * n + (j + x + n) % n];
    const uchar own = a[i * n + j];
    b[i * n + j] = count == 3 || (count == 4 && own);
}
"""


@kapi.kernel
def life(item: kapi.Item, a, b):
    i, j = item.get_id(0), item.get_id(1)
    n = a.shape[0]
    count = 0
    for y in range(-1, 2):
        for x in range(-1, 2):
            count += a[(i + y) % n, (j + x) % n]
    b[i, j] = 1 if count == 3 or (count == 4 and a[i, j] == 1) else 0


@numba.njit(parallel=True)
def life_numba(a, b):
    n = a.shape[0]
    for i in numba.prange(n):
        for j in range(n):
            count = 0
            for y in range(-1, 2):
                for x in range(-1, 2):
                    count += a[(i + y) % n, (j + x) % n]
            b[i, j] = 1 if count == 3 or (count == 4 and a[i, j] == 1) else 0


def build(scale: float) -> Workload:
    """The workload with 1000 x 1000 cells at scale 1."""
    n = max(50, int(1000 * scale**0.5))
    a = np.random.default_rng(0).integers(0, 2, (n, n), dtype=np.uint8)
    count = sum(np.roll(a, (y, x), (0, 1)) for y in (-1, 0, 1) for x in (-1, 0, 1))
    return one_kernel(
        "life",
        f"{n} x {n} bytes",
        inputs=[a],
        outputs=[np.zeros_like(a)],
        reference=[((count == 3) | ((count == 4) & (a == 1))).astype(np.uint8)],
        space=kapi.Range(n, n),
        kernel=life,
        source=OPENCL_C,
        sizes=[np.int64(n)],
        numba=life_numba,
    )
