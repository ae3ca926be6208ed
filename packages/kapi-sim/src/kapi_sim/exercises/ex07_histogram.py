"""Exercise 7, histogram: how often each of four values occurs.

Adding one is a read and a write.  What if two work-items have read before either has written?
"""

from __future__ import annotations

import numpy as np

import kapi_sim as kapi
from kapi_sim.exercises import judge


@kapi.kernel
def wrong(item: kapi.Item, values, counts):
    i = item.get_id(0)
    counts[values[i]] += 1


def check(kernel: kapi.Kernel) -> None:
    """Launch over twelve values, and compare."""
    values = np.array([0, 1, 3, 1, 1, 2, 0, 3, 3, 3, 1, 0])
    counts = np.zeros(4, np.int32)
    kapi.call_kernel(kernel, kapi.Range(12), values, counts)
    np.testing.assert_array_equal(counts, np.bincount(values))


if __name__ == "__main__":
    print(judge(check, wrong))
