"""Puzzle 10, dot product: `out[0] = a[0] * b[0] + a[1] * b[1] + ...`, in a tree.

One group of eight.  After the products are in the tile, four work-items add one element each to theirs, then two,
then one.  Everybody has to come to each barrier.
"""

from __future__ import annotations

import numpy as np

import kapi_sim as kapi
from kapi_sim.exercises import expect_at_most, expect_equal, judge


@kapi.kernel
def solve(item: kapi.NdItem, a, b, out, tile):
    pass  # halve the width until it is 0


def check(kernel: kapi.Kernel):
    """Name each goal, and check whether the kernel reaches it."""
    a, b, out = np.arange(8.0), np.arange(8.0) + 2, np.zeros(1)
    yield "`out` is the dot product"
    with kapi.trace() as trace:
        kapi.call_kernel(kernel, kapi.NdRange(8, 8), a, b, out, kapi.LocalAccessor(8, a.dtype))
    expect_equal("out", out, [a @ b])
    yield "a work-item reads two elements of global memory, and one writes the sum"
    expect_at_most(trace, 2, "read")
    expect_at_most(trace, 1, "write", together=True)
    yield "no work-item reads more than seven elements of the tile: the sum is a tree"
    expect_at_most(trace, 7, "read", "local")


if __name__ == "__main__":
    print(judge(check, solve))
