"""The answer to exercise 6, scan.

Hint: `tile[k] += tile[k - step]` is a read and a write. Keep what you read in a variable; one more barrier belongs
between the two.
"""

from __future__ import annotations

import kapi_sim as kapi


@kapi.kernel
def right(item: kapi.NdItem, a, tile):
    group = item.get_group()
    k = item.get_local_id(0)
    tile[k] = a[k]
    step = 1
    while step < a.shape[0]:
        kapi.group_barrier(group)
        before = 0.0
        if k >= step:
            before = tile[k - step]
        kapi.group_barrier(group)
        tile[k] += before
        step *= 2
    a[k] = tile[k]
