"""Puzzle 17, transpose: `c[j, i] = a[i, j]`, with neighbours next to neighbours.

A device fetches neighbouring elements at once.  If the work-items of a row read a row of `a` and write a row of `c`,
each access of 32 work-items falls into 4 stretches of 8.  Without the tile, one of the two falls into 8 stretches of 4.
"""

from __future__ import annotations

import numpy as np

import kapi_sim as kapi
from kapi_sim.exercises import expect_equal, judge


@kapi.kernel
def solve(item: kapi.NdItem, a, c, tile):
    pass  # the group at (y, x) writes the tile at (x, y)


def check(kernel: kapi.Kernel):
    """Name each goal, and check whether the kernel reaches it."""
    a, c = np.arange(256.0).reshape(16, 16), np.zeros((16, 16))
    yield "`c` is the transpose of `a`"
    with kapi.trace() as trace:
        kapi.call_kernel(kernel, kapi.NdRange((16, 16), (8, 8)), a, c, kapi.LocalAccessor((8, 8), a.dtype))
    expect_equal("c", c, a.T)
    yield "32 neighbours read and write 4 stretches of global memory"
    for line in trace.statistics():
        assert line.segments <= 4, f"At line {line.site.line} an access falls into {line.segments:.0f} stretches."


if __name__ == "__main__":
    print(judge(check, solve))
