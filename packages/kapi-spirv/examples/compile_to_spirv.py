"""A Python function becomes a SPIR-V module, with neither a device nor a driver in reach.

Prints what the module is, how its one argument is laid out, and the loop in the LLVM IR that it was made of.
"""

from __future__ import annotations

import math

from numba import types

from kapi_spirv import compile_kernel
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
module = compile_kernel(pairwise_distance, [ItemType(2), matrix, matrix])

print(f"{module.entry_point}: SPIR-V {module.target.version} for an index space of {module.ndim} dimensions")
print(f"needs {', '.join(module.capabilities)}; no double, for float32 in is float32 all along")
for parameter in module.parameters:
    print(f"  {parameter.name:<10} {parameter.kind:<8} {parameter.type}")
print(f"one argument of {module.layout.size} bytes, {module.layout.format}:")
for field in module.layout.fields:
    print(f"  {field.offset:>3}  {field.owner:<10} {field.role}")

lines = module.optimized_llvm_ir.splitlines()
(start,) = [index for index, line in enumerate(lines) if " = phi float " in line and "load float" in lines[index + 4]]
print("the loop:")
for line in lines[start:]:
    if line.lstrip().startswith("br "):
        break
    print(line)
