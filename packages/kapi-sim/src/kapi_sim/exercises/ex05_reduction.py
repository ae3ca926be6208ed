"""Exercise 5, reduction: the sum of each group's elements, by halves.

In the wrong version only those wait that have something to add.  Who waits for whom?
"""

from __future__ import annotations

import numpy as np

import kapi_sim as kapi
from kapi_sim.exercises import judge


@kapi.kernel
def wrong(item: kapi.NdItem, a, sums, tile):
    group = item.get_group()
    k = item.get_local_id(0)
    tile[k] = a[item.get_global_id(0)]
    kapi.group_barrier(group)
    width = item.get_local_range(0) // 2
    while width > 0:
        if k < width:
            tile[k] += tile[k + width]
            kapi.group_barrier(group)
        width //= 2
    if k == 0:
        sums[group.get_group_id(0)] = tile[0]


def check(kernel: kapi.Kernel) -> None:
    """Launch over two groups of eight, and compare."""
    a, sums = np.arange(16.0), np.zeros(2)
    kapi.call_kernel(kernel, kapi.NdRange(16, 8), a, sums, kapi.LocalAccessor(8, np.float64))
    np.testing.assert_array_equal(sums, a.reshape(2, 8).sum(axis=1))


if __name__ == "__main__":
    print(judge(check, wrong))
