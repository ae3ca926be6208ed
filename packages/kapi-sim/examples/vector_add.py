"""Add two vectors: a kernel, its launch, and what the simulator looked at.

Replace the import by ``import kapi_runtime as kapi``, and the same kernel runs compiled, on the same arrays.
"""

from __future__ import annotations

import numpy as np

import kapi_sim as kapi


@kapi.kernel
def vector_add(item: kapi.Item, a, b, c):
    i = item.get_id(0)
    c[i] = a[i] + b[i]


def main() -> None:
    """Launch once as it should be, and once over too many work-items."""
    n = 1000
    a = np.linspace(0.0, 1.0, n, dtype=np.float32)
    b = np.ones(n, dtype=np.float32)
    c = np.zeros(n, dtype=np.float32)
    with kapi.simulation() as report:
        kapi.call_kernel(vector_add, kapi.Range(n), a, b, c)
    print(f"c[0] = {c[0]}, c[-1] = {c[-1]}, right everywhere: {np.array_equal(c, a + b)}")
    print(report)

    if kapi.__name__ != "kapi_sim":
        return  # a device checks no index
    print("\nOne work-item too many:")
    try:
        kapi.call_kernel(vector_add, kapi.Range(n + 1), a, b, c)
    except kapi.OutOfBoundsError as error:
        print(f"OutOfBoundsError: {error}")


if __name__ == "__main__":
    main()
