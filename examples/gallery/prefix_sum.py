"""
Prefix sums, and packing what passes a test
===========================================

How does each work-item know where to write, if only some have anything? By the sum of those before it. Three launches:
each group sums its own, one group sums the groups' totals, and each work-item adds up the two.
"""

import dpnp
import numpy as np

import kapi_runtime as kapi

WIDTH = 256


@kapi.kernel
def scan_groups(item: kapi.NdItem, flags, places, totals):
    group = item.get_group()
    i = item.get_global_id(0)
    own = np.int32(0)
    if i < flags.shape[0]:
        own = np.int32(flags[i])
    before = kapi.exclusive_scan_over_group(group, own, kapi.plus)
    if i < flags.shape[0]:
        places[i] = before
    total = kapi.reduce_over_group(group, own, kapi.plus)
    if group.leader:
        totals[group.get_group_id(0)] = total


@kapi.kernel
def scan_totals(item: kapi.NdItem, totals):
    group = item.get_group()
    lane = item.get_local_id(0)
    before = np.int32(0)
    # A group of 256 goes over all totals, 256 at a time; every work-item takes part in each round.
    for start in range(0, totals.shape[0], WIDTH):
        own = np.int32(0)
        if start + lane < totals.shape[0]:
            own = totals[start + lane]
        here = before + kapi.exclusive_scan_over_group(group, own, kapi.plus)
        before += kapi.reduce_over_group(group, own, kapi.plus)
        if start + lane < totals.shape[0]:
            totals[start + lane] = here


@kapi.kernel
def pack(item: kapi.Item, values, flags, places, totals, packed):
    i = item.get_id(0)
    if flags[i]:
        packed[places[i] + totals[i // WIDTH]] = values[i]


# %%
# The odd numbers of many, in order.

n = 100_000
numbers = np.random.default_rng(2).integers(0, 1000, n)
values = dpnp.asarray(numbers)
flags = values % 2 == 1
groups = -(-n // WIDTH)
places, totals = dpnp.empty(n, dtype=dpnp.int32), dpnp.empty(groups, dtype=dpnp.int32)
kapi.call_kernel_async(scan_groups, kapi.NdRange(groups * WIDTH, WIDTH), (), flags, places, totals)
kapi.call_kernel_async(scan_totals, kapi.NdRange(WIDTH, WIDTH), (), totals)
packed = dpnp.zeros(int(flags.sum()), dtype=values.dtype)
kapi.call_kernel(pack, kapi.Range(n), values, flags, places, totals, packed)

np.testing.assert_array_equal(packed.asnumpy(), numbers[numbers % 2 == 1])
print(packed.size, "of", n, "numbers are odd:", packed[:8], "...")
