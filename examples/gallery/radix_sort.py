"""
A radix sort
============

Sorting by one digit at a time, the lowest first, needs no comparison. Each pass keeps the order of equal digits, so
that the passes before it stay in effect. A pass has three steps. Each group counts the digits of its tile, a scan of
the counts, digit by digit, says where each group's elements of each digit begin, and each work-item moves its element.
"""

import matplotlib.pyplot as plt
import numpy as np

import kapi_runtime as kapi

WIDTH = 256  # elements of a tile, one for each work-item
BITS = 4
DIGITS = 1 << BITS


@kapi.kernel
def count_digits(item: kapi.NdItem, keys, counts, shift, found):
    group = item.get_group()
    k = item.get_local_id(0)
    if k < DIGITS:
        found[k] = 0
    kapi.group_barrier(group)
    i = item.get_global_id(0)
    if i < keys.shape[0]:
        digit = (keys[i] >> shift) & np.uint32(DIGITS - 1)
        counter = kapi.AtomicRef(found, int(digit), address_space=kapi.AddressSpace.LOCAL)
        counter.fetch_add(1)
    kapi.group_barrier(group)
    if k < DIGITS:
        counts[k * group.get_group_range(0) + group.get_group_id(0)] = found[k]


@kapi.kernel
def move(item: kapi.NdItem, keys, places, shift, moved):
    group = item.get_group()
    i = item.get_global_id(0)
    own = DIGITS  # of a work-item without an element
    if i < keys.shape[0]:
        own = int((keys[i] >> shift) & np.uint32(DIGITS - 1))
    # Work-items before this one with the same digit: one scan for each digit keeps their order.
    rank = np.int32(0)
    for digit in range(DIGITS):
        mine = np.int32(own == digit)
        before = kapi.exclusive_scan_over_group(group, mine, kapi.plus)
        if own == digit:
            rank = before
    if i < keys.shape[0]:
        start = places[own * group.get_group_range(0) + group.get_group_id(0)]
        moved[start + rank] = keys[i]


# %%
# The scan of the counts comes from :mod:`kapi.algorithms <kapi_sim.algorithms>`. After each pass, the arrays change
# roles.


def radix_sort(keys, watch=lambda keys: None):
    groups = -(-keys.size // WIDTH)
    space = kapi.NdRange(groups * WIDTH, WIDTH)
    counts, moved = np.empty(DIGITS * groups, np.int32), np.empty_like(keys)
    found = kapi.LocalAccessor(DIGITS, np.int32)
    for shift in range(0, 32, BITS):
        kapi.call_kernel(count_digits, space, keys, counts, np.uint32(shift), found)
        places = kapi.algorithms.exclusive_scan(counts)
        kapi.call_kernel(move, space, keys, places, np.uint32(shift), moved)
        keys, moved = moved, keys
        watch(keys)
    return keys


# %%
# The program sorts the points of a hidden curve, whose height is the key.

n = 20_000
rng = np.random.default_rng(4)
heights = (2**31 * (1 + np.sin(np.linspace(0, 9, n)) * rng.random(n))).astype(np.uint32)
passes = [heights.copy()]
by_radix = radix_sort(heights.copy(), lambda keys: passes.append(keys.copy()))

np.testing.assert_array_equal(by_radix, np.sort(heights))
again = heights.copy()
kapi.algorithms.sort(again)  # the one that comes with kapi, eight bits at a time
np.testing.assert_array_equal(again, by_radix)
print("sorted", n, "keys in", len(passes) - 1, "passes:", by_radix[:3], "...", by_radix[-3:])

# %%
# The picture shows the keys after each pass. To the eye, only the last passes sort: the upper digits come last.

figure, axes = plt.subplots(1, 5, figsize=(10, 2.4), sharey=True)
for axis, number in zip(axes, (0, 2, 6, 7, 8), strict=True):
    axis.plot(passes[number][::10], ",", color="#33658a")
    axis.set(title=f"after {number} passes" if number else "at first", xticks=[], yticks=[])
figure.tight_layout()
plt.show()
