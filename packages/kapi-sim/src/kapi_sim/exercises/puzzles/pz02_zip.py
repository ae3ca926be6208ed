"""Puzzle 2, zip: `c[i] = a[i] * b[i]`, once for each element.

Each work-item reads one element of each array, and writes one.
"""

from __future__ import annotations

import numpy as np

import kapi_sim as kapi
from kapi_sim.exercises import expect_at_most, expect_equal, judge


@kapi.kernel
def solve(item: kapi.Item, a, b, c):
    pass  # two reads, one write


def check(kernel: kapi.Kernel):
    """Name each goal, and check whether the kernel reaches it."""
    a, b, c = np.arange(8.0), np.arange(8.0) + 1, np.zeros(8)
    yield "each element of `c` is the product of those of `a` and `b`"
    with kapi.trace() as trace:
        kapi.call_kernel(kernel, kapi.Range(8), a, b, c)
    expect_equal("c", c, a * b)
    yield "a work-item reads two elements and writes one"
    expect_at_most(trace, 2, "read")
    expect_at_most(trace, 1, "write")


if __name__ == "__main__":
    print(judge(check, solve))
