"""The answer to puzzle 12, rows."""

from __future__ import annotations

import kapi_sim as kapi


@kapi.kernel
def solve(item: kapi.NdItem, a, largest):
    group = item.get_group()
    row, k = group.get_group_id(0), item.get_local_id(0)
    best = kapi.reduce_over_group(group, a[row, k], kapi.maximum)
    if k == 0:
        largest[row] = best
