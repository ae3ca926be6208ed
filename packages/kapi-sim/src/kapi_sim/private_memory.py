"""Private memory: arrays that kernels make for one work-item."""

from __future__ import annotations

from typing import Any

import numpy as np

from kapi_sim.checks.initialisation import PrivateTrail
from kapi_sim.clock import Clock
from kapi_sim.errors import DtypeError
from kapi_sim.memory import SaturatingArray, View, poison
from kapi_sim.spec.memory import constant_layout

__all__ = ["PrivateArrays"]


class PrivateArrays:
    """Makes the private arrays of one launch: what a kernel's name `PrivateArray` becomes.

    Parameters
    ----------
    clock : Clock
        Names the running work-item in messages.
    is_viewed : bool
        Whether accesses are looked at.
    has_bounds, finds_unwritten : bool
        What to look for.
    has_fp64 : bool
        Whether the pretended device has float64.
    """

    __slots__ = ("_clock", "_finds_unwritten", "_has_bounds", "_has_fp64", "_is_viewed")

    def __init__(self, clock: Clock, is_viewed: bool, has_bounds: bool, finds_unwritten: bool, has_fp64: bool) -> None:
        self._clock = clock
        self._is_viewed = is_viewed
        self._has_bounds = has_bounds
        self._finds_unwritten = finds_unwritten
        self._has_fp64 = has_fp64

    def __call__(self, shape: Any, dtype: Any, fill_zeros: bool = False, name: str = "PrivateArray") -> Any:
        """Return a fresh array; the parameters are those of `PrivateArray`, and the variable's name."""
        extents, kind = constant_layout("PrivateArray", shape, dtype)
        if not self._has_fp64 and kind in (np.float64, np.complex128):
            raise DtypeError(
                f"dtype of PrivateArray `{name}` must not be {kind} on a device without fp64, got {kind}: use float32"
            )
        array: np.ndarray[Any, Any]
        if fill_zeros:
            array = np.zeros(extents, kind)
        else:
            array = np.empty(extents, kind)
            poison(array)
        if not self._is_viewed:
            return array.view(SaturatingArray) if kind.kind in "iu" else array
        trail = PrivateTrail(self._clock) if self._finds_unwritten and not fill_zeros else None
        return View(array, name, self._clock, trail, self._has_bounds, kind.itemsize, self._has_fp64, "private")
