"""The kernels of the digits demo, as they run in the simulator.

Write ``kapi_runtime`` for ``kapi_sim`` in the one import below, and the same kernels are compiled, for the
processor if the arrays are NumPy's.  `digits.py` does exactly that, and runs both.
"""

from __future__ import annotations

import math

import kapi_sim as kapi


@kapi.kernel
def pairwise_distance(item: kapi.Item, pixels, distance):
    # The last dimension is the fastest: neighbours (j) read and write neighbouring elements.
    i = item.get_id(0)
    j = item.get_id(1)
    total = pixels.dtype.type(0.0)
    for k in range(pixels.shape[0]):
        t = pixels[k, i] - pixels[k, j]
        total += t * t
    distance[i, j] = math.sqrt(total)


@kapi.kernel
def nearest_neighbour(item: kapi.Item, distance, label, neighbour, predicted):
    # Distances are symmetric: column i holds what row i holds, and neighbours read neighbours.
    i = item.get_id(0)
    nearest = 1 if i == 0 else 0
    for j in range(distance.shape[0]):
        if j != i and distance[j, i] < distance[nearest, i]:
            nearest = j
    neighbour[i] = nearest
    predicted[i] = label[nearest]


@kapi.kernel
def count_mistakes(item: kapi.Item, label, predicted, mistakes):
    # Wrong on purpose: many work-items add to one element, and nothing orders them.
    i = item.get_id(0)
    if predicted[i] != label[i]:
        mistakes[0] += 1
