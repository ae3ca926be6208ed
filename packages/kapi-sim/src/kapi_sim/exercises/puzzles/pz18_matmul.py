"""Puzzle 18, matrix product: `c = a @ b`, by tiles of 4 x 4.

For each of the two pairs of tiles: load one element of each, wait, multiply and add four times, wait.  Without tiles a
work-item reads 16 elements of global memory; with them it reads 4.
"""

from __future__ import annotations

import numpy as np

import kapi_sim as kapi
from kapi_sim.exercises import expect_at_most, expect_equal, judge


@kapi.kernel
def solve(item: kapi.NdItem, a, b, c, ta, tb):
    pass  # two barriers in the loop over tiles


def check(kernel: kapi.Kernel):
    """Name each goal, and check whether the kernel reaches it."""
    rng = np.random.default_rng(1)
    a, b, c = rng.normal(size=(8, 8)), rng.normal(size=(8, 8)), np.zeros((8, 8))
    tiles = kapi.LocalAccessor((4, 4), a.dtype), kapi.LocalAccessor((4, 4), a.dtype)
    yield "`c` is the product"
    with kapi.trace() as trace:
        kapi.call_kernel(kernel, kapi.NdRange((8, 8), (4, 4)), a, b, c, *tiles)
    expect_equal("c", c, a @ b)
    yield "a work-item reads four elements of global memory and writes one"
    expect_at_most(trace, 4, "read")
    expect_at_most(trace, 1, "write")


if __name__ == "__main__":
    print(judge(check, solve))
