"""Puzzle 1, map: `c[i] = a[i] + 10`.

There is one work-item for each element.  `item.get_id(0)` says which one you are.
"""

from __future__ import annotations

import numpy as np

import kapi_sim as kapi
from kapi_sim.exercises import expect_equal, judge


@kapi.kernel
def solve(item: kapi.Item, a, c):
    pass  # your work-item computes one element of c


def check(kernel: kapi.Kernel):
    """Name each goal, and check whether the kernel reaches it."""
    a, c = np.arange(8.0), np.zeros(8)
    yield "each element of `c` is ten more than that of `a`"
    kapi.call_kernel(kernel, kapi.Range(8), a, c)
    expect_equal("c", c, a + 10)


if __name__ == "__main__":
    print(judge(check, solve))
