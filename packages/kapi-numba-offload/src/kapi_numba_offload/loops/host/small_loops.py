"""Loops over small arrays: their launches cost more than the work, so the host does it.

A device whose memory the host reaches has its arrays worked on where they lie. The arrays of another device are copied
once, and what was stored is copied back, if that costs less than the launches: see `SmallLoop.suits`.

Numba's code does it where the types are the same for Numba, and NumPy where they are not. A loop around `prange` loops
has elements, which are slow in Python, and functions that a loop calls have plans of their own: such a loop is Numba's
or stays on the device. The types, the shapes and the source decide, so that the same call runs the same code.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kapi_numba_offload.elements.statements import StatementLocation
from kapi_numba_offload.libraries.arrays import (
    any_share_memory,
    arrays_among,
    device_facts,
    is_numpy_array,
    kind_of,
    queue_of,
)
from kapi_numba_offload.loops.host.host_copies import is_reachable
from kapi_numba_offload.loops.host.host_loop import HostLoop
from kapi_numba_offload.loops.host.iteration_work import StepSizes
from kapi_numba_offload.loops.host.short_iterations import ShortSteps, has_same_types
from kapi_numba_offload.loops.host.worked_axes import most_elements
from kapi_numba_offload.run.options import OffloadOptions
from kapi_numba_offload.run.simulation import is_simulating
from kapi_numba_offload.run.timing import timed

__all__ = ["SmallLoop"]


@dataclass(eq=False)
class SmallLoop:
    """A loop whose iterations work on full arrays or rows, and that is the host's where these are small.

    Only where fallback is not switched off.

    - `sizes`: what the work of its iterations depends on.
    - `may_compile`: whether its source names nothing that has another type for Numba than for NumPy.
    - `may_interpret`: whether NumPy may run it, a statement at a time, where Numba does not.
    - `has_number_operations`: whether it computes with numbers that arrays are reduced to: NumPy's unsigned ones have
      other types with integers than those on the device.
    - `has_known_loops`: whether the iterations of its `prange` loops are known, so far as it has some; else it stays on
      the device.
    - `of_any_type`: whether Numba may compile it for all types; else for those alone whose operations it gives the same
      types.
    - `has_same_integers`: whether Numba's integers are NumPy's, for the values that it is given.
    - `short_steps`: the loop for so many iterations, of so few elements each, that Numba's types are the lesser evil.
    - `latest`: why its latest run was on the host; None if it was not.
    """

    location: StatementLocation
    host: HostLoop
    sizes: StepSizes
    options: OffloadOptions
    may_compile: bool
    may_interpret: bool
    has_number_operations: bool
    has_known_loops: bool
    of_any_type: bool
    has_same_integers: Callable[[Sequence[Any]], bool]
    short_steps: ShortSteps | None
    latest: str | None = None

    def suits(self, *captured: Any) -> bool:
        """Whether it is to run on the host for these values."""
        self.latest = None
        if not most_elements():
            return False
        is_for_host = self._is_for_host(captured)
        if not self.options.may_fall_back:
            self._warn_of_launches(captured, is_for_host=is_for_host)
            return False
        if is_for_host and self._is_compiled(captured):
            return True
        is_unlike = self.has_number_operations and any(each.dtype.kind == "u" for each in arrays_among(captured))
        is_interpreted = is_for_host and self.may_interpret and not is_unlike
        otherwise = "NumPy runs it, a statement at a time" if is_interpreted else "Python runs it, a launch at a time"
        short = self.short_steps
        is_short = short is not None and self.sizes.are_short(captured) and short.suits(captured, otherwise)
        return is_short or is_interpreted

    def _is_for_host(self, captured: Sequence[Any]) -> bool:
        """Whether it takes the host less time."""
        queue = _one_queue(captured) if self.has_known_loops else None
        if queue is None or (self.sizes.depth and is_simulating()):
            return False
        is_near = device_facts(queue).has_host_memory
        return self.sizes.are_few(captured) if is_near else self.sizes.are_cheaper_on_host(captured)

    def _warn_of_launches(self, captured: Sequence[Any], *, is_for_host: bool) -> None:
        """Warn of many launches on few elements each, where fallback is off."""
        short = self.short_steps
        if short is not None and (self.sizes.are_short(captured) or (is_for_host and self.sizes.are_many(captured))):
            short.warn("It stays on the device, a launch at a time, since fallback is off.")

    def _is_compiled(self, captured: Sequence[Any]) -> bool:
        is_alike = self.has_same_integers(captured) if self.of_any_type else all(map(has_same_types, captured))
        return (
            self.may_compile
            and is_alike
            and not ((self.sizes.depth or self.host.is_parallel) and any_share_memory(captured))
            and self.host.compiles(captured)
        )

    @timed
    def __call__(self, *captured: Any) -> Any:
        """Run the loop as Numba compiled it, or with NumPy."""
        where = "where they are" if all(map(is_reachable, arrays_among(captured))) else "on copies"
        if self._is_compiled(captured):
            self.latest = f"its arrays are small, and Numba computes {where}"
            return self.host.leave((), captured)
        short = self.short_steps
        if short is not None and self.sizes.are_short(captured) and short.why_not_compiled(captured) is None:
            self.latest = short.latest
            return short.host.leave((), captured)
        self.latest = f"its arrays are small, and NumPy computes {where}"
        with np.errstate(all="ignore"):  # as on a device
            return self.host.leave((), captured, compiled=False)


def _one_queue(captured: Sequence[Any]) -> Any:
    """The one queue of the arrays among values, in memory of the device; None for others, and with NumPy's arrays."""
    if any(is_numpy_array(each) or isinstance(each, list) for each in captured):
        return None
    arrays = list(arrays_among(captured))
    queue = queue_of(arrays[0]) if arrays else None
    if any(kind_of(each) != "device" or (each is not arrays[0] and queue_of(each) != queue) for each in arrays):
        return None
    return queue
