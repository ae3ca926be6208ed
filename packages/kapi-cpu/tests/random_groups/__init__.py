"""Random kernels, run in the simulator and on the processor: results must be the same to the bit."""

from __future__ import annotations

import linecache
import random
from typing import Any

import cpu_backend
import numpy as np

import kapi_sim as kapi
from kapi_cpu import CpuTarget
from random_groups.writer import ARRAYS, CELLS, UPDATES, write

__all__ = ["Program", "write"]

SUB_GROUP = 8
SPACES = (
    ((32,), (16,)), ((21,), (7,)), ((6,), (3,)), ((40,), (40,)), ((26,), (13,)), ((9,), (1,)), ((34,), (17,)),
    ((4, 12), (2, 6)), ((6, 5), (3, 5)), ((2, 4, 6), (1, 2, 6)), ((3, 4, 4), (3, 2, 2)),
)  # fmt: skip
"""Global and local ranges, few of them multiples of a vector's lanes."""
RANGES = ((1,), (16,), (37,), (100,), (5, 9), (3, 4, 5), (64,), (1, 33))
LONGEST_GROUPS = (5, 16, 24, 1024)
"""Work-items of a group that a Range is cut into, the last group a ragged one."""


class Program:
    """A kernel with its launches, all of which a number decides."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self.seed = seed
        self.has_groups = self._random.random() < 0.75
        self.has_sub_groups = self.has_groups and self._random.random() < 0.4
        self.source = write(seed, self.has_groups, self.has_sub_groups)
        self.space = self._random.choice(SPACES if self.has_groups else RANGES)
        self.longest = self._random.choice(LONGEST_GROUPS)

    def kernel(self) -> Any:
        filename = f"<random groups {self.seed}>"
        linecache.cache[filename] = (len(self.source), None, self.source.splitlines(True), filename)
        namespace = {"kapi": kapi, "np": np}
        exec(compile(self.source, filename, "exec"), namespace)
        options = {"sub_group_size": SUB_GROUP} if self.has_sub_groups else {}
        return kapi.kernel(**options)(namespace["program"])

    def arguments(self) -> list[Any]:
        count = int(np.prod(self.space[0] if self.has_groups else self.space))
        rng = np.random.default_rng(self.seed)
        given: list[Any] = []
        for code in ARRAYS.values():
            values = rng.integers(-50, 100, 3 * count).astype(code)
            step = (1, 1, 2, 3, -1, -2)[rng.integers(6)]
            given.append((values / values.dtype.type(8) if code in "df" else values)[::step][:count])
        given.append(np.zeros(count, np.int64))
        given += [rng.integers(-9, 9, (len(UPDATES), CELLS)).astype(code) for code in "li"]
        given.append(int(rng.integers(0, 6)))
        if self.has_groups:
            n = int(np.prod(self.space[1]))
            given += [kapi.LocalAccessor(n, np.int64), kapi.LocalAccessor(n, np.float32)]
            given.append(kapi.LocalAccessor(CELLS, np.int32))
        return given

    @property
    def range(self) -> Any:
        return kapi.NdRange(*self.space) if self.has_groups else kapi.Range(*self.space)

    def simulate(self) -> list[Any]:
        given = self.arguments()
        with np.errstate(all="ignore"):
            kapi.call_kernel(self.kernel(), self.range, *given)
        return given

    def run(self, target: CpuTarget) -> list[Any]:
        given = self.arguments()
        cpu_backend.Cpu(target, longest_group=self.longest).call(self.kernel(), self.range, *given)
        return given

    def difference(self, target: CpuTarget, wanted: list[Any]) -> str:
        """The first array in which the processor's result is another one; an empty text if there is none."""
        given = self.run(target)
        for name, found, right in zip([*ARRAYS, "passed", "cells_l", "cells_i"], given, wanted, strict=False):
            # No bit of a nan is promised, and the sign of a zero is.
            differs = (found != right) & ((found == found) | (right == right))
            if found.dtype.kind == "f":
                differs |= (np.signbit(found) != np.signbit(right)) & (found == 0)
            if differs.any():
                where = np.argwhere(differs)[0]
                return f"{name}{where.tolist()}: {found[tuple(where)]!r} for {right[tuple(where)]!r}"
        return ""
