"""Puzzle 13, scan: `c[i] = a[0] + a[1] + ... + a[i]`, in steps of 1, 2 and 4.

In step s, each work-item adds the element s places before its own.  Others may not read it before it has its old
value in hand, nor write theirs.  You need two barriers for each step.
"""

from __future__ import annotations

import numpy as np

import kapi_sim as kapi
from kapi_sim.exercises import expect_at_most, expect_equal, judge


@kapi.kernel
def solve(item: kapi.NdItem, a, c, tile):
    pass  # read, barrier, write, barrier


def check(kernel: kapi.Kernel):
    """Name each goal, and check whether the kernel reaches it."""
    a, c = np.arange(1.0, 9.0), np.zeros(8)
    yield "`c` holds the sums of all elements up to each one"
    with kapi.trace() as trace:
        kapi.call_kernel(kernel, kapi.NdRange(8, 8), a, c, kapi.LocalAccessor(8, a.dtype))
    expect_equal("c", c, np.cumsum(a))
    yield "a work-item reads one element of global memory and writes one"
    expect_at_most(trace, 1, "read")
    expect_at_most(trace, 1, "write")
    yield "it writes at most four times to the tile: the steps double"
    expect_at_most(trace, 4, "write", "local")


if __name__ == "__main__":
    print(judge(check, solve))
