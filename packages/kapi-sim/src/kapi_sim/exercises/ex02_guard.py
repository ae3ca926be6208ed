"""Exercise 2, guard: differences of neighbours, d[i] = a[i + 1] - a[i].

There is a work-item for each element, but the last one has no neighbour.  Python would not have told you about `a[-1]`
at the other end, either.
"""

from __future__ import annotations

import numpy as np

import kapi_sim as kapi
from kapi_sim.exercises import judge


@kapi.kernel
def wrong(item: kapi.Item, a, d):
    i = item.get_id(0)
    d[i] = a[i + 1] - a[i]


def check(kernel: kapi.Kernel) -> None:
    """Launch over ten elements, and compare."""
    a, d = np.arange(10.0) ** 2, np.zeros(10)
    kapi.call_kernel(kernel, kapi.Range(10), a, d)
    np.testing.assert_array_equal(d[:-1], np.diff(a))


if __name__ == "__main__":
    print(judge(check, wrong))
