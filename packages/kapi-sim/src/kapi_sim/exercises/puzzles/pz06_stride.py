"""Puzzle 6, stride: four work-items for any number of elements.

Work-item k takes the elements k, k + 4, k + 8 and so on.  `item.get_range(0)` is the number of work-items.
"""

from __future__ import annotations

import numpy as np

import kapi_sim as kapi
from kapi_sim.exercises import expect_at_most, expect_equal, judge


@kapi.kernel
def solve(item: kapi.Item, a, c):
    pass  # c[i] = a[i] ** 2, in a loop


def check(kernel: kapi.Kernel):
    """Name each goal, and check whether the kernel reaches it."""
    for n in (11, 3):
        a, c = np.arange(float(n)), np.zeros(n)
        yield f"four work-items square {n} elements"
        with kapi.trace() as trace:
            kapi.call_kernel(kernel, kapi.Range(4), a, c)
        expect_equal("c", c, a**2)
    yield "each element is written once"
    expect_at_most(trace, 3, "write", together=True)


if __name__ == "__main__":
    print(judge(check, solve))
