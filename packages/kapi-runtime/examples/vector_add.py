"""Add two vectors on the CPU, and check the sum with NumPy."""

from __future__ import annotations

import numpy as np

import kapi_runtime as kapi


@kapi.kernel
def add(item: kapi.Item, left, right, total):
    i = item.get_id(0)
    total[i] = left[i] + right[i]


def main() -> None:
    """Run the kernel and print what it did."""
    generator = np.random.default_rng(7)
    left, right = (generator.random(10_007, dtype=np.float32) for _ in range(2))
    total = np.empty_like(left)

    kapi.call_kernel(add, kapi.Range(total.size), left, right, total)

    np.testing.assert_array_equal(total, left + right)
    print(f"added {total.size} float32 pairs: equal to NumPy's")


if __name__ == "__main__":
    main()
