"""
Sorting with a bitonic network
==============================

A sorting network compares fixed pairs in a fixed order, whatever the data. Devices are good at this. Near pairs are
exchanged in the local memory of a group, many steps in one launch. Far pairs take a launch for each step.
"""

import matplotlib.pyplot as plt
import numpy as np

import kapi_runtime as kapi

WIDTH = 256  # work-items of a group, each with two elements


@kapi.device_func
def ordered(tile, low, high, ascending):
    # The caller's pair, exchanged where it is in the wrong order.
    a = tile[low]
    b = tile[high]
    if (a > b) == ascending:
        tile[low] = b
        tile[high] = a


@kapi.kernel
def near_steps(item: kapi.NdItem, values, first, last, tile):
    """All steps whose pairs lie in one group's 512 elements, of the runs of `first` to `last` elements."""
    group = item.get_group()
    lane = item.get_local_id(0)
    base = group.get_group_id(0) * 2 * WIDTH
    tile[lane] = values[base + lane]
    tile[lane + WIDTH] = values[base + lane + WIDTH]
    run = first
    while run <= last:
        step = min(run // 2, WIDTH)
        while step > 0:
            kapi.group_barrier(group)
            low = 2 * lane - (lane & (step - 1))
            ordered(tile, low, low + step, ((base + low) & run) == 0)
            step //= 2
        run *= 2
    kapi.group_barrier(group)
    values[base + lane] = tile[lane]
    values[base + lane + WIDTH] = tile[lane + WIDTH]


@kapi.kernel
def far_step(item: kapi.Item, values, run, step):
    k = item.get_id(0)
    low = 2 * k - (k & (step - 1))
    ordered(values, low, low + step, (low & run) == 0)


# %%
# The number of elements is a power of two. Pad other arrays with the largest value.


def sort(values):
    n = values.size
    tile = kapi.LocalAccessor(2 * WIDTH, values.dtype)
    near = kapi.NdRange(n // 2, WIDTH)
    kapi.call_kernel(near_steps, near, values, 2, 2 * WIDTH, tile)
    run = 4 * WIDTH
    while run <= n:
        step = run // 2
        while step > WIDTH:
            kapi.call_kernel(far_step, kapi.Range(n // 2), values, run, step)
            step //= 2
        kapi.call_kernel(near_steps, near, values, run, run, tile)
        run *= 2


random = np.random.default_rng(1)
numbers = random.standard_normal(2**16).astype(np.float32)
values = numbers.copy()
sort(values)
np.testing.assert_array_equal(values, np.sort(numbers))
print(values[:4], "...", values[-4:])

# %%
# The network for 16 numbers, one line each, from left to right; darker is larger. A bar joins the two numbers that a
# work-item compares. Blue bars put the smaller number on top, orange bars the larger. Runs of 2, 4, 8 and 16 become
# ordered. Here a group holds four of the lines. Thin bars stay within it, in local memory, and thick bars are the far
# steps.

lines = 16
column = random.permutation(lines)
columns, bars = [column], []
for run in (2, 4, 8, 16):
    step = run // 2
    while step:
        column = column.copy()
        for k in range(lines // 2):
            low = 2 * k - (k & (step - 1))
            ascending = (low & run) == 0
            if (column[low] > column[low + step]) == ascending:
                column[[low, low + step]] = column[[low + step, low]]
            shift = (low % (2 * step)) / (2 * step)  # so that bars of one step do not cover each other
            bars.append((len(columns) - 0.75 + shift, low, low + step, ascending))
        columns.append(column)
        step //= 2
assert (column == np.arange(lines)).all()

figure, axes = plt.subplots(figsize=(8, 4.4))
axes.hlines(range(lines), 0, len(columns) - 1, color="#cccccc", lw=0.8, zorder=0)
for at, low, high, ascending in bars:
    colour = "#33658a" if ascending else "#f26419"
    axes.plot([at, at], [low, high], color=colour, lw=1.2 if high - low < 4 else 2.8)
where = np.indices((len(columns), lines))
axes.scatter(*where, c=np.stack(columns), cmap="Greys", vmin=-3, s=60, edgecolors="#555555", linewidths=0.5)
axes.invert_yaxis()
axes.set_axis_off()
figure.tight_layout()
plt.show()
