"""The answer to puzzle 2, zip.

Hint: It is the map of puzzle 1 with a second array. The product needs no variable of its own, so nothing is read
twice.
"""

from __future__ import annotations

import kapi_sim as kapi


@kapi.kernel
def solve(item: kapi.Item, a, b, c):
    i = item.get_id(0)
    c[i] = a[i] * b[i]
