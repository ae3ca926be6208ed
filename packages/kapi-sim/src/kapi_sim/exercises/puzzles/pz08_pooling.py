"""Puzzle 8, pooling: `c[i] = a[i] + a[i - 1] + a[i - 2]`.

What lies before the first element counts as zero.  There is one group of eight.  Three reads of global memory would
do; one is enough, with a tile.
"""

from __future__ import annotations

import numpy as np

import kapi_sim as kapi
from kapi_sim.exercises import expect_at_most, expect_equal, judge


@kapi.kernel
def solve(item: kapi.NdItem, a, c, tile):
    pass  # tile has eight elements


def check(kernel: kapi.Kernel):
    """Name each goal, and check whether the kernel reaches it."""
    a, c = np.arange(1.0, 9.0), np.zeros(8)
    yield "each element of `c` is the sum of three of `a`"
    with kapi.trace() as trace:
        kapi.call_kernel(kernel, kapi.NdRange(8, 8), a, c, kapi.LocalAccessor(8, a.dtype))
    expect_equal("c", c, np.convolve(a, [1, 1, 1])[:8])
    yield "a work-item reads one element of global memory"
    expect_at_most(trace, 1, "read")


if __name__ == "__main__":
    print(judge(check, solve))
