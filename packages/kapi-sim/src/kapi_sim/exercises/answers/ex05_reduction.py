"""The answer to exercise 5, reduction.

Hint: A barrier is for the whole group. Which work-items leave out the one in the loop, and may it stand outside of
the `if`?
"""

from __future__ import annotations

import kapi_sim as kapi


@kapi.kernel
def right(item: kapi.NdItem, a, sums, tile):
    group = item.get_group()
    k = item.get_local_id(0)
    tile[k] = a[item.get_global_id(0)]
    kapi.group_barrier(group)
    width = item.get_local_range(0) // 2
    while width > 0:
        if k < width:
            tile[k] += tile[k + width]
        kapi.group_barrier(group)
        width //= 2
    if k == 0:
        sums[group.get_group_id(0)] = tile[0]
