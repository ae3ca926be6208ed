"""The answer to puzzle 20, compaction.

Hint: Make a number of the condition: 1 if you keep your element, 0 if not. Scan that. The scan leaves out your own
number, so the last work-item has to add its own to know the count.
"""

from __future__ import annotations

import kapi_sim as kapi


@kapi.kernel
def solve(item: kapi.NdItem, a, kept, count):
    k = item.get_local_id(0)
    x = a[item.get_global_id(0)]
    is_kept = 1 if x > 0 else 0
    index = kapi.exclusive_scan_over_group(item.get_group(), is_kept, kapi.plus)
    if is_kept:
        kept[index] = x
    if k == item.get_local_range(0) - 1:
        count[0] = index + is_kept
