"""
Prefix sums and stream compaction
=================================

Only some work-items have something to write. How does each of them know where? By the sum of the flags before it. It
takes three launches. Each group sums its own flags, one group sums the groups' totals, and each work-item adds the
two.
"""

import matplotlib.pyplot as plt
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
# The program keeps the odd numbers, in order.

n = 100_000
numbers = np.random.default_rng(2).integers(0, 1000, n)
flags = numbers % 2 == 1
groups = -(-n // WIDTH)
places, totals = np.empty(n, np.int32), np.empty(groups, np.int32)
kapi.call_kernel(scan_groups, kapi.NdRange(groups * WIDTH, WIDTH), flags, places, totals)
kapi.call_kernel(scan_totals, kapi.NdRange(WIDTH, WIDTH), totals)
packed = np.zeros(int(flags.sum()), dtype=numbers.dtype)
kapi.call_kernel(pack, kapi.Range(n), numbers, flags, places, totals, packed)

# %%
# NumPy sums the flags before each element, and picks the same numbers.

kept = numbers % 2 == 1
before = np.cumsum(kept) - kept
np.testing.assert_array_equal(places + totals[np.arange(n) // WIDTH], before)
np.testing.assert_array_equal(packed, numbers[kept])
print(packed.size, "of", n, "numbers are odd:", packed[:8], "...")

# %%
# The picture shows the first 20. The sum of the flags before an element is its place, if it is kept.

shown, there = 20, packed
figure, axes = plt.subplots(figsize=(8, 3))
boxes = {"boxstyle": "round,pad=0.3", "lw": 0}
for i in range(shown):
    colour = "#f7b58b" if kept[i] else "#eeeeee"
    axes.text(i, 2, str(numbers[i]), ha="center", va="center", fontsize=8, bbox={**boxes, "fc": colour})
    sum_colour = "#33658a" if kept[i] else "#767676"
    axes.text(
        i, 1, str(before[i]), ha="center", va="center", fontsize=8, color=sum_colour, bbox={**boxes, "fc": "white"}
    )
    if kept[i]:
        place = before[i]
        axes.plot([i, i, place], [1.75, 1.25, 0.25], color="#f26419", lw=0.8, zorder=0)
        axes.text(place, 0, str(there[place]), ha="center", va="center", fontsize=8, bbox={**boxes, "fc": colour})
for row, name in enumerate(("packed", "kept before", "values")):
    axes.text(-1, row, name, ha="right", va="center", fontsize=9)
axes.set(xlim=(-3.5, shown), ylim=(-0.5, 2.5))
axes.set_axis_off()
figure.tight_layout()
plt.show()
