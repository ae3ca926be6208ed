"""The answer to puzzle 7, tile.

Hint: Two indices take part: a global one for `a`, a local one for the tile. The element that you want is as far
from the end of the tile as you are from its start.
"""

from __future__ import annotations

import kapi_sim as kapi


@kapi.kernel
def solve(item: kapi.NdItem, a, tile):
    i, k = item.get_global_id(0), item.get_local_id(0)
    tile[k] = a[i]
    kapi.group_barrier(item.get_group())
    a[i] = tile[item.get_local_range(0) - 1 - k]
