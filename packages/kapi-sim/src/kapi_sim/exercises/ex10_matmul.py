"""Exercise 10, matrix product: tiles of both factors in local memory, one pair after the other.

There is a barrier between loading a tile and using it.  What lies between using it and loading the next?
"""

from __future__ import annotations

import numpy as np

import kapi_sim as kapi
from kapi_sim.exercises import judge


@kapi.kernel
def wrong(item: kapi.NdItem, a, b, c, ta, tb):
    group = item.get_group()
    y = item.get_local_id(0)
    x = item.get_local_id(1)
    i = item.get_global_id(0)
    j = item.get_global_id(1)
    total = 0.0
    for t in range(0, a.shape[1], 2):
        ta[y, x] = a[i, t + x]
        tb[y, x] = b[t + y, j]
        kapi.group_barrier(group)
        for k in range(2):
            total += ta[y, k] * tb[k, x]
    c[i, j] = total


def check(kernel: kapi.Kernel) -> None:
    """Launch over 4 x 4 elements in tiles of 2 x 2, and compare."""
    a, b, c = np.arange(16.0).reshape(4, 4), np.arange(16.0).reshape(4, 4) - 7, np.zeros((4, 4))
    tiles = [kapi.LocalAccessor((2, 2), np.float64) for _ in range(2)]
    kapi.call_kernel(kernel, kapi.NdRange((4, 4), (2, 2)), a, b, c, *tiles)
    np.testing.assert_array_equal(c, a @ b)


if __name__ == "__main__":
    print(judge(check, wrong))
