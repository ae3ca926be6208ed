"""
A plate on two devices
======================

Heat spreads over a plate that is cut in halves, each on a device of its own. Each half keeps a copy of the row of cells
beyond the cut, its *halo*. After each step, the devices exchange these rows. With one device, the halves are on two of
its queues, and the program stays the same.
"""

import matplotlib.pyplot as plt
import numpy as np

import kapi_runtime as kapi


@kapi.kernel
def diffuse(item: kapi.Item, now, then, rate):
    i = item.get_id(0) + 1
    j = item.get_id(1) + 1
    around = now[i - 1, j] + now[i + 1, j] + now[i, j - 1] + now[i, j + 1]
    then[i, j] = now[i, j] + rate * (around - 4 * now[i, j])


gpus = [device for device in kapi.devices if device.has_aspect_gpu]
devices = gpus[:2] if len(gpus) > 1 else [kapi.default_device()] * 2
queues = [kapi.queue(device) for device in devices]

# %%
# The last row of the upper half is the halo of the first own row of the lower half, and the other way round.

n, steps, rate = 128, 400, np.float32(0.24)
plate = np.zeros((n, n), np.float32)
plate[0, :] = plate[:, 0] = 1.0
plate[40:90, 70:100] = 1.0
parts = plate[: n // 2 + 1], plate[n // 2 - 1 :]
now = [kapi.memory.asarray(part.copy(), queue=queue) for part, queue in zip(parts, queues, strict=True)]
then = [kapi.memory.asarray(part.copy(), queue=queue) for part, queue in zip(parts, queues, strict=True)]

# %%
# The host waits for nothing inside of the loop. A copy comes after all earlier work of both queues, and before all
# later work. So the two halves are computed at once, and each waits only for its halo.

for _ in range(steps):
    for half in range(2):
        kapi.call_kernel_async(diffuse, kapi.Range(n // 2 - 1, n - 2), (), now[half], then[half], rate)
    upper, lower = then
    kapi.memory.copy(upper[n // 2 - 1], lower[0], depends=[])
    kapi.memory.copy(lower[1], upper[n // 2], depends=[])
    now, then = then, now

upper, lower = map(kapi.memory.asnumpy, now)
whole = np.concatenate([upper[:-1], lower[1:]])

# %%
# NumPy takes the same steps on the whole plate.

expected = plate.copy()
for _ in range(steps):
    inner = expected[1:-1, 1:-1]
    around = expected[:-2, 1:-1] + expected[2:, 1:-1] + expected[1:-1, :-2] + expected[1:-1, 2:]
    expected[1:-1, 1:-1] = inner + rate * (around - 4 * inner)
np.testing.assert_allclose(whole, expected, atol=1e-5)

figure, axes = plt.subplots(figsize=(4.2, 4.2))
axes.imshow(whole, cmap="inferno", vmin=0, vmax=1)
axes.axhline(n // 2 - 0.5, color="white", linewidth=1, linestyle="--")
axes.set_title("dashed: the cut between the devices")
axes.set_axis_off()
figure.tight_layout()
plt.show()
