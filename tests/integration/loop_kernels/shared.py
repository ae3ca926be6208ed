"""Random kernels of loops that work-items share in steps of their number."""

from __future__ import annotations

from math import prod
from typing import ClassVar

import kapi_runtime as kapi
from loop_kernels.nested import Nested, indented
from loop_kernels.plain import WorkItem

__all__ = ["GroupedItem", "Shared"]

_GLOBAL = ("item.get_global_id({})", "item.get_global_range({})")
_LOCAL = ("item.get_local_id({})", "item.get_local_range({})")
_OF_GROUP = ("item.get_group().get_group_id({0}) * {1} + item.get_local_id({0})", "item.get_local_range({})")
_ENDS = ["x", "n", "n + x", "a.shape[0]", "17", "96", "100", "1", "0", "-5", "a.shape[0] - n", "a[0] + 90", "i"]


class GroupedItem(WorkItem):
    """Stands in for a work-item of a work-group."""

    def __init__(self, space: kapi.NdRange, *ids: int) -> None:
        super().__init__(*ids)
        self.space = space
        self.size = prod(space.local_range)

    def get_global_range(self, dimension: int) -> int:
        return self.space.global_range[dimension]

    def get_local_range(self, dimension: int) -> int:
        return self.space.local_range[dimension]

    def get_local_id(self, dimension: int) -> int:
        return self.ids[dimension] % self.get_local_range(dimension)

    def get_group_id(self, dimension: int) -> int:
        return self.ids[dimension] // self.get_local_range(dimension)


class Shared(Nested):
    """Writes one kernel, in which most loops are shared."""

    spaces: ClassVar = {
        "i = item.get_global_id(0)": [kapi.NdRange(96, 16), kapi.NdRange(40, 10), kapi.NdRange(16, 16)],
        "i = item.get_global_id(0) * 8 + item.get_global_id(1)": [kapi.NdRange((8, 8), (4, 4))],
        "i = item.get_global_id(0) + item.get_global_id(1) * 6": [kapi.NdRange((6, 16), (1, 16))],
    }

    def loop(self, depth: int) -> list[str]:
        choose = self.random.choice
        if self.random.random() < 0.2:
            return super().loop(depth)
        self.loops += 1
        k, axis = f"k{self.loops}", choose(range(len(self.space.global_range)))
        start, step = choose([_GLOBAL, _LOCAL, _OF_GROUP])
        start = start.format(axis, choose([1, 3, 16, 40]))
        body = [choose([f"v += a[{k} % 40] * 1.0", f"u = (u * 3 + {k}) & 1023", "v = w", self.update()])]
        body += self.block(choose([0, 0, depth - 1]), choose(["left", ""]))
        head = f"for {k} in range({start}, {choose(_ENDS)}, {step.format(axis)}):"
        return [head, *indented(body)]
