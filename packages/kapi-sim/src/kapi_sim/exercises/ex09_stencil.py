"""Exercise 9, stencil: each inner element becomes the mean of itself and its two neighbours, in local memory.

Four work-items need six elements.  The wrong version forgets that somebody has to load the two at the rim.
"""

from __future__ import annotations

import numpy as np

import kapi_sim as kapi
from kapi_sim.exercises import judge


@kapi.kernel
def wrong(item: kapi.NdItem, a, b, tile):
    i = item.get_global_id(0) + 1
    k = item.get_local_id(0) + 1
    tile[k] = a[i]
    kapi.group_barrier(item.get_group())
    b[i] = (tile[k - 1] + tile[k] + tile[k + 1]) / 3


def check(kernel: kapi.Kernel) -> None:
    """Launch over two groups of four, and compare."""
    a = np.arange(10.0) ** 2
    b = a.copy()
    kapi.call_kernel(kernel, kapi.NdRange(8, 4), a, b, kapi.LocalAccessor(6, np.float64))
    np.testing.assert_array_equal(b[1:-1], (a[:-2] + a[1:-1] + a[2:]) / 3)


if __name__ == "__main__":
    print(judge(check, wrong))
