"""The answer to puzzle 14, histogram.

Hint: The value that you read is the number of the bin. An `AtomicRef` takes the array and that number, and has a
method that adds.
"""

from __future__ import annotations

import kapi_sim as kapi


@kapi.kernel
def solve(item: kapi.Item, values, counts):
    value = values[item.get_id(0)]
    kapi.AtomicRef(counts, value).fetch_add(1)
