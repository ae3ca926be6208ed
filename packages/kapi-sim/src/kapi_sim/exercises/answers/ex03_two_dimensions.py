"""The answer to exercise 3, two dimensions.

Hint: `get_id(0)` runs over three values, `get_id(1)` over five. Which of them fits the rows of `c`?
"""

from __future__ import annotations

import kapi_sim as kapi


@kapi.kernel
def right(item: kapi.Item, a, b, c):
    i = item.get_id(0)
    j = item.get_id(1)
    c[i, j] = a[i] * b[j]
