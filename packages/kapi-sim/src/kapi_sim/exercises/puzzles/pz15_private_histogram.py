"""Puzzle 15, histogram of groups: count in local memory first.

Atomics on one element of global memory wait for each other.  Let each group of eight count in its own local memory,
`bins`, and add its four counts to the four of global memory at the end.  Local memory is empty at the start: set it
to zero.
"""

from __future__ import annotations

import numpy as np

import kapi_sim as kapi
from kapi_sim.exercises import expect_at_most, expect_equal, judge


@kapi.kernel
def solve(item: kapi.NdItem, values, counts, bins):
    pass  # zero, barrier, count, barrier, add


def check(kernel: kapi.Kernel):
    """Name each goal, and check whether the kernel reaches it."""
    values, counts = np.random.default_rng(3).integers(0, 4, 32), np.zeros(4, np.int32)
    yield "`counts` says how often each value occurs"
    with kapi.trace() as trace:
        kapi.call_kernel(kernel, kapi.NdRange(32, 8), values, counts, kapi.LocalAccessor(4, np.int32))
    expect_equal("counts", counts, np.bincount(values, minlength=4))
    yield "the four groups make 16 atomics in global memory together"
    expect_at_most(trace, 16, "atomic", together=True)


if __name__ == "__main__":
    print(judge(check, solve))
