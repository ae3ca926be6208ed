"""Loops over small arrays: their launches cost more than the work, so the host does it.

A device whose memory the host reaches has its arrays worked on where they lie. The arrays of another device are copied
once, and what was stored is copied back, if that costs less than the launches: see `SmallLoop.suits`.

Numba's code does it where the types are the same for Numba, and NumPy where they are not. A loop around `prange` loops
has elements, which are slow in Python, and functions that a loop calls have plans of their own: such a loop is Numba's
or stays on the device. The types, the shapes and the source decide, so that the same call runs the same code.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isinf
from typing import Any

import numpy as np

from kapi_numba_offload.elements.statements import SourceLocation
from kapi_numba_offload.libraries.arrays import (
    any_share_memory,
    arrays_among,
    device_facts,
    kind_of,
    queue_of,
)
from kapi_numba_offload.loops.host.host_copies import is_reachable
from kapi_numba_offload.loops.host.host_loop import HostLoop
from kapi_numba_offload.loops.host.loop_costs import COPIED_BYTE, COPY, LoopCosts, known_values
from kapi_numba_offload.loops.host.short_steps import FEW, MANY, ShortSteps, has_same_types
from kapi_numba_offload.loops.host.worked_axes import WorkedAxes, largest, most_elements
from kapi_numba_offload.run.options import OffloadOptions
from kapi_numba_offload.run.simulation import is_simulating
from kapi_numba_offload.run.timing import timed

__all__ = ["SmallLoop"]

_IN_PRODUCTS = 32  # times as many elements that a product of matrices may read: its call costs more than a launch


@dataclass(eq=False)
class SmallLoop:
    """A loop whose iterations work on whole arrays or rows, and that is the host's where these are small.

    Only where fallback is not switched off.

    Attributes
    ----------
    location : SourceLocation
        Its source location.
    host : HostLoop
        The loop.
    axes : WorkedAxes
        The axes of arrays that its statements work on.
    costs : LoopCosts
        What its costs depend on.
    options : OffloadOptions
        Those of the function.
    may_compile : bool
        Whether its source names nothing that has another type for Numba than for NumPy.
    may_interpret : bool
        Whether NumPy may run it, a statement at a time, where Numba does not.
    depth : int or None
        How many loops and rows are nested in its `prange` loops, 0 where it has none: their iterations are as many as
        the elements along so many axes. None if that is not known, so that they stay on the device.
    of_any_type : bool
        Whether Numba may compile it for all types; else for those alone whose operations it gives the same types.
    short_steps : ShortSteps or None
        The loop for so many iterations, of so few elements each, that Numba's types are the lesser evil.
    latest : str or None
        Why its latest run was on the host; None if it was not.
    """

    location: SourceLocation
    host: HostLoop
    axes: WorkedAxes
    costs: LoopCosts
    options: OffloadOptions
    may_compile: bool
    may_interpret: bool
    depth: int | None
    of_any_type: bool
    short_steps: ShortSteps | None
    latest: str | None = None

    def suits(self, *captured: Any) -> bool:
        """Whether it is to run on the host for these values."""
        self.latest = None
        if not self.options.may_fall_back or not most_elements():
            return False
        is_for_host = self._is_for_host(captured)
        if is_for_host and self._is_compiled(captured):
            return True
        is_interpreted = is_for_host and self.may_interpret
        otherwise = "NumPy runs it, a statement at a time" if is_interpreted else "Python runs it, a launch at a time"
        short = self.short_steps
        is_short = short is not None and self._has_short_steps(captured) and short.suits(captured, otherwise)
        return is_short or is_interpreted

    def _is_for_host(self, captured: Sequence[Any]) -> bool:
        """Whether it takes the host less time."""
        queue = None if self.depth is None else _one_queue(captured)
        if queue is None or (self.depth and is_simulating()):
            return False
        is_near = device_facts(queue).has_host_memory
        return self._is_small(captured) if is_near else self._is_cheaper_on_host(captured)

    def _is_compiled(self, captured: Sequence[Any]) -> bool:
        is_alike = self.of_any_type or all(map(has_same_types, captured))
        return (
            self.may_compile
            and is_alike
            and not ((self.depth or self.host.is_parallel) and any_share_memory(captured))
            and self.host.compiles(captured)
        )

    def _has_short_steps(self, captured: Sequence[Any]) -> bool:
        """Whether there are many iterations of few elements each."""
        arrays = list(arrays_among(captured))
        iterations = self.costs.iterations(self._values(captured))
        if self.short_steps is None or not arrays or iterations < MANY:
            return False
        axes = self.axes.most, self.axes.of_products
        if max(largest(each, of) for each in self._shapes(captured) for of in axes) > min(FEW, most_elements()):
            return False
        if all(map(is_reachable, arrays)):
            return True
        return self.short_steps.has_rows and (isinf(iterations) or self._is_cheaper_on_host(captured))

    def _is_small(self, captured: Sequence[Any]) -> bool:
        """Whether its statements work on few elements."""
        most, shapes = most_elements(), self._shapes(captured)
        return (
            max(largest(each, self.axes.most) for each in shapes) <= most
            and max(largest(each, self.axes.of_products) for each in shapes) <= most * _IN_PRODUCTS
            and (not self.depth or self._in_parallel_loops(captured) <= most)
        )

    def _shapes(self, captured: Sequence[Any]) -> list[tuple[int, ...]]:
        """The lengths of the axes of each array that a statement may work on."""
        values = dict(zip(self.host.given, captured, strict=True))
        return [
            self.axes.of(name, each.shape, values) for name, value in values.items() for each in arrays_among((value,))
        ]

    def _in_parallel_loops(self, captured: Sequence[Any]) -> int:
        """The iterations of one `prange` loop, at most."""
        return largest(tuple(length for each in arrays_among(captured) for length in each.shape), self.depth)

    def _is_cheaper_on_host(self, captured: Sequence[Any]) -> bool:
        """Whether the host takes less time for the copies and the work than the device's launches take."""
        of_copies = 0.0
        for name, value in zip(self.host.given, captured, strict=True):
            copies = 1 if self.host.only_reads(name) else 2
            of_copies += sum(copies * (COPY + each.nbytes * COPIED_BYTE) for each in arrays_among((value,)))
        shapes, of_loops = self._shapes(captured), self._in_parallel_loops(captured) if self.depth else 0

        def of_statement(axes: int | None) -> int:
            return max(of_loops, *(largest(each, axes) for each in shapes))

        on_device, on_host = self.costs.seconds(self._values(captured), of_statement)
        return of_copies + on_host < on_device

    def _values(self, captured: Sequence[Any]) -> dict[str, Any]:
        return known_values(dict(zip(self.host.given, captured, strict=True)))

    @timed
    def __call__(self, *captured: Any) -> Any:
        """Run the loop as Numba compiled it, or with NumPy."""
        where = "where they are" if all(map(is_reachable, arrays_among(captured))) else "on copies"
        if self._is_compiled(captured):
            self.latest = f"its arrays are small, and Numba computes {where}"
            return self.host.leave((), captured)
        short = self.short_steps
        if short is not None and self._has_short_steps(captured) and short.why_not_compiled(captured) is None:
            self.latest = short.latest
            return short.host.leave((), captured)
        self.latest = f"its arrays are small, and NumPy computes {where}"
        with np.errstate(all="ignore"):  # as on a device
            return self.host.leave((), captured, compiled=False)


def _one_queue(captured: Sequence[Any]) -> Any:
    """The one queue of the arrays among values, in memory of the device; None for others, and beside NumPy's arrays."""
    if any(isinstance(each, (np.ndarray, list)) for each in captured):
        return None
    arrays = list(arrays_among(captured))
    queue = queue_of(arrays[0]) if arrays else None
    if any(kind_of(each) != "device" or (each is not arrays[0] and queue_of(each) != queue) for each in arrays):
        return None
    return queue
