"""The answer to exercise 10, matrix product.

Hint: A fast work-item comes round the loop and loads the next tile, while a slow one still reads this one. What
would let it wait?
"""

from __future__ import annotations

import kapi_sim as kapi


@kapi.kernel
def right(item: kapi.NdItem, a, b, c, ta, tb):
    group = item.get_group()
    y = item.get_local_id(0)
    x = item.get_local_id(1)
    i = item.get_global_id(0)
    j = item.get_global_id(1)
    total = 0.0
    for t in range(0, a.shape[1], 2):
        ta[y, x] = a[i, t + x]
        tb[y, x] = b[t + y, j]
        kapi.group_barrier(group)
        for k in range(2):
            total += ta[y, k] * tb[k, x]
        kapi.group_barrier(group)
    c[i, j] = total
