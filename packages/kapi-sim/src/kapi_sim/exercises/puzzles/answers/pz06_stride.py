"""The answer to puzzle 6, stride."""

from __future__ import annotations

import kapi_sim as kapi


@kapi.kernel
def solve(item: kapi.Item, a, c):
    for i in range(item.get_id(0), a.shape[0], item.get_range(0)):
        c[i] = a[i] * a[i]
