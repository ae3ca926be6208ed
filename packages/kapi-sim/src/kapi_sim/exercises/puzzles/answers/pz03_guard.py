"""The answer to puzzle 3, guard."""

from __future__ import annotations

import kapi_sim as kapi


@kapi.kernel
def solve(item: kapi.Item, a, c):
    i = item.get_id(0)
    if i < a.shape[0]:
        c[i] = 2 * a[i]
