"""A Python function becomes PTX, with neither a GPU nor a driver in reach.

Prints what the module is, how its one argument is laid out, and the loop.
"""

from __future__ import annotations

import math

from numba import types

from kapi_ptx import PtxTarget, compile_kernel
from kapi_types import ArrayType, ItemType


def pairwise_distance(item, data, distance):
    """Distance of each pair of rows of `data`."""
    i = item.get_id(0)
    j = item.get_id(1)
    d = data.dtype.type(0.0)
    for k in range(data.shape[1]):
        t = data[i, k] - data[j, k]
        d += t * t
    distance[i, j] = math.sqrt(d)


matrix = ArrayType(types.float32, 2, "C")
module = compile_kernel(pairwise_distance, [ItemType(2), matrix, matrix], target=PtxTarget(80))

print(module.summary())
lines = module.ptx.splitlines()
first = next(index for index, line in enumerate(lines) if "sub.rn.f32" in line)
while not lines[first].startswith("$L"):
    first -= 1
print("the loop:")
for line in lines[first:]:
    print(line)
    if line.lstrip().startswith("@"):
        break
