"""The answer to puzzle 7, tile."""

from __future__ import annotations

import kapi_sim as kapi


@kapi.kernel
def solve(item: kapi.NdItem, a, tile):
    i, k = item.get_global_id(0), item.get_local_id(0)
    tile[k] = a[i]
    kapi.group_barrier(item.get_group())
    a[i] = tile[item.get_local_range(0) - 1 - k]
