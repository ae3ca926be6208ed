"""
The game of life
================

Cells of a closed world live and die by their eight neighbours. ``%`` has Python's sign on the device too. So the
world wraps around without a special case: ``-1 % n`` is ``n - 1``.
"""

import matplotlib.pyplot as plt
import numpy as np
import scipy.signal

import kapi_runtime as kapi


@kapi.kernel
def live(item: kapi.Item, now, then):
    i = item.get_id(0)
    j = item.get_id(1)
    height = now.shape[0]
    width = now.shape[1]
    neighbours = 0
    for di in range(-1, 2):
        for dj in range(-1, 2):
            if di != 0 or dj != 0:
                neighbours += now[(i + di) % height, (j + dj) % width]
    then[i, j] = neighbours == 3 or (neighbours == 2 and now[i, j] == 1)


# %%
# The start is a glider gun. After a while it has shot some gliders.

gun = """
........................#...........
......................#.#...........
............##......##............##
...........#...#....##............##
##........#.....#...##..............
##........#...#.##....#.#...........
..........#.....#.......#...........
...........#...#....................
............##......................
"""
rows = gun.split()
world = np.zeros((64, 96), np.uint8)
world[4 : 4 + len(rows), 4 : 4 + len(rows[0])] = [[cell == "#" for cell in row] for row in rows]

now, then = world.copy(), np.empty(world.shape, np.uint8)
pictures = []
for step in range(181):
    if step % 60 == 0:
        pictures.append(now.copy())
    kapi.call_kernel(live, kapi.Range(*world.shape), now, then)
    now, then = then, now

# %%
# SciPy counts the neighbours by a convolution.

expected = world
for _ in range(60):
    around = scipy.signal.convolve2d(expected, [[1, 1, 1], [1, 0, 1], [1, 1, 1]], mode="same", boundary="wrap")
    expected = ((around == 3) | ((around == 2) & (expected == 1))).astype(np.uint8)
np.testing.assert_array_equal(pictures[1], expected)

figure, panels = plt.subplots(2, 2, figsize=(9, 6.2))
for k, axes in enumerate(panels.flat):
    axes.imshow(pictures[k], cmap="Greens", vmin=-0.2, vmax=1)
    axes.set_title(f"step {60 * k}", fontsize=9)
    axes.set(xticks=[], yticks=[])
figure.tight_layout()
plt.show()
