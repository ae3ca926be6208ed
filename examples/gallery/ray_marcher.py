"""
A ray marcher
=============

Each work-item follows the ray of one pixel through a scene that is a *distance function*: at any point, it says how far
the nearest surface is, so the ray may go as far in one step. Points, directions and colours are vectors.
"""

import matplotlib.pyplot as plt
import numpy as np

import kapi_runtime as kapi

# %%
# Vectors outside of the kernel are constants in it. Their numbers are Python's, thus weak: they take the float32 of
# what they meet.

EYE = kapi.Vec(0.0, 1.9, -4.0)
LIGHT = kapi.normalize(kapi.Vec(-0.6, 0.8, -0.5))
BALL, BOX, RING = kapi.Vec(-1.35, 0.8, 0.4), kapi.Vec(1.35, 0.62, 0.2), kapi.Vec(0.1, 0.16, -0.9)
SKY, WARM = kapi.Vec(0.45, 0.65, 0.95), kapi.Vec(1.0, 0.93, 0.82)
X, Y, Z = kapi.Vec(1e-3, 0.0, 0.0), kapi.Vec(0.0, 1e-3, 0.0), kapi.Vec(0.0, 0.0, 1e-3)
FAR = 20.0


@kapi.device_func
def scene(p):
    """Distance of a point to a ball, a box with round edges, a ring, and the floor."""
    ball = kapi.distance(p, BALL) - 0.8
    q = abs(p - BOX) - 0.5
    box = kapi.length(np.maximum(q, 0.0)) + min(max(q), 0.0) - 0.1
    r = p - RING
    ring = kapi.length(kapi.Vec(kapi.length(r.xz) - 0.5, r.y)) - 0.14
    return min(min(ball, box), min(ring, p.y))


@kapi.device_func
def march(start, direction):
    """How far a ray comes: to a surface, or beyond `FAR`."""
    t = 0.01
    for _ in range(160):
        step = scene(start + t * direction)
        if step < 1e-4 * t or t > FAR:
            break
        t += step
    return t


@kapi.device_func
def normal(p):
    """The direction in which the distance grows fastest."""
    slope = kapi.Vec(scene(p + X) - scene(p - X), scene(p + Y) - scene(p - Y), scene(p + Z) - scene(p - Z))
    return kapi.normalize(slope)


@kapi.device_func
def shadow(p):
    """The part of the light that reaches a point: less, the closer the way to it passes by a surface."""
    lit = p.x * 0 + 1
    t = 0.02
    for _ in range(48):
        step = scene(p + t * LIGHT)
        lit = min(lit, 10.0 * step / t)
        t += max(step, 0.02)
    return max(lit, 0.0)


@kapi.device_func
def colour(p, direction, t):
    """The colour of what a ray has come to, without what it mirrors."""
    sky = SKY + (1.0 - SKY) * (1.0 - max(direction.y, 0.0)) ** 4
    if t > FAR:
        return sky
    n = normal(p)
    paint = 0.5 + 0.4 * np.sin(kapi.Vec(0.0, 2.1, 4.0) + 2.4 * (p.x + p.z))
    if p.y < 0.01:
        tile = (np.floor(2.0 * p.x) + np.floor(2.0 * p.z)) % 2.0
        paint = kapi.Vec(0.35, 0.36, 0.4) + 0.4 * tile * kapi.Vec(1.0, 1.0, 1.0)
    light = max(kapi.dot(n, LIGHT), 0.0) * shadow(p + 1e-3 * n) * WARM + (0.25 + 0.15 * n.y) * SKY
    fog = np.exp(-0.004 * t * t)
    return paint * light * fog + sky * (1.0 - fog)


@kapi.kernel
def render(item: kapi.Item, image, depth, pixel):
    i, j = item.get_id(0), item.get_id(1)
    y, x = (depth.shape[0] / 2 - i) * pixel, (j - depth.shape[1] / 2) * pixel
    direction = kapi.normalize(kapi.Vec(x, y - 0.45, 1.6))
    t = march(EYE, direction)
    p = EYE + t * direction
    seen = colour(p, direction, t)
    if t < FAR:
        n = normal(p)
        mirrored = direction - 2.0 * kapi.dot(direction, n) * n
        start = p + 2e-3 * n
        u = march(start, mirrored)
        shine = 0.08 + 0.5 * (1.0 + kapi.dot(direction, n)) ** 4
        seen = seen * (1.0 - shine) + shine * colour(start + u * mirrored, mirrored, u)
    np.sqrt(np.clip(seen, 0.0, 1.0)).store(image, (i, j))
    depth[i, j] = t


# %%
# ``store`` writes the three numbers of a pixel along the image's last axis. No literal in the kernel makes a double:
# all begins with the float32 of ``pixel``.

height, width = 450, 720
image = np.empty((height, width, 3), np.float32)
depth = np.empty((height, width), np.float32)
pixel = np.float32(2.0 / height)
kapi.call_kernel(render, kapi.Range(height, width), image, depth, pixel)

# %%
# NumPy knows the scene by other means, and in float64. Where a ray has ended there is a surface, and before that there
# is none.

rows, columns = np.mgrid[0:height:9, 0:width:9]
ways = np.stack(
    [(columns - width / 2) * 2 / height, (height / 2 - rows) * 2 / height - 0.45, np.full(rows.shape, 1.6)], -1
)
ways /= np.linalg.norm(ways, axis=-1, keepdims=True)
ends = depth[::9, ::9].astype(np.float64)[..., None]
eye, ball, box, ring = map(np.array, (EYE, BALL, BOX, RING))


def surfaces(p):
    q = np.abs(p - box) - 0.5
    r = p - ring
    around = np.hypot(r[..., 0], r[..., 2]) - 0.5
    return np.min(
        [
            np.sqrt(((p - ball) ** 2).sum(-1)) - 0.8,
            np.linalg.norm(np.clip(q, 0, None), axis=-1) + np.clip(q.max(-1), None, 0) - 0.1,
            np.hypot(around, r[..., 1]) - 0.14,
            p[..., 1],
        ],
        axis=0,
    )


ended = ends[..., 0] < FAR
np.testing.assert_allclose(surfaces(eye + ends * ways)[ended], 0, atol=3e-3)
for part in np.linspace(0, 0.99, 34):
    assert surfaces(eye + part * ends * ways).min() > 0

figure, axes = plt.subplots(figsize=(7.2, 4.5))
axes.imshow(image)
axes.set_axis_off()
figure.tight_layout(pad=0)
plt.show()
