"""Exercise 6, scan: each element becomes the sum of itself and all before it, in steps of 1, 2, 4.

The wrong version has its barrier.  What may happen between two work-items that have passed it?
"""

from __future__ import annotations

import numpy as np

import kapi_sim as kapi
from kapi_sim.exercises import judge


@kapi.kernel
def wrong(item: kapi.NdItem, a, tile):
    group = item.get_group()
    k = item.get_local_id(0)
    tile[k] = a[k]
    step = 1
    while step < a.shape[0]:
        kapi.group_barrier(group)
        if k >= step:
            tile[k] += tile[k - step]
        step *= 2
    a[k] = tile[k]


def check(kernel: kapi.Kernel) -> None:
    """Launch over one group of eight, and compare."""
    a = np.arange(1.0, 9.0)
    kapi.call_kernel(kernel, kapi.NdRange(8, 8), a, kapi.LocalAccessor(8, np.float64))
    np.testing.assert_array_equal(a, np.cumsum(np.arange(1.0, 9.0)))


if __name__ == "__main__":
    print(judge(check, wrong))
