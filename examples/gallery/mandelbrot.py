"""
The Mandelbrot set
==================

Each work-item follows one point of the plane until it escapes. Neighbours take different numbers of steps, so their
loops differ in length.
"""

import matplotlib.pyplot as plt
import numpy as np

import kapi_runtime as kapi

# %%
# Python's own numbers are *weak*: ``2.0 * x * y`` stays float32 because ``x`` and ``y`` are, as NumPy 2 rules. The
# kernel has no double anywhere.


@kapi.kernel
def escape_steps(item: kapi.Item, steps, left, top, step, most):
    i = item.get_id(0)
    j = item.get_id(1)
    cx = left + j * step
    cy = top + i * step
    x = cx
    y = cy
    n = 0
    while n < most and x * x + y * y <= 4.0:
        t = x * x - y * y + cx
        y = 2.0 * x * y + cy
        x = t
        n += 1
    steps[i, j] = n


# %%
# One launch has a work-item for each pixel. The last dimension is the fastest, so neighbours along it write
# neighbouring pixels.

height, width, most = 480, 720, 200
left, top, step = np.float32(-2.2), np.float32(-1.2), np.float32(2.4 / height)
steps = np.empty((height, width), np.int32)
kapi.call_kernel(escape_steps, kapi.Range(height, width), steps, left, top, step, most)

# %%
# NumPy takes the same steps for a sample of the rows.

rows = np.arange(0, height, 48)
cx = left + np.arange(width, dtype=np.float32)[None, :] * step
cy = top + rows.astype(np.float32)[:, None] * step
x, y = np.broadcast_arrays(cx, cy)
expected = np.zeros((len(rows), width), np.int32)
inside = np.ones(expected.shape, bool)
for _ in range(most):
    inside &= x * x + y * y <= 4.0
    expected += inside
    x, y = np.where(inside, x * x - y * y + cx, x), np.where(inside, np.float32(2.0) * x * y + cy, y)
np.testing.assert_array_equal(steps[rows], expected)

figure, axes = plt.subplots(figsize=(7.2, 4.8))
axes.imshow(np.log1p(steps), cmap="twilight_shifted", origin="lower")
axes.set_axis_off()
figure.tight_layout()
plt.show()
