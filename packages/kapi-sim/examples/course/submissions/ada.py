"""The submission of Ada: a tile, and a barrier."""

from __future__ import annotations

import kapi_sim as kapi


@kapi.kernel
def stencil(item: kapi.NdItem, a, c, tile):
    k = item.get_local_id(0)
    tile[k] = a[k]
    kapi.group_barrier(item.get_group())
    total = tile[k]
    for back in range(1, min(k, 2) + 1):
        total += tile[k - back]
    c[k] = total
