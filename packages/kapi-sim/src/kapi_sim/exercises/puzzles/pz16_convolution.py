"""Puzzle 16, convolution: `c[i] = a[i] * w[0] + a[i + 1] * w[1] + a[i + 2] * w[2]`.

What lies past the end counts as zero.  A group of eight needs ten elements of `a`: load them into the tile, and read no
element of `a` twice in a group.
"""

from __future__ import annotations

import numpy as np

import kapi_sim as kapi
from kapi_sim.exercises import expect_at_most, expect_equal, judge


@kapi.kernel
def solve(item: kapi.NdItem, a, w, c, tile):
    pass  # two of the work-items load two elements


def check(kernel: kapi.Kernel):
    """Name each goal, and check whether the kernel reaches it."""
    a, w, c = np.arange(16.0), np.array([1.0, -2.0, 3.0]), np.zeros(16)
    yield "`c` is the convolution"
    with kapi.trace() as trace:
        kapi.call_kernel(kernel, kapi.NdRange(16, 8), a, w, c, kapi.LocalAccessor(10, a.dtype))
    expect_equal("c", c, np.correlate(np.append(a, [0, 0]), w))
    yield "a work-item reads five elements of global memory at most: three weights, and two of `a`"
    expect_at_most(trace, 5, "read")
    yield "all of them read 66: each weight, and 18 elements of `a`"
    expect_at_most(trace, 66, "read", together=True)


if __name__ == "__main__":
    print(judge(check, solve))
