"""Loops over small arrays: their launches cost more than the work, so the host does it.

A device whose memory the host reaches has its arrays worked on where they lie. The arrays of another device are copied
once, and what was stored is copied back, if that costs less than the launches: see `SmallLoop.suits`.

Numba's code does it where the types are the same for Numba, and NumPy where they are not. A loop around `prange` loops
has elements, which are slow in Python, and functions that a loop calls have plans of their own: such a loop is Numba's
or stays on the device. The types, the shapes and the source decide, so that the same call runs the same code.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from kapi_numba_offload.elements.statements import SourceLocation
from kapi_numba_offload.libraries.arrays import (
    any_share_memory,
    arrays_among,
    device_facts,
    is_device_array,
    kind_of,
    queue_of,
)
from kapi_numba_offload.loops.host.host_copies import is_reachable
from kapi_numba_offload.loops.host.host_loop import HostLoop
from kapi_numba_offload.loops.host.loop_costs import COPIED_BYTE, COPY, Extents, LoopCosts
from kapi_numba_offload.run.options import OffloadOptions
from kapi_numba_offload.run.simulation import is_simulating
from kapi_numba_offload.run.timing import timed
from kapi_sim import environment

__all__ = ["SAME_TYPES", "SmallLoop", "WorkedAxes", "most_elements"]

SAME_TYPES = frozenset(map(np.dtype, ("float64", "complex128", "int64")))
"""Dtypes whose operations have the same dtypes for dpnp and for Numba, with each other and with Python's numbers."""
_DEFAULT = 32768  # elements: with fewer, NumPy needs less time for some operations than their launches
_IN_PRODUCTS = 32  # times as many elements that a product of matrices may read: its call costs more than a launch


def most_elements() -> int:
    """Limit of the elements of a statement in a small loop: `KAPI_OFFLOAD_SMALL`, 0 for no small loops."""
    return environment.OFFLOAD_SMALL.number(_DEFAULT)


@dataclass(frozen=True, slots=True)
class WorkedAxes:
    """Axes of arrays that the statements of a loop work on.

    Attributes
    ----------
    most : int or None
        How many axes they work on at most, those of the operands of products of matrices left out; None if that is not
        known.
    of_products : int
        How many axes the operands of products of matrices have at most.
    parts : mapping
        For names of arrays, and axes of them, how much of the axis a statement works on wherever the array is named: a
        number of elements, or the variable that has it.
    """

    most: int | None
    of_products: int
    parts: Mapping[str, Mapping[int, int | str]]

    def of(self, name: str, shape: tuple[int, ...], values: Mapping[str, Any]) -> tuple[int, ...]:
        """The lengths of the axes of an array that a statement may work on, for variables with these values."""
        parts = self.parts.get(name)
        if parts is None:
            return shape
        made = list(shape)
        for axis, part in parts.items():
            length = values.get(part) if isinstance(part, str) else part
            if axis < len(made) and isinstance(length, int):
                made[axis] = min(made[axis], max(0, length))
        return tuple(made)


def _largest(shape: tuple[int, ...], axes: int | None) -> int:
    """The elements along so many axes, at most."""
    return prod(sorted(shape)[len(shape) - axes :] if axes is not None and axes < len(shape) else shape)


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
    latest: str | None = None

    def suits(self, *captured: Any) -> bool:
        """Whether it is to run on the host for these values."""
        self.latest = None
        queue = None if self.depth is None or not self.options.may_fall_back else _one_queue(captured)
        if queue is None or not most_elements() or (self.depth and is_simulating()):
            return False
        is_near = device_facts(queue).has_host_memory
        if not (self._is_small(captured) if is_near else self._is_cheaper_on_host(captured)):
            return False
        return self.may_interpret or self._is_compiled(captured)

    def _is_compiled(self, captured: Sequence[Any]) -> bool:
        is_alike = self.of_any_type or all(map(_has_the_same_types, captured))
        return self.may_compile and is_alike and not any_share_memory(captured) and self.host.compiles(captured)

    def _is_small(self, captured: Sequence[Any]) -> bool:
        """Whether its statements work on few elements."""
        most, shapes = most_elements(), self._shapes(captured)
        return (
            max(_largest(each, self.axes.most) for each in shapes) <= most
            and max(_largest(each, self.axes.of_products) for each in shapes) <= most * _IN_PRODUCTS
            and (not self.depth or self._in_parallel_loops(captured) <= most)
        )

    def _shapes(self, captured: Sequence[Any]) -> list[tuple[int, ...]]:
        """The lengths of the axes of each array that a statement may work on."""
        values = dict(zip(self.host.given, captured, strict=True))
        return [self.axes.of(name, each.shape, values) for name, each in values.items() if is_device_array(each)]

    def _in_parallel_loops(self, captured: Sequence[Any]) -> int:
        """The iterations of one `prange` loop, at most."""
        return _largest(
            tuple(length for each in captured if is_device_array(each) for length in each.shape), self.depth
        )

    def _is_cheaper_on_host(self, captured: Sequence[Any]) -> bool:
        """Whether the host takes less time for the copies and the work than the device's launches take."""
        values: dict[str, Any] = {}
        of_copies = 0.0
        for name, each in zip(self.host.given, captured, strict=True):
            if is_device_array(each):
                values[name] = Extents(each)
                copies = 1 if self.host.only_reads(name) else 2
                of_copies += copies * (COPY + each.nbytes * COPIED_BYTE)
            elif isinstance(each, (int, np.integer)):
                values[name] = int(each)
        shapes, of_loops = self._shapes(captured), self._in_parallel_loops(captured) if self.depth else 0

        def largest(axes: int | None) -> int:
            return max(of_loops, *(_largest(each, axes) for each in shapes))

        on_device, on_host = self.costs.seconds(values, largest)
        return of_copies + on_host < on_device

    @timed
    def __call__(self, *captured: Any) -> Any:
        """Run the loop as Numba compiled it, or with NumPy."""
        compiled = self._is_compiled(captured)
        who = "Numba" if compiled else "NumPy"
        is_near = all(map(is_reachable, arrays_among(captured)))
        self.latest = f"its arrays are small, and {who} computes {'where they are' if is_near else 'on copies'}"
        if compiled:
            return self.host.leave((), captured)
        with np.errstate(all="ignore"):  # as on a device
            return self.host.leave((), captured, compiled=False)


def _one_queue(captured: Sequence[Any]) -> Any:
    """The one queue of the arrays among values, in memory of the device; None for others, and beside NumPy's arrays."""
    queue = None
    for each in captured:
        if is_device_array(each):
            own = queue_of(each)
            if (queue is not None and own != queue) or kind_of(each) != "device":
                return None
            queue = own
        elif isinstance(each, (np.ndarray, tuple, list)):
            return None
    return queue


def _has_the_same_types(value: Any) -> bool:
    """Whether operations with a value have the same dtypes for dpnp and for Numba."""
    if isinstance(value, np.generic) or is_device_array(value):
        return value.dtype in SAME_TYPES
    return type(value) in (bool, int, float, complex)
