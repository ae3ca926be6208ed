"""The answer to puzzle 14, histogram."""

from __future__ import annotations

import kapi_sim as kapi


@kapi.kernel
def solve(item: kapi.Item, values, counts):
    value = values[item.get_id(0)]
    kapi.AtomicRef(counts, value).fetch_add(1)
