"""The answer to exercise 8, transpose.

Hint: The tile at row r and column c of `a` belongs at row c and column r of `b`. Compute its corner from the
numbers of the group, not from the global ids.
"""

from __future__ import annotations

import kapi_sim as kapi


@kapi.kernel
def right(item: kapi.NdItem, a, b, tile):
    group = item.get_group()
    y = item.get_local_id(0)
    x = item.get_local_id(1)
    tile[y, x] = a[item.get_global_id(0), item.get_global_id(1)]
    kapi.group_barrier(group)
    b[group.get_group_id(1) * 4 + y, group.get_group_id(0) * 4 + x] = tile[x, y]
