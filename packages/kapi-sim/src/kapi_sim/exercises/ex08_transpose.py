"""Exercise 8, transpose: b = a.T in tiles of 4 x 4, so that both reads and writes go along the rows.

Reading the tile with its axes exchanged is half of it.  Where in `b` does a tile belong?
"""

from __future__ import annotations

import numpy as np

import kapi_sim as kapi
from kapi_sim.exercises import judge


@kapi.kernel
def wrong(item: kapi.NdItem, a, b, tile):
    group = item.get_group()
    y = item.get_local_id(0)
    x = item.get_local_id(1)
    tile[y, x] = a[item.get_global_id(0), item.get_global_id(1)]
    kapi.group_barrier(group)
    b[item.get_global_id(0), item.get_global_id(1)] = tile[x, y]


def check(kernel: kapi.Kernel) -> None:
    """Launch over 4 x 8 elements, and compare."""
    a, b = np.arange(32.0).reshape(4, 8), np.zeros((8, 4))
    kapi.call_kernel(kernel, kapi.NdRange((4, 8), (4, 4)), a, b, kapi.LocalAccessor((4, 4), np.float64))
    np.testing.assert_array_equal(b, a.T)


if __name__ == "__main__":
    print(judge(check, wrong))
