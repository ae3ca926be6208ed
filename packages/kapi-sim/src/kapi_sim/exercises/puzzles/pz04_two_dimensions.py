"""Puzzle 4, two dimensions: `c[i, j] = a[j, i]`.

The index space has two dimensions.  `item.get_id(0)` counts the rows of `c` and `item.get_id(1)` its columns.
"""

from __future__ import annotations

import numpy as np

import kapi_sim as kapi
from kapi_sim.exercises import expect_equal, judge


@kapi.kernel
def solve(item: kapi.Item, a, c):
    pass  # c has 3 rows and 5 columns, a has 5 rows and 3 columns


def check(kernel: kapi.Kernel):
    """Name each goal, and check whether the kernel reaches it."""
    a, c = np.arange(15.0).reshape(5, 3), np.zeros((3, 5))
    yield "`c` is `a` with rows and columns exchanged"
    kapi.call_kernel(kernel, kapi.Range(3, 5), a, c)
    expect_equal("c", c, a.T)


if __name__ == "__main__":
    print(judge(check, solve))
