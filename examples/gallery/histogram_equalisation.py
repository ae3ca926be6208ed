"""
Histogram equalisation
======================

A dark photograph uses few of its grey values. Counting them takes atomics. Each group counts in its own local memory
first, because the work-items of a whole device would wait for each other on 256 cells.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_sample_image

import kapi_runtime as kapi

VALUES, WIDTH, GROUPS = 256, 64, 32


@kapi.kernel
def count(item: kapi.NdItem, pixels, counts, own):
    group = item.get_group()
    lane = item.get_local_id(0)
    for k in range(lane, VALUES, WIDTH):
        own[k] = 0
    kapi.group_barrier(group)
    for i in range(item.get_global_id(0), pixels.shape[0], WIDTH * GROUPS):
        cell = kapi.AtomicRef(
            own,
            pixels[i],
            memory_scope=kapi.MemoryScope.WORK_GROUP,
            address_space=kapi.AddressSpace.LOCAL,
        )
        cell.fetch_add(1)
    kapi.group_barrier(group)
    for k in range(lane, VALUES, WIDTH):
        kapi.AtomicRef(counts, k).fetch_add(own[k])


@kapi.kernel
def spread(item: kapi.NdItem, counts, values):
    # One group of 256: the share of pixels that are darker becomes the new value.
    group = item.get_group()
    k = item.get_global_id(0)
    darker = kapi.inclusive_scan_over_group(group, counts[k], kapi.plus)
    total = kapi.reduce_over_group(group, counts[k], kapi.plus)
    values[k] = darker * 255 // total


@kapi.kernel
def exchange(item: kapi.Item, pixels, values):
    i = item.get_id(0)
    pixels[i] = values[pixels[i]]


photograph = (load_sample_image("china.jpg").mean(axis=2) * 0.35 + 20).astype(np.uint8)
pixels = photograph.ravel().copy()
counts = np.zeros(VALUES, np.int32)
values = np.empty(VALUES, np.uint8)
kapi.call_kernel(count, kapi.NdRange(WIDTH * GROUPS, WIDTH), pixels, counts, kapi.LocalAccessor(VALUES, np.int32))
kapi.call_kernel(spread, kapi.NdRange(VALUES, VALUES), counts, values)
kapi.call_kernel(exchange, kapi.Range(pixels.size), pixels, values)

# %%
# NumPy counts and sums the same.

expected = np.bincount(photograph.ravel(), minlength=VALUES)
np.testing.assert_array_equal(counts, expected)
table = np.cumsum(expected) * 255 // expected.sum()
np.testing.assert_array_equal(pixels, table[photograph.ravel()])

figure, panels = plt.subplots(2, 2, figsize=(9, 4.6), height_ratios=(3, 1))
for column, image in zip(panels.T, (photograph, pixels.reshape(photograph.shape)), strict=True):
    column[0].imshow(image, cmap="gray", vmin=0, vmax=255)
    column[0].set_axis_off()
    column[1].hist(image.ravel(), bins=64, range=(0, 256), color="#33658a")
    column[1].set_yticks([])
figure.tight_layout()
plt.show()
