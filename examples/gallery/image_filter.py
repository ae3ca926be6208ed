"""
Edge detection in a photograph
==============================

A filter reads the neighbourhood of each pixel. Each group loads its tile of the photograph, with the rim around it,
into local memory once. After a barrier, each work-item reads nine pixels from there.
"""

import math

import matplotlib.pyplot as plt
import numpy as np
import scipy.ndimage
from sklearn.datasets import load_sample_image

import kapi_runtime as kapi

TILE = 16


@kapi.kernel
def edges(item: kapi.NdItem, image, result, tile):
    group = item.get_group()
    height = image.shape[0]
    width = image.shape[1]
    top = group.get_group_id(0) * TILE - 1
    left = group.get_group_id(1) * TILE - 1
    lane = item.get_local_linear_id()
    for k in range(lane, (TILE + 2) * (TILE + 2), TILE * TILE):
        y = k // (TILE + 2)
        x = k % (TILE + 2)
        # The rim of the photograph repeats its outermost pixels.
        tile[y, x] = image[min(max(top + y, 0), height - 1), min(max(left + x, 0), width - 1)]
    kapi.group_barrier(group)
    y = item.get_local_id(0) + 1
    x = item.get_local_id(1) + 1
    across = tile[y - 1, x + 1] + 2 * tile[y, x + 1] + tile[y + 1, x + 1]
    across -= tile[y - 1, x - 1] + 2 * tile[y, x - 1] + tile[y + 1, x - 1]
    down = tile[y + 1, x - 1] + 2 * tile[y + 1, x] + tile[y + 1, x + 1]
    down -= tile[y - 1, x - 1] + 2 * tile[y - 1, x] + tile[y - 1, x + 1]
    i = item.get_global_id(0)
    j = item.get_global_id(1)
    if i < height and j < width:
        result[i, j] = math.sqrt(across * across + down * down)


# %%
# The range is rounded up to whole tiles. Work-items outside of the photograph help to load, and write nothing.

photograph = load_sample_image("china.jpg").mean(axis=2).astype(np.float32)
height, width = photograph.shape

result = np.empty_like(photograph)
space = kapi.NdRange((-(-height // TILE) * TILE, -(-width // TILE) * TILE), (TILE, TILE))
kapi.call_kernel(edges, space, photograph, result, kapi.LocalAccessor((TILE + 2, TILE + 2), np.float32))

# %%
# SciPy computes the same.

across = scipy.ndimage.sobel(photograph, axis=1, mode="nearest")
down = scipy.ndimage.sobel(photograph, axis=0, mode="nearest")
np.testing.assert_allclose(result, np.hypot(across, down), atol=0.05)

figure, panels = plt.subplots(1, 2, figsize=(9, 3.2))
panels[0].imshow(photograph, cmap="gray")
panels[1].imshow(result, cmap="magma", vmax=400)
for axes in panels:
    axes.set_axis_off()
figure.tight_layout()
plt.show()
