"""Loops over small arrays: what a launch costs is more than the work, so it is done in the memory of the arrays.

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
from kapi_numba_offload.libraries.arrays import any_share_memory, device_facts, is_device_array, kind_of, queue_of
from kapi_numba_offload.loops.host.host_loop import HostLoop
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

    Only for arrays that lie where the host reaches them without a copy, and where fallback is not switched off.

    Attributes
    ----------
    location : SourceLocation
        Its source location.
    host : HostLoop
        The loop.
    axes : WorkedAxes
        The axes of arrays that its statements work on.
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
    options: OffloadOptions
    may_compile: bool
    may_interpret: bool
    depth: int | None
    of_any_type: bool
    latest: str | None = None

    def suits(self, *captured: Any) -> bool:
        """Whether it is to run on the host for these values."""
        self.latest = None
        if self.depth is None or not self._is_small(captured) or (self.depth and is_simulating()):
            return False
        return self.may_interpret or self._is_compiled(captured)

    def _is_compiled(self, captured: Sequence[Any]) -> bool:
        is_alike = self.of_any_type or all(map(_has_the_same_types, captured))
        return self.may_compile and is_alike and not any_share_memory(captured) and self.host.compiles(captured)

    def _is_small(self, captured: Sequence[Any]) -> bool:
        """Whether its arrays are small, and lie where the host reaches them, in one place."""
        most = most_elements()
        limit = most * _IN_PRODUCTS
        queue = None
        values = dict(zip(self.host.given, captured, strict=True))
        lengths: list[int] = []
        for name, each in values.items():
            if is_device_array(each):
                shape = self.axes.of(name, each.shape, values)
                if _largest(shape, self.axes.most) > most or _largest(shape, self.axes.of_products) > limit:
                    return False
                own = queue_of(each)
                if (queue is not None and own != queue) or kind_of(each) != "device":
                    return False
                queue = own
                lengths += each.shape
            elif isinstance(each, (np.ndarray, tuple, list)):
                return False
        if queue is None or not most or not self.options.may_fall_back or not device_facts(queue).has_host_memory:
            return False
        return not self.depth or _largest(tuple(lengths), self.depth) <= most

    @timed
    def __call__(self, *captured: Any) -> Any:
        """Run the loop as Numba compiled it, or with NumPy."""
        compiled = self._is_compiled(captured)
        who = "Numba" if compiled else "NumPy"
        self.latest = f"its arrays are small, and {who} computes where they are"
        if compiled:
            return self.host.leave((), captured)
        with np.errstate(all="ignore"):  # as on a device
            return self.host.leave((), captured, compiled=False)


def _has_the_same_types(value: Any) -> bool:
    """Whether operations with a value have the same dtypes for dpnp and for Numba."""
    if isinstance(value, np.generic) or is_device_array(value):
        return value.dtype in SAME_TYPES
    return type(value) in (bool, int, float, complex)
