"""Morton codes of points and the number of their bits: masks and shifts of uint32."""

from __future__ import annotations

import numba
import numpy as np

import kapi_runtime as kapi
from workloads import Workload
from workloads.second import one_kernel

__all__ = ["build"]

OPENCL_C = """
uint spread(uint x) {
    x = (x | x << 8) & 0x00FF00FFu;
    x = (x | x << 4) & 0x0F0F0F0Fu;
    x = (x | x << 2) & 0x33333333u;
    return (x | x << 1) & 0x55555555u;
}

kernel void morton(global const ushort* restrict xs, global const ushort* restrict ys, global uint* restrict codes,
                   global uchar* restrict ones) {
    const size_t i = get_global_id(0);
    const uint code = spread(xs[i]) | spread(ys[i]) << 1;
    codes[i] = code;
    uint rest = code - (code >> 1 & 0x55555555u);
    rest = (rest & 0x33333333u) + (rest >> 2 & 0x33333333u);
    rest = (rest + (rest >> 4)) & 0x0F0F0F0Fu;
    ones[i] = rest * 0x01010101u >> 24;
}
"""


def spread(x):
    x = (x | x << 8) & 0x00FF00FF
    x = (x | x << 4) & 0x0F0F0F0F
    x = (x | x << 2) & 0x33333333
    return (x | x << 1) & 0x55555555


spread_numba = numba.njit(spread)


@kapi.kernel
def morton(item: kapi.Item, xs, ys, codes, ones):
    i = item.get_id(0)
    code = spread(np.uint32(xs[i])) | spread(np.uint32(ys[i])) << 1
    codes[i] = code
    rest = code - (code >> 1 & 0x55555555)
    rest = (rest & 0x33333333) + (rest >> 2 & 0x33333333)
    rest = (rest + (rest >> 4)) & 0x0F0F0F0F
    ones[i] = rest * 0x01010101 >> 24


@numba.njit(parallel=True)
def morton_numba(xs, ys, codes, ones):
    for i in numba.prange(xs.shape[0]):
        code = np.uint32(spread_numba(np.uint32(xs[i])) | spread_numba(np.uint32(ys[i])) << 1)
        codes[i] = code
        rest = code - (code >> 1 & 0x55555555)
        rest = (rest & 0x33333333) + (rest >> 2 & 0x33333333)
        rest = (rest + (rest >> 4)) & 0x0F0F0F0F
        ones[i] = np.uint32(rest * 0x01010101) >> 24


def build(scale: float) -> Workload:
    """The workload with two million points at scale 1."""
    n = max(1024, int(2**21 * scale))
    random = np.random.default_rng(0)
    xs, ys = (random.integers(0, 2**16, n, dtype=np.uint16) for _ in range(2))
    bits = np.zeros((n, 32), np.uint8)
    for k in range(16):
        bits[:, 2 * k] = xs >> k & 1
        bits[:, 2 * k + 1] = ys >> k & 1
    codes = np.packbits(bits, axis=1, bitorder="little").view(np.uint32)[:, 0]
    return one_kernel(
        "morton",
        f"{n} points of two uint16",
        inputs=[xs, ys],
        outputs=[np.zeros(n, np.uint32), np.zeros(n, np.uint8)],
        reference=[codes, bits.sum(axis=1)],
        space=kapi.Range(n),
        kernel=morton,
        source=OPENCL_C,
        numba=morton_numba,
    )
