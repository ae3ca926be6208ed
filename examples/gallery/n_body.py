"""
N-body simulation
=================

Each work-item owns one body. One kernel sums the pull of all others, and a second kernel moves the body. It takes two
launches, because all pulls must be known before anything moves.
"""

import math

import matplotlib.pyplot as plt
import numpy as np

import kapi_runtime as kapi


@kapi.kernel
def pull(item: kapi.Item, places, masses, speeds, softening, step):
    i = item.get_id(0)
    x = places[i, 0]
    y = places[i, 1]
    ax = np.float32(0.0)
    ay = np.float32(0.0)
    for j in range(places.shape[0]):
        dx = places[j, 0] - x
        dy = places[j, 1] - y
        square = dx * dx + dy * dy + softening
        force = masses[j] / (square * math.sqrt(square))
        ax += force * dx
        ay += force * dy
    speeds[i, 0] += step * ax
    speeds[i, 1] += step * ay


@kapi.kernel
def move(item: kapi.Item, places, speeds, step):
    i = item.get_id(0)
    places[i, 0] += step * speeds[i, 0]
    places[i, 1] += step * speeds[i, 1]


# %%
# A heavy body is in the middle. A disc of light bodies moves around it on near-circular orbits.

n, rounds, softening, step = 1024, 240, np.float32(1e-3), np.float32(2e-3)
random = np.random.default_rng(7)
angles = random.uniform(0.0, 2.0 * np.pi, n)
radii = np.sqrt(random.uniform(0.05, 1.0, n))
start = np.stack((radii * np.cos(angles), radii * np.sin(angles)), axis=1).astype(np.float32)
speed = np.sqrt(1.0 / radii)
start_speed = np.stack((-speed * np.sin(angles), speed * np.cos(angles)), axis=1).astype(np.float32)
masses = np.full(n, 1e-4, np.float32)
start[0], start_speed[0], masses[0] = 0.0, 0.0, 1.0

places, speeds = start.copy(), start_speed.copy()

# %%
# The arrays are NumPy's. A launch works on them in place, and has ended when ``call_kernel`` returns.

tracks = []
for k in range(rounds):
    kapi.call_kernel(pull, kapi.Range(n), places, masses, speeds, softening, step)
    kapi.call_kernel(move, kapi.Range(n), places, speeds, step)
    if k % 12 == 0:
        tracks.append(places.copy())

# %%
# NumPy computes the first step from all pairs at once. Nothing acts from outside, so the momentum must not change.

apart = start[None, :, :].astype(np.float64) - start[:, None, :]
square = (apart**2).sum(axis=2) + softening
pulls = (masses[:, None] * apart / square[:, :, None] ** 1.5).sum(axis=1)
np.testing.assert_allclose(tracks[0], start + step * (start_speed + step * pulls), atol=1e-5)

before = (masses[:, None].astype(np.float64) * start_speed).sum(axis=0)
after = (masses[:, None].astype(np.float64) * speeds).sum(axis=0)
np.testing.assert_allclose(after, before, atol=1e-4)

tracks = np.stack(tracks)
figure, axes = plt.subplots(figsize=(6, 6))
for age, frame in enumerate(tracks):
    axes.scatter(*frame.T, s=2, color="#33658a", alpha=0.04 + 0.3 * (age / len(tracks)) ** 3, linewidths=0)
axes.scatter(*tracks[-1].T, s=4 + 120 * masses / masses.max(), color="#f26419", linewidths=0)
axes.set_aspect("equal")
axes.set(xlim=(-1.3, 1.3), ylim=(-1.3, 1.3))
axes.set_axis_off()
figure.tight_layout()
plt.show()
