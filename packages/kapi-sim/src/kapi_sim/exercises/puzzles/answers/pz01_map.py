"""The answer to puzzle 1, map.

Hint: Ask the work-item for its index first, and keep it in a variable. The rest is the line of the title.
"""

from __future__ import annotations

import kapi_sim as kapi


@kapi.kernel
def solve(item: kapi.Item, a, c):
    i = item.get_id(0)
    c[i] = a[i] + 10
