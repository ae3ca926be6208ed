"""The answer to puzzle 8, pooling.

Hint: Load your own element, then wait. After that, all sums come from the tile. The first two work-items have fewer
than two neighbours before them, so the number of elements that you add depends on `k`.
"""

from __future__ import annotations

import kapi_sim as kapi


@kapi.kernel
def solve(item: kapi.NdItem, a, c, tile):
    k = item.get_local_id(0)
    tile[k] = a[k]
    kapi.group_barrier(item.get_group())
    total = tile[k]
    for back in range(1, min(k, 2) + 1):
        total += tile[k - back]
    c[k] = total
