"""
Heat equation on a plate, animated
==================================

The temperature of a plate with two hot edges and one hot spot evens out. Each step reads one array and writes
another, because work-items must not read what others write in the same launch. Then the two arrays change places.
"""

import matplotlib.animation as animation
import matplotlib.pyplot as plt
import numpy as np

import kapi_runtime as kapi


@kapi.kernel
def diffuse(item: kapi.Item, now, then, rate):
    i = item.get_id(0) + 1
    j = item.get_id(1) + 1
    around = now[i - 1, j] + now[i + 1, j] + now[i, j - 1] + now[i, j + 1]
    then[i, j] = now[i, j] + rate * (around - 4 * now[i, j])


n, frames, steps, rate = 128, 30, 40, np.float32(0.24)
plate = np.zeros((n, n), np.float32)
plate[0, :] = plate[:, 0] = 1.0
plate[80:100, 70:100] = 1.0

# %%
# The range covers the inner cells only. The edges keep their temperature, and no work-item reads past them.

now, then = plate.copy(), plate.copy()
pictures = [plate]
for _ in range(frames):
    for _ in range(steps):
        kapi.call_kernel(diffuse, kapi.Range(n - 2, n - 2), now, then, rate)
        now, then = then, now
    pictures.append(now.copy())

# %%
# NumPy takes the first few steps, too.

expected = plate.copy()
for _ in range(steps):
    inner = expected[1:-1, 1:-1]
    around = expected[:-2, 1:-1] + expected[2:, 1:-1] + expected[1:-1, :-2] + expected[1:-1, 2:]
    expected[1:-1, 1:-1] = inner + rate * (around - 4 * inner)
np.testing.assert_allclose(pictures[1], expected, atol=1e-5)

figure, axes = plt.subplots(figsize=(4.2, 4.2))
image = axes.imshow(pictures[0], cmap="inferno", vmin=0, vmax=1)
axes.set_axis_off()
figure.tight_layout()
film = animation.FuncAnimation(figure, lambda k: [image.set_data(pictures[k])], frames=len(pictures), interval=80)
plt.show()
