"""Puzzle 7, tile: each group of four reverses its four elements.

`tile` is local memory for four elements, which a group shares.  Load it, wait for the others, and read what another
work-item has loaded.  Each element is read from global memory once, and written once.
"""

from __future__ import annotations

import numpy as np

import kapi_sim as kapi
from kapi_sim.exercises import expect_at_most, expect_equal, judge


@kapi.kernel
def solve(item: kapi.NdItem, a, tile):
    pass  # k = item.get_local_id(0), and kapi.group_barrier(item.get_group()) waits


def check(kernel: kapi.Kernel):
    """Name each goal, and check whether the kernel reaches it."""
    a = np.arange(12.0)
    yield "the four elements of each group are reversed"
    with kapi.trace() as trace:
        kapi.call_kernel(kernel, kapi.NdRange(12, 4), a, kapi.LocalAccessor(4, a.dtype))
    expect_equal("a", a, np.arange(12.0).reshape(3, 4)[:, ::-1].ravel())
    yield "a work-item reads one element of global memory and writes one"
    expect_at_most(trace, 1, "read")
    expect_at_most(trace, 1, "write")


if __name__ == "__main__":
    print(judge(check, solve))
