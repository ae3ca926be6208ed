"""A data race, found and mended.

The work-items of a group share a tile of local memory.  Each writes its own cell and reads another
one's, and without a barrier nothing says that the other has written yet.  Plain Python shows a wrong
result at most; the simulator names both work-items, both lines and the cure.
"""

from __future__ import annotations

import numpy as np

import kapi_sim as kapi


@kapi.kernel
def reverse_wrong(nd_item: kapi.NdItem, a, tile):
    i = nd_item.get_global_id(0)
    k = nd_item.get_local_id(0)
    tile[k] = a[i]
    a[i] = tile[nd_item.get_local_range(0) - 1 - k]


@kapi.kernel
def reverse_right(nd_item: kapi.NdItem, a, tile):
    i = nd_item.get_global_id(0)
    k = nd_item.get_local_id(0)
    tile[k] = a[i]
    kapi.group_barrier(nd_item.get_group())
    a[i] = tile[nd_item.get_local_range(0) - 1 - k]


def main() -> None:
    """Run both, the wrong one first without checks."""
    space = kapi.NdRange(8, 4)
    tile = kapi.LocalAccessor(4, np.float64)

    a = np.arange(8.0)
    with kapi.simulation(checks="none"):
        kapi.call_kernel(reverse_wrong, space, a, tile)
    print(f"wrong, unchecked: {a}")

    try:
        kapi.call_kernel(reverse_wrong, space, np.arange(8.0), tile)
    except kapi.DataRaceError as error:
        print(f"wrong, checked:\nDataRaceError: {error}")

    a = np.arange(8.0)
    with kapi.simulation(schedules=4) as report:
        kapi.call_kernel(reverse_right, space, a, tile)
    print(f"\nright, checked in four orders: {a}")
    print(report)


if __name__ == "__main__":
    main()
