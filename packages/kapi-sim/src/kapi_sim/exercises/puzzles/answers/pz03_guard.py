"""The answer to puzzle 3, guard.

Hint: Ask whether your index is below the length of `a` before you read or write anything. The others simply do
nothing.
"""

from __future__ import annotations

import kapi_sim as kapi


@kapi.kernel
def solve(item: kapi.Item, a, c):
    i = item.get_id(0)
    if i < a.shape[0]:
        c[i] = 2 * a[i]
