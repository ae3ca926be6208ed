"""Puzzle 20, compaction: keep the positive elements, in their order.

Where does an element go?  To the place that is the number of positive elements before it: an exclusive scan of ones
and zeros, `kapi.exclusive_scan_over_group(group, x, kapi.plus)`.  The last work-item knows how many there are.
"""

from __future__ import annotations

import numpy as np

import kapi_sim as kapi
from kapi_sim.exercises import expect_at_most, expect_equal, judge


@kapi.kernel
def solve(item: kapi.NdItem, a, kept, count):
    pass  # all members of the group take part in the scan


def check(kernel: kapi.Kernel):
    """Name each goal, and check whether the kernel reaches it."""
    rng = np.random.default_rng(5)
    for a in (rng.normal(size=16), -np.ones(16), np.ones(16)):
        kept, count = np.zeros(16), np.zeros(1, np.int32)
        yield f"of {len(a)} elements, the {np.count_nonzero(a > 0)} positive ones are kept and counted"
        with kapi.trace() as trace:
            kapi.call_kernel(kernel, kapi.NdRange(16, 16), a, kept, count)
        expect_equal("count", count, [np.count_nonzero(a > 0)])
        expect_equal("kept", kept[: count[0]], a[a > 0])
    yield "a work-item reads one element, and writes its element at most, and the count"
    expect_at_most(trace, 1, "read")
    expect_at_most(trace, 17, "write", together=True)


if __name__ == "__main__":
    print(judge(check, solve))
