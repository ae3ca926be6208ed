"""The answer to puzzle 17, transpose.

Hint: Load the tile as it lies in `a`. When you write, swap the two ids of the group, but not those of the
work-item; the swap within the tile is in how you read it.
"""

from __future__ import annotations

import kapi_sim as kapi


@kapi.kernel
def solve(item: kapi.NdItem, a, c, tile):
    i, j = item.get_local_id(0), item.get_local_id(1)
    row, column = item.get_group().get_group_id(0) * 8, item.get_group().get_group_id(1) * 8
    tile[i, j] = a[row + i, column + j]
    kapi.group_barrier(item.get_group())
    c[column + i, row + j] = tile[j, i]
