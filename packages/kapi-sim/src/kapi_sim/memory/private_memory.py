"""Private memory: arrays that kernels make for one work-item."""

from __future__ import annotations

import sys
from math import prod
from types import CodeType
from typing import Any

import numpy as np

from kapi_sim.checks.device_limits import check_dtype
from kapi_sim.checks.initialisation import PrivateShadowMemory
from kapi_sim.errors import LimitError
from kapi_sim.language.intrinsics.memory import MAX_PRIVATE_BYTES, constant_layout
from kapi_sim.language.source import source_location
from kapi_sim.memory.arguments import Bound
from kapi_sim.memory.views import SaturatingArray, View, poison

__all__ = ["PrivateArrays"]

_getframe = sys._getframe


class PrivateArrays:
    """Makes the private arrays of one launch: what a kernel's name `PrivateArray` becomes.

    - `bound`: the launch: its clock, what is looked for, the pretended device, the recorder if it is traced.
    """

    __slots__ = ("_bound", "_sizes")

    def __init__(self, bound: Bound) -> None:
        self._bound = bound
        self._sizes: dict[tuple[CodeType, int], int] = {}  # in bytes, by the site that makes an array

    def __call__(self, shape: Any, dtype: Any, fill_zeros: bool = False, name: str = "PrivateArray") -> Any:
        """Return a fresh array; the parameters are those of `PrivateArray`, and the variable's name."""
        bound = self._bound
        extents, kind = constant_layout("PrivateArray", shape, dtype)
        if bound.profile is not None:
            check_dtype(f"PrivateArray `{name}`", kind, bound.profile)
        frame: Any = _getframe(1)
        while str(frame.f_globals.get("__name__")).startswith("kapi_sim.language."):  # called through a variable
            frame = frame.f_back
        site = (frame.f_code, frame.f_lasti)
        if site not in self._sizes:
            self._note(site, prod(extents) * kind.itemsize, name)
        array: np.ndarray[Any, Any]
        if fill_zeros:
            array = np.zeros(extents, kind)
        else:
            array = np.empty(extents, kind)
            poison(array)
        shadow = PrivateShadowMemory(bound.clock) if bound.finds_unwritten and not fill_zeros else None
        details = (array, name, bound.clock, shadow, bound.has_bounds, kind.itemsize, bound.has_fp64, "private")
        if bound.recorder is not None:
            from kapi_sim.memory.recorder import TracedView

            return TracedView(*details).trace(bound.recorder)
        if bound.is_viewed or kind.names is not None:
            return View(*details)
        return array.view(SaturatingArray) if kind.kind in "iu" else array

    def _note(self, site: tuple[CodeType, int], nbytes: int, name: str) -> None:
        """Raise if the arrays of all sites so far have too many bytes for one work-item."""
        self._sizes[site] = nbytes
        total = sum(self._sizes.values())
        if total > MAX_PRIVATE_BYTES:
            raise LimitError(
                f"private arrays of a kernel must have at most {MAX_PRIVATE_BYTES} bytes in all for a work-item, got "
                f"{total}, {nbytes} of them in `{name}` at {source_location(*site)}; make them smaller, or pass an "
                "array that has a row for each work-item",
                code="private-memory-too-large",
            )
