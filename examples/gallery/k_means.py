"""
Colour quantisation by k-means
==============================

Each pixel goes to the nearest of a few colours. Then each colour becomes the mean of its pixels, and both steps
repeat. The second kernel runs one work-group for each colour, and sums over the group.
"""

import math

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_sample_image

import kapi_runtime as kapi

COLOURS, ROUNDS, WIDTH = 8, 12, 256


@kapi.kernel
def assign(item: kapi.Item, pixels, colours, owner):
    i = item.get_id(0)
    least = pixels.dtype.type(math.inf)
    nearest = 0
    for c in range(COLOURS):
        distance = pixels.dtype.type(0.0)
        for k in range(3):
            t = pixels[i, k] - colours[c, k]
            distance += t * t
        if distance < least:
            least = distance
            nearest = c
    owner[i] = nearest


@kapi.kernel
def mean(item: kapi.NdItem, pixels, owner, colours):
    group = item.get_group()
    c = group.get_group_id(0)
    count = 0
    red = 0.0
    green = 0.0
    blue = 0.0
    for i in range(item.get_local_id(0), pixels.shape[0], WIDTH):
        if owner[i] == c:
            count += 1
            red += pixels[i, 0]
            green += pixels[i, 1]
            blue += pixels[i, 2]
    count = kapi.reduce_over_group(group, count, kapi.plus)
    red = kapi.reduce_over_group(group, red, kapi.plus)
    green = kapi.reduce_over_group(group, green, kapi.plus)
    blue = kapi.reduce_over_group(group, blue, kapi.plus)
    if group.leader and count > 0:
        colours[c, 0] = red / count
        colours[c, 1] = green / count
        colours[c, 2] = blue / count


# %%
# A third of the photograph's pixels in each direction is enough to see it work.

photograph = (load_sample_image("flower.jpg")[::3, ::3] / 255.0).astype(np.float32)
pixels = photograph.reshape(-1, 3)
start = pixels[np.random.default_rng(3).choice(len(pixels), COLOURS, replace=False)]

colours, owner = start.copy(), np.empty(len(pixels), np.int64)
for _ in range(ROUNDS):
    kapi.call_kernel(assign, kapi.Range(len(pixels)), pixels, colours, owner)
    kapi.call_kernel(mean, kapi.NdRange(COLOURS * WIDTH, WIDTH), pixels, owner, colours)

# %%
# scikit-learn, from the same start and for as many rounds, finds the same colours.

reference = KMeans(COLOURS, init=start, n_init=1, max_iter=ROUNDS, tol=0.0, algorithm="lloyd").fit(pixels)
np.testing.assert_allclose(colours, reference.cluster_centers_, atol=2e-3)

figure, panels = plt.subplots(1, 2, figsize=(9, 3.2))
panels[0].imshow(photograph)
panels[1].imshow(colours[owner].reshape(photograph.shape))
for axes in panels:
    axes.set_axis_off()
figure.tight_layout()
plt.show()
