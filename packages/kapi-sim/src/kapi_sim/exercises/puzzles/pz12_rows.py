"""Puzzle 12, rows: the largest element of each row of a matrix.

Row g belongs to group g.  Write no tree this time: `kapi.reduce_over_group(group, x, kapi.maximum)` gives its result to
each member of the group.
"""

from __future__ import annotations

import numpy as np

import kapi_sim as kapi
from kapi_sim.exercises import expect_at_most, expect_equal, judge


@kapi.kernel
def solve(item: kapi.NdItem, a, largest):
    pass  # four groups, each with eight work-items


def check(kernel: kapi.Kernel):
    """Name each goal, and check whether the kernel reaches it."""
    a, largest = np.random.default_rng(7).normal(size=(4, 8)), np.zeros(4)
    yield "each element of `largest` is the largest one of its row"
    with kapi.trace() as trace:
        kapi.call_kernel(kernel, kapi.NdRange(32, 8), a, largest)
    expect_equal("largest", largest, a.max(axis=1))
    yield "a work-item reads one element, and one of each group writes"
    expect_at_most(trace, 1, "read")
    expect_at_most(trace, 4, "write", together=True)


if __name__ == "__main__":
    print(judge(check, solve))
