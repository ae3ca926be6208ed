"""Puzzle 5, outer sum: `c[i, j] = a[i] + b[j]`, on a space that is too large.

The space has 4 x 8 work-items, and `c` has 3 x 5 elements.
"""

from __future__ import annotations

import numpy as np

import kapi_sim as kapi
from kapi_sim.exercises import expect_equal, judge


@kapi.kernel
def solve(item: kapi.Item, a, b, c):
    pass  # both indices need a guard


def check(kernel: kapi.Kernel):
    """Name each goal, and check whether the kernel reaches it."""
    a, b, c = np.arange(3.0), 10 * np.arange(5.0), np.zeros((3, 5))
    yield "each element of `c` is the sum of one of `a` and one of `b`"
    kapi.call_kernel(kernel, kapi.Range(4, 8), a, b, c)
    expect_equal("c", c, a[:, None] + b)


if __name__ == "__main__":
    print(judge(check, solve))
