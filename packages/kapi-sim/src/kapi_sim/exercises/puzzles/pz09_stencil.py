"""Puzzle 9, stencil: `c[i] = a[i - 1] + a[i + 1]`, over three groups.

At the ends, the missing neighbour counts as zero.  The tile of a group of four has six elements: somebody has to load
the two at its rim.
"""

from __future__ import annotations

import numpy as np

import kapi_sim as kapi
from kapi_sim.exercises import expect_at_most, expect_equal, judge


@kapi.kernel
def solve(item: kapi.NdItem, a, c, tile):
    pass  # tile[k + 1] is the element of work-item k


def check(kernel: kapi.Kernel):
    """Name each goal, and check whether the kernel reaches it."""
    a, c = np.arange(1.0, 13.0), np.zeros(12)
    yield "each element of `c` is the sum of two neighbours"
    with kapi.trace() as trace:
        kapi.call_kernel(kernel, kapi.NdRange(12, 4), a, c, kapi.LocalAccessor(6, a.dtype))
    expect_equal("c", c, np.convolve(a, [1, 0, 1])[1:-1])
    yield "the three groups read 16 elements of global memory together"
    expect_at_most(trace, 16, "read", together=True)


if __name__ == "__main__":
    print(judge(check, solve))
