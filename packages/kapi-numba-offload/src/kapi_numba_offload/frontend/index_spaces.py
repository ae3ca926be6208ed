"""The Numba type of index spaces, so that a function may have one as its only argument."""

from __future__ import annotations

from typing import Any

from numba.extending import typeof_impl

from kapi_numba_offload._numba_compat import types
from kapi_sim.language import NdRange, Range

__all__ = ["IndexSpaceType"]


class IndexSpaceType(types.Opaque):
    """A `Range` or `NdRange`; a function with such an argument is offloaded."""


_TYPES = {kind: IndexSpaceType(f"kapi.{kind.__name__}") for kind in (Range, NdRange)}


@typeof_impl.register(Range)
@typeof_impl.register(NdRange)
def _typeof_index_space(value: Any, context: Any) -> Any:
    return _TYPES[type(value)]
