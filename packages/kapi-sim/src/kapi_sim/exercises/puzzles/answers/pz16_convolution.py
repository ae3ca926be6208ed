"""The answer to puzzle 16, convolution."""

from __future__ import annotations

import kapi_sim as kapi


@kapi.kernel
def solve(item: kapi.NdItem, a, w, c, tile):
    i, k, width = item.get_global_id(0), item.get_local_id(0), item.get_local_range(0)
    tile[k] = a[i]
    if k < 2:
        tile[width + k] = a[i + width] if i + width < a.shape[0] else 0
    kapi.group_barrier(item.get_group())
    total = 0.0
    for j in range(3):
        total += tile[k + j] * w[j]
    c[i] = total
