"""Exercise 1, map: c = 2 * a + b, one work-item an element.

The wrong version computes one element's place from another's.  Which work-items write the same element?
"""

from __future__ import annotations

import numpy as np

import kapi_sim as kapi
from kapi_sim.exercises import judge


@kapi.kernel
def wrong(item: kapi.Item, a, b, c):
    i = item.get_id(0)
    c[i // 2] = 2 * a[i] + b[i]


def check(kernel: kapi.Kernel) -> None:
    """Launch over eight elements, and compare."""
    a, b, c = np.arange(8.0), np.ones(8), np.zeros(8)
    kapi.call_kernel(kernel, kapi.Range(8), a, b, c)
    np.testing.assert_array_equal(c, 2 * a + b)


if __name__ == "__main__":
    print(judge(check, wrong))
