"""The answer to puzzle 18, matrix product.

Hint: In each step, `ta` moves to the right along a row of `a`, and `tb` down a column of `b`. The first barrier
waits until both are loaded. The second waits until nobody reads them any more.
"""

from __future__ import annotations

import kapi_sim as kapi


@kapi.kernel
def solve(item: kapi.NdItem, a, b, c, ta, tb):
    group = item.get_group()
    i, j, y, x = item.get_global_id(0), item.get_global_id(1), item.get_local_id(0), item.get_local_id(1)
    total = 0.0
    for tile in range(a.shape[1] // 4):
        ta[y, x] = a[i, tile * 4 + x]
        tb[y, x] = b[tile * 4 + y, j]
        kapi.group_barrier(group)
        for k in range(4):
            total += ta[y, k] * tb[k, x]
        kapi.group_barrier(group)
    c[i, j] = total
