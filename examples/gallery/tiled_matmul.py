"""
Tiled matrix multiplication
===========================

Each element of a product needs a row and a column. The work-items of a group need the same rows and columns. So the
group loads a tile of each into local memory, uses it sixteen times, and goes on to the next tile.
"""

import matplotlib.pyplot as plt
import numpy as np

import kapi_runtime as kapi

TILE = 16


@kapi.kernel
def product(item: kapi.NdItem, a, b, c, ta, tb):
    group = item.get_group()
    i = item.get_global_id(0)
    j = item.get_global_id(1)
    y = item.get_local_id(0)
    x = item.get_local_id(1)
    total = a.dtype.type(0.0)
    for t in range(0, a.shape[1], TILE):
        # Tiles that reach over the edge are filled with zeros, so that any shape will do.
        ta[y, x] = a[i, t + x] if i < a.shape[0] and t + x < a.shape[1] else a.dtype.type(0.0)
        tb[y, x] = b[t + y, j] if t + y < b.shape[0] and j < b.shape[1] else b.dtype.type(0.0)
        kapi.group_barrier(group)  # the tiles are written before they are read
        for k in range(TILE):
            total += ta[y, k] * tb[k, x]
        kapi.group_barrier(group)  # and read before they are written again
    if i < c.shape[0] and j < c.shape[1]:
        c[i, j] = total


# %%
# The size of a group is a part of the kernel: 16 x 16 work-items. Ranges are rounded up to it.

random = np.random.default_rng(0)
left, right = random.random((300, 200), dtype=np.float32), random.random((200, 260), dtype=np.float32)
c = np.empty((300, 260), np.float32)
space = kapi.NdRange(tuple(-(-extent // TILE) * TILE for extent in c.shape), (TILE, TILE))
tiles = [kapi.LocalAccessor((TILE, TILE), np.float32) for _ in range(2)]
kapi.call_kernel(product, space, left, right, c, *tiles)
np.testing.assert_allclose(c, left @ right, rtol=1e-5)

# %%
# The results differ by rounding: the kernel sums in float32, and NumPy in float64.

exact = left.astype(np.float64) @ right
figure, axes = plt.subplots(figsize=(6, 3))
axes.hist(((c - exact) / exact).ravel() * 2**24, bins=80, color="#33658a")
axes.set(xlabel="relative error, in units of 2**-24", yticks=[])
axes.spines[["top", "right", "left"]].set_visible(False)
figure.tight_layout()
plt.show()
