"""Puzzle 3, guard: twelve work-items for eight elements.

Work-items come in whole groups, so some often have nothing to do.  Those may not touch memory.
"""

from __future__ import annotations

import numpy as np

import kapi_sim as kapi
from kapi_sim.exercises import expect_equal, judge


@kapi.kernel
def solve(item: kapi.Item, a, c):
    pass  # as puzzle 1, but a.shape[0] is less than the number of work-items


def check(kernel: kapi.Kernel):
    """Name each goal, and check whether the kernel reaches it."""
    a, c = np.arange(8.0), np.zeros(8)
    yield "each element of `c` is twice that of `a`, and no work-item goes beyond the end"
    kapi.call_kernel(kernel, kapi.Range(12), a, c)
    expect_equal("c", c, 2 * a)


if __name__ == "__main__":
    print(judge(check, solve))
