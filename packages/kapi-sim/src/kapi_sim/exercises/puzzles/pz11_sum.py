"""Puzzle 11, sum of all groups: `total[0]` is the sum of 32 elements in four groups.

No barrier orders groups.  Sum each group in a tree, and let one work-item of each add its sum to the total with
`kapi.AtomicRef(total, 0).fetch_add(...)`.
"""

from __future__ import annotations

import numpy as np

import kapi_sim as kapi
from kapi_sim.exercises import expect_at_most, expect_equal, judge


@kapi.kernel
def solve(item: kapi.NdItem, a, total, tile):
    pass  # one atomic for each group


def check(kernel: kapi.Kernel):
    """Name each goal, and check whether the kernel reaches it."""
    a, total = np.arange(32.0), np.zeros(1)
    yield "`total` is the sum of all elements"
    with kapi.trace() as trace:
        kapi.call_kernel(kernel, kapi.NdRange(32, 8), a, total, kapi.LocalAccessor(8, a.dtype))
    expect_equal("total", total, [a.sum()])
    yield "the four groups need four atomics together"
    expect_at_most(trace, 4, "atomic", together=True)
    yield "a work-item reads one element of global memory"
    expect_at_most(trace, 1, "read")


if __name__ == "__main__":
    print(judge(check, solve))
