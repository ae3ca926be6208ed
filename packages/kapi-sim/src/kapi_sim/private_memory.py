"""Private memory: arrays that kernels make for one work-item."""

from __future__ import annotations

from typing import Any

import numpy as np

from kapi_sim.arguments import Bound
from kapi_sim.checks.initialisation import PrivateTrail
from kapi_sim.checks.limits import check_dtype
from kapi_sim.memory import SaturatingArray, View, poison
from kapi_sim.spec.memory import constant_layout

__all__ = ["PrivateArrays"]


class PrivateArrays:
    """Makes the private arrays of one launch: what a kernel's name `PrivateArray` becomes.

    Parameters
    ----------
    bound : Bound
        The launch: its clock, what is looked for, the pretended device, the recorder if it is traced.
    """

    __slots__ = ("_bound",)

    def __init__(self, bound: Bound) -> None:
        self._bound = bound

    def __call__(self, shape: Any, dtype: Any, fill_zeros: bool = False, name: str = "PrivateArray") -> Any:
        """Return a fresh array; the parameters are those of `PrivateArray`, and the variable's name."""
        bound = self._bound
        extents, kind = constant_layout("PrivateArray", shape, dtype)
        if bound.profile is not None:
            check_dtype(f"PrivateArray `{name}`", kind, bound.profile)
        array: np.ndarray[Any, Any]
        if fill_zeros:
            array = np.zeros(extents, kind)
        else:
            array = np.empty(extents, kind)
            poison(array)
        trail = PrivateTrail(bound.clock) if bound.finds_unwritten and not fill_zeros else None
        places = (array, name, bound.clock, trail, bound.has_bounds, kind.itemsize, bound.has_fp64, "private")
        if bound.recorder is not None:
            from kapi_sim.tracing.recorder import TracedView

            return TracedView(*places).trace(bound.recorder)
        if bound.is_viewed:
            return View(*places)
        return array.view(SaturatingArray) if kind.kind in "iu" else array
