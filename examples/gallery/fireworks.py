"""
Fireworks of records
====================

Each spark is a *record*: its place, speed, colour and age are fields of one element of an array. A work-item follows
one spark and adds its light to the picture.
"""

import matplotlib.pyplot as plt
import numpy as np

import kapi_runtime as kapi

# %%
# A NumPy dtype names the fields. Some are sub-arrays.

SPARK = np.dtype([("place", "f4", 2), ("speed", "f4", 2), ("colour", "f4", 3), ("age", "f4"), ("life", "f4")])
GRAVITY = np.float32(0.25)


@kapi.device_func
def glow(spark):
    """How bright a spark is: it fades to nothing at the end of its life."""
    left = max(np.float32(1) - spark.age / spark.life, np.float32(0))
    return left * left


@kapi.device_func
def move(spark, dt):
    """The flight of a stone: ``spark`` is an element of the array, so that its fields change there."""
    for k in range(2):
        spark.place[k] += spark.speed[k] * dt
    spark.place[1] -= GRAVITY * dt * dt / np.float32(2)
    spark.speed[1] -= GRAVITY * dt
    spark.age += dt


@kapi.kernel
def fly(item: kapi.Item, sparks, picture, dt, steps):
    spark = sparks[item.get_id(0)]
    for _ in range(steps):
        move(spark, dt)
        x, y = spark.place[0] * picture.shape[0], spark.place[1] * picture.shape[0]
        left, low = np.floor(x), np.floor(y)
        # Four neighbouring pixels share the light.
        for i in range(2):
            for j in range(2):
                part = (i * (y - low) + (1 - i) * (low + 1 - y)) * (j * (x - left) + (1 - j) * (left + 1 - x))
                row, column = int(low) + i, int(left) + j
                if 0 <= row and row < picture.shape[0] and 0 <= column and column < picture.shape[1]:
                    for c in range(3):
                        light = np.float32(part) * glow(spark) * spark.colour[c]
                        kapi.AtomicRef(picture, (row, column, c)).fetch_add(light)


# %%
# Twelve rockets burst into 400 sparks each. ``sparks["place"]`` is the field of all records, outside of kernels.

rng = np.random.default_rng(14)
bursts, each = 12, 400
sparks = np.zeros(bursts * each, SPARK)
centres = np.column_stack([0.2 + 1.2 * rng.permutation(bursts) / (bursts - 1), rng.uniform(0.5, 0.82, bursts)])
angles, heights = rng.uniform(0, 2 * np.pi, sparks.size), rng.uniform(-1, 1, sparks.size)
reach = np.repeat(rng.uniform(0.09, 0.17, bursts), each) * rng.normal(1, 0.05, sparks.size)
sparks["place"] = np.repeat(centres, each, axis=0)
sparks["speed"] = (reach * [np.sqrt(1 - heights**2) * np.cos(angles), heights]).T
hues = np.repeat(rng.permutation(bursts) / bursts, each)[:, None] * 2 * np.pi + [0, 2.1, 4.2]
sparks["colour"] = 0.04 * (1.15 + np.cos(hues)) ** 2
sparks["life"] = rng.uniform(0.7, 1.3, sparks.size)
first = sparks.copy()

picture = np.zeros((450, 720, 3), np.float32)
dt, steps = np.float32(1 / 256), 256
kapi.call_kernel(fly, kapi.Range(sparks.size), sparks, picture, dt, steps)

# %%
# A stone's flight has a formula. The light of all pixels is the light of all sparks.

time = float(dt) * np.arange(1, steps + 1)
falls = np.array([0, float(GRAVITY) / 2])
np.testing.assert_allclose(sparks["place"], first["place"] + first["speed"] - falls, atol=1e-4)
shine = (np.clip(1 - time / first["life"][:, None].astype(np.float64), 0, None) ** 2).sum(1)
np.testing.assert_allclose(picture.sum((0, 1)), shine @ first["colour"].astype(np.float64), rtol=1e-3)


# %%
# Whole-array algorithms take records, too: here they copy the sparks that glow yet, and find the lowest of them.


@kapi.device_func
def glows(spark):
    return spark.age < spark.life


@kapi.device_func
def lower(a, b):
    return a if a.place[1] < b.place[1] else b


glowing = kapi.algorithms.copy_if(sparks, glows)
lowest = kapi.algorithms.reduce(glowing, op=lower)
assert glowing.size == np.count_nonzero(sparks["age"] < sparks["life"])
assert lowest["place"][1] == glowing["place"][:, 1].min()

figure, axes = plt.subplots(figsize=(7.2, 4.5))
night = np.linspace(0.10, 0.02, picture.shape[0])[:, None, None] * np.array([0.5, 0.6, 1.0])
axes.imshow(np.clip(night + picture, 0, 1) ** 0.7, origin="lower")
axes.set_axis_off()
figure.tight_layout(pad=0)
plt.show()
