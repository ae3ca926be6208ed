"""The kernels of the digits demo, written for the simulator.

Replace the import below by ``import kapi_runtime as kapi``, and the same kernels are compiled for the device
that holds their arrays.  That one line is the difference: `digits.py` makes the exchange before your eyes.
"""

from __future__ import annotations

import math

import kapi_sim as kapi


@kapi.kernel
def pairwise_distance(item: kapi.Item, data, distance):
    # The last dimension is the fastest: neighbouring work-items write neighbouring elements.
    i = item.get_id(0)
    j = item.get_id(1)
    total = data.dtype.type(0.0)
    for k in range(data.shape[1]):
        t = data[i, k] - data[j, k]
        total += t * t
    distance[i, j] = math.sqrt(total)


@kapi.kernel
def nearest_neighbour(item: kapi.Item, distance, label, neighbour, predicted):
    # Distances are symmetric, so down column i is along row i, and neighbours read neighbours.
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
