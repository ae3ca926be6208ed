"""The answer to puzzle 13, scan.

Hint: Keep your sum in a variable of your own, and a copy in the tile. First all read what is `step` places before
them, then all write. The condition concerns the read alone, never a barrier.
"""

from __future__ import annotations

import kapi_sim as kapi


@kapi.kernel
def solve(item: kapi.NdItem, a, c, tile):
    group, k = item.get_group(), item.get_local_id(0)
    mine = a[k]
    tile[k] = mine
    step = 1
    while step < item.get_local_range(0):
        kapi.group_barrier(group)
        if k >= step:
            mine += tile[k - step]
        kapi.group_barrier(group)
        tile[k] = mine
        step *= 2
    c[k] = mine
