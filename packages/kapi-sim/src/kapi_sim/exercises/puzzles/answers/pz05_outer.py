"""The answer to puzzle 5, outer sum.

Hint: The guard of puzzle 3 holds for one axis. Here two conditions have to hold at once, one for each array that is
read.
"""

from __future__ import annotations

import kapi_sim as kapi


@kapi.kernel
def solve(item: kapi.Item, a, b, c):
    i, j = item.get_id(0), item.get_id(1)
    if i < a.shape[0] and j < b.shape[0]:
        c[i, j] = a[i] + b[j]
