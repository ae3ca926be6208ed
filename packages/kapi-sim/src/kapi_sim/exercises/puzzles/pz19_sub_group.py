"""Puzzle 19, sub-group: the sum of each sub-group, without local memory.

The work-items of a sub-group see each other's values: `kapi.permute_group_by_xor(sub_group, x, mask)` gives the `x` of
the work-item whose place differs in the bits of `mask`.  With masks of 1, 2, 4 and so on, everybody has the sum.  All
members have to take part.
"""

from __future__ import annotations

import numpy as np

import kapi_sim as kapi
from kapi_sim.exercises import expect_at_most, expect_equal, judge


@kapi.kernel
def solve(item: kapi.NdItem, a, sums):
    pass  # sub_group = item.get_sub_group(); its first member writes sums[number of the sub-group]


def check(kernel: kapi.Kernel):
    """Name each goal, and check whether the kernel reaches it."""
    a, sums = np.arange(64.0), np.zeros(2)
    yield "each element of `sums` is the sum of a sub-group of 32"
    with kapi.trace() as trace:
        kapi.call_kernel(kernel, kapi.NdRange(64, 64), a, sums)
    expect_equal("sums", sums, a.reshape(2, 32).sum(axis=1))
    yield "a work-item reads one element, and one of each sub-group writes"
    expect_at_most(trace, 1, "read")
    expect_at_most(trace, 2, "write", together=True)


if __name__ == "__main__":
    print(judge(check, solve))
