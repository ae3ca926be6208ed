"""A kernel to object code for this processor, and what is in it."""

import math

from kapi_cpu import compile_kernel


def distances(item, points, found):
    i = item.get_id(0)
    found[i] = math.sqrt(points[i, 0] * points[i, 0] + points[i, 1] * points[i, 1])


module = compile_kernel(distances, "item1, float32[:, :], float32[:]")
print(module.summary())
