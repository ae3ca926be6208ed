"""Add two vectors on the default device, and check the sum with NumPy."""

from __future__ import annotations

import dpnp
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
    on_device = [dpnp.asarray(values) for values in (left, right)]
    total = dpnp.empty_like(on_device[0])

    kapi.call_kernel(add, kapi.Range(total.size), *on_device, total)

    np.testing.assert_array_equal(total.asnumpy(), left + right)
    print(f"added {total.size} float32 pairs on {total.sycl_device.name}: equal to NumPy's")


if __name__ == "__main__":
    main()
