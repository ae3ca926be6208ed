"""Exercise 4, shared tile: each group of four reverses its part of the array, through local memory.

Every work-item reads what another one has written.  Who says that it has been written?
"""

from __future__ import annotations

import numpy as np

import kapi_sim as kapi
from kapi_sim.exercises import judge


@kapi.kernel
def wrong(item: kapi.NdItem, a, tile):
    i = item.get_global_id(0)
    k = item.get_local_id(0)
    tile[k] = a[i]
    a[i] = tile[item.get_local_range(0) - 1 - k]


def check(kernel: kapi.Kernel) -> None:
    """Launch over two groups of four, and compare."""
    a = np.arange(8.0)
    kapi.call_kernel(kernel, kapi.NdRange(8, 4), a, kapi.LocalAccessor(4, np.float64))
    np.testing.assert_array_equal(a, np.arange(8.0).reshape(2, 4)[:, ::-1].ravel())


if __name__ == "__main__":
    print(judge(check, wrong))
