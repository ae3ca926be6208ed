"""Exercise 3, two dimensions: c[i, j] = a[i] * b[j], over a range that is not square.

The wrong version takes the dimensions in the order of x and y.  Which one counts rows?
"""

from __future__ import annotations

import numpy as np

import kapi_sim as kapi
from kapi_sim.exercises import judge


@kapi.kernel
def wrong(item: kapi.Item, a, b, c):
    x = item.get_id(0)
    y = item.get_id(1)
    c[y, x] = a[y] * b[x]


def check(kernel: kapi.Kernel) -> None:
    """Launch over 3 x 5 elements, and compare."""
    a, b, c = np.arange(3.0), np.arange(5.0), np.zeros((3, 5))
    kapi.call_kernel(kernel, kapi.Range(3, 5), a, b, c)
    np.testing.assert_array_equal(c, np.outer(a, b))


if __name__ == "__main__":
    print(judge(check, wrong))
