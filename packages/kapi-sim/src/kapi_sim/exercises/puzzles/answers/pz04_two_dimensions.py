"""The answer to puzzle 4, two dimensions.

Hint: Ask for both indices. The element of `c` has them in their order, the element of `a` the other way round.
"""

from __future__ import annotations

import kapi_sim as kapi


@kapi.kernel
def solve(item: kapi.Item, a, c):
    i, j = item.get_id(0), item.get_id(1)
    c[i, j] = a[j, i]
