"""
Pi by Monte Carlo, with Dask
============================

Of random points in a square, pi quarters lie in the circle. Dask distributes the work. Each of its two workers owns
half of the CPU, a sub-device, and counts there. The kernels stay as they are: they run where their arrays are.
"""

import math
from functools import lru_cache

import matplotlib.pyplot as plt
import numpy as np
from dask.distributed import Client, LocalCluster, get_worker

import kapi_runtime as kapi

WORKERS, TASKS, GROUPS, WIDTH, POINTS = 2, 16, 32, 64, 64


# %%
# Each random number depends on the counter alone, so you can repeat the program with any number of workers. The
# mixing is SplitMix64's. Unsigned integers wrap around, on the device as in NumPy.


@kapi.device_func
def mixed(counter):
    x = np.uint64(counter) * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> 30)) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> 27)) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> 31)


@kapi.kernel(work_group_size=WIDTH)
def count_inside(item: kapi.NdItem, first, inside):
    group = item.get_group()
    here = first + item.get_global_id(0) * POINTS
    found = 0
    for k in range(POINTS):
        bits = mixed(here + k)
        x = (bits & 0xFFFFFFFF) + 0.5
        y = (bits >> 32) + 0.5
        found += 1 if x * x + y * y < 18446744073709551616.0 else 0
    total = kapi.reduce_over_group(group, found, kapi.plus)
    if group.leader:
        inside[group.get_group_id(0)] = total


# %%
# A task makes an array on the worker's half, launches the kernel, and sums. On a machine with GPUs, ``part`` would
# return ``kapi.devices[worker]``.


@lru_cache
def part(worker):
    device = kapi.default_device()
    return device.split(*[device.max_compute_units // WORKERS] * WORKERS)[worker]


def count(task):
    worker = int(get_worker().name)
    with part(worker):
        inside = kapi.memory.device_array(GROUPS, "int64")
        first = np.uint64(task * GROUPS * WIDTH * POINTS)
        kapi.call_kernel(count_inside, kapi.NdRange(GROUPS * WIDTH, WIDTH), first, inside)
        return worker, int(kapi.memory.asnumpy(inside).sum())


# %%
# Here the workers are threads of this process, which start at once. ``examples/distributed_distances.py`` does the
# like with a process for each: kernels can be pickled.

with (
    LocalCluster(n_workers=WORKERS, threads_per_worker=1, processes=False, dashboard_address=None) as cluster,
    Client(cluster) as client,
):
    results = client.gather(client.map(count, range(TASKS)))

drawn = GROUPS * WIDTH * POINTS
counts = np.asarray([found for _, found in results])
print(f"{TASKS * drawn} points: pi is about {4 * counts.sum() / (TASKS * drawn):.4f}")

# %%
# The same counter through NumPy gives the same points, so the counts must be equal, one by one.

with np.errstate(over="ignore"):
    x = np.arange(TASKS * drawn, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    x ^= x >> np.uint64(31)
places = np.stack((x & np.uint64(0xFFFFFFFF), x >> np.uint64(32))).astype(np.float64) + 0.5
inside = (places * places).sum(axis=0) < 2.0**64
np.testing.assert_array_equal(counts, inside.reshape(TASKS, drawn).sum(axis=1))
assert abs(4 * counts.sum() / (TASKS * drawn) - math.pi) < 5 * math.sqrt(2.7 / (TASKS * drawn))

figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.6), width_ratios=(1, 1.4))
shown = slice(0, 4000)
colours = np.where(inside[shown], "#33658a", "#f26419")
left.scatter(*(places[:, shown] / 2.0**32), s=1, c=colours)
left.set_aspect("equal")
left.set(xticks=(0, 1), yticks=(0, 1))
so_far = 4 * np.cumsum(counts) / (drawn * np.arange(1, TASKS + 1))
right.axhline(math.pi, color="#f26419", label="pi")
right.plot(drawn * np.arange(1, TASKS + 1), so_far, "o-", ms=3, color="#33658a", label="estimate")
right.set(xlabel="points")
right.legend(frameon=False)
right.spines[["top", "right"]].set_visible(False)
figure.tight_layout()
plt.show()
