"""The answer to puzzle 19, sub-group.

Hint: The loop is the same for all members, so no condition is around the exchange. Add what you get to what you
have, and double the mask. Stop when the mask reaches the size of the sub-group.
"""

from __future__ import annotations

import kapi_sim as kapi


@kapi.kernel
def solve(item: kapi.NdItem, a, sums):
    sub_group = item.get_sub_group()
    x = a[item.get_global_id(0)]
    mask = 1
    while mask < sub_group.get_local_range():
        x += kapi.permute_group_by_xor(sub_group, x, mask)
        mask *= 2
    if sub_group.get_local_id() == 0:
        sums[sub_group.get_group_id()] = x
