"""A plain loop, such as one over time, whose elements are all in inner loops that are kernels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import CodeType
from typing import Any

import numpy as np

from kapi_numba_offload.elements.statements import StatementLocation
from kapi_numba_offload.libraries.arrays import is_device_array, queue_of
from kapi_numba_offload.loops.host.loop_costs import known_values
from kapi_numba_offload.loops.independent_loop import IndependentLoop

__all__ = ["InnerKernel", "LoopOfKernels"]


@dataclass(frozen=True, slots=True)
class InnerKernel:
    """An inner loop.

    - `bounds`: start, stop and step of each axis.
    - `given`, `reductions`: variables that it is given, and those that it reduces into.
    - `may_be_tried`: whether it may be a kernel for what is known before the loop around it, which makes the rest: none
      of that is a number that counts its iterations.
    """

    loop: IndependentLoop
    bounds: tuple[CodeType, ...]
    given: tuple[str, ...]
    reductions: tuple[str, ...]
    may_be_tried: bool = False

    def suits(self, values: Mapping[str, Any]) -> bool:
        """Whether it is a kernel for variables with these values; False if others decide."""
        if self.may_be_tried:
            return self.loop.may_suit({name: values[name] for name in self.given if name in values})
        queue = next((queue_of(each) for each in values.values() if is_device_array(each)), None)
        known = known_values(values)
        try:
            bounds = [eval(each, {"__builtins__": {}}, known) for each in self.bounds]
            given, initial = ([values[name] for name in names] for names in (self.given, self.reductions))
        except (LookupError, NameError, TypeError, ArithmeticError):
            return False
        return self.loop.suits(queue, bounds, given, initial)


@dataclass(eq=False)
class LoopOfKernels:
    """A loop that stays in the function where all of its inner loops are kernels, and else is the host's.

    - `inner`: the inner loops with elements.
    - `given`: variables that it is given.
    - `other`: what runs on the host otherwise.
    - `is_used`: whether it stayed in the function when it ran last.
    """

    location: StatementLocation
    inner: Sequence[InnerKernel]
    given: tuple[str, ...]
    other: Any
    is_used: bool = False

    def suits(self, *captured: Any) -> bool:
        """Whether all inner loops are kernels for variables with these values."""
        values = {
            name: each for name, each in zip(self.given, captured, strict=True)
            if is_device_array(each) or isinstance(each, (int, float, complex, np.generic))
        }  # fmt: skip
        self.is_used = all(each.suits(values) for each in self.inner)
        return self.is_used
