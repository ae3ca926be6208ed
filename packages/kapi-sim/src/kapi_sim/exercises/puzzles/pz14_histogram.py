"""Puzzle 14, histogram: how often each of four values occurs.

Many work-items count into the same element, so each count has to be atomic.
"""

from __future__ import annotations

import numpy as np

import kapi_sim as kapi
from kapi_sim.exercises import expect_at_most, expect_equal, judge


@kapi.kernel
def solve(item: kapi.Item, values, counts):
    pass  # kapi.AtomicRef(counts, ...) names an element


def check(kernel: kapi.Kernel):
    """Name each goal, and check whether the kernel reaches it."""
    values, counts = np.array([0, 1, 3, 1, 1, 2, 0, 3, 3, 3, 1, 0]), np.zeros(4, np.int32)
    yield "`counts` says how often each value occurs"
    with kapi.trace() as trace:
        kapi.call_kernel(kernel, kapi.Range(12), values, counts)
    expect_equal("counts", counts, np.bincount(values))
    yield "a work-item reads its value once, and counts once"
    expect_at_most(trace, 1, "read")
    expect_at_most(trace, 1, "atomic")


if __name__ == "__main__":
    print(judge(check, solve))
