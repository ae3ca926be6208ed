"""Constant arrays: what a kernel takes of NumPy's arrays from outside, as they were at the launch."""

from __future__ import annotations

from typing import Any

import numpy as np

from kapi_sim.memory.arguments import Bound
from kapi_sim.memory.records import RecordValue
from kapi_sim.memory.views import View

__all__ = ["CONSTANT", "BoundConstants", "Snapshot"]

CONSTANT = "an argument, for the kernel stores to it, got an array from outside, which is constant in a kernel"


class Snapshot:
    """A copy of an array or a record from outside, which holds as long as it is what it was."""

    __slots__ = ("_original", "array")

    def __init__(self, original: np.ndarray[Any, Any] | np.void) -> None:
        self._original = original
        self.array: np.ndarray[Any, Any] = np.array(original, order="C")
        self.array.flags.writeable = False

    @property
    def record(self) -> RecordValue | None:
        """The record as a kernel sees it; None for an array."""
        return RecordValue(self.array[()]) if isinstance(self._original, np.void) else None  # type: ignore[arg-type]  # a void

    def holds(self) -> bool:
        """Whether the array has still the same elements, to the last bit."""
        now, then = self._original, self.array
        return (now.dtype, now.shape) == (then.dtype, then.shape) and now.tobytes() == then.tobytes()


class BoundConstants:
    """Gives a kernel its constant arrays in one launch.

    - `bound`: the launch: its clock, and what is looked for.
    """

    __slots__ = ("_bound", "_known")

    def __init__(self, bound: Bound) -> None:
        self._bound = bound
        self._known: dict[int, Any] = {}

    def __call__(self, snapshot: Snapshot, name: str) -> Any:
        """Return the array of a snapshot as the kernel is to see it; `name` is what the kernel calls it."""
        found = self._known.get(id(snapshot))
        if found is None:
            found = self._known[id(snapshot)] = snapshot.record
        if found is None:
            bound, array = self._bound, snapshot.array
            bound.unwritable[name] = CONSTANT
            details = (array, name, bound.clock, None, bound.has_bounds, array.itemsize, bound.has_fp64, "private")
            is_viewed = bound.is_viewed or array.dtype.names is not None  # as of arguments
            found = self._known[id(snapshot)] = View(*details) if is_viewed else array.view()
        return found
