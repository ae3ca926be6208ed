"""Algorithms over full arrays in the simulator: ``kapi.algorithms``.

The names are those of the C++ standard and of oneDPL.  Operators, predicates and comparisons are kapi's operators or
functions under `device_func`.  The arrays have one dimension.

>>> import numpy as np, kapi_sim as kapi
>>> kapi.algorithms.inclusive_scan(np.array([3, 1, 4, 1]))
array([3, 4, 8, 9])
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kapi_sim.kernels import Kernel, kernel
from kapi_sim.language import NdRange
from kapi_sim.language.launchables.graph import simulated
from kapi_sim.language.launchables.launchable import Launchable
from kapi_sim.whole_arrays.histograms import Histograms
from kapi_sim.whole_arrays.reductions import Reductions
from kapi_sim.whole_arrays.scans import Scans
from kapi_sim.whole_arrays.segments import Segments
from kapi_sim.whole_arrays.selections import Selections
from kapi_sim.whole_arrays.sorts import Sorts
from kapi_sim.whole_arrays.world import Shape, World

__all__ = [
    "copy_if",
    "exclusive_scan",
    "histogram",
    "inclusive_scan",
    "reduce",
    "reduce_by_segment",
    "sort",
    "sort_by_key",
    "stable_sort",
    "transform_reduce",
    "unique",
]


class Simulator(World):
    """Kernels in the simulator, over NumPy arrays."""

    def kernel(self, function: Callable[..., None]) -> Kernel:
        """Make a kernel of a plain function."""
        return kernel(function)

    def launch(self, kernel: Launchable, space: NdRange, args: tuple[Any, ...]) -> None:
        """Run the kernel."""
        kernel.run(space, args)

    def dtype_of(self, array: Any) -> np.dtype[Any] | None:
        """Return the dtype of a NumPy array."""
        return array.dtype if isinstance(array, np.ndarray) else None

    def empty(self, like: Any, extents: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        """Return a new NumPy array."""
        return np.empty(extents, dtype)

    def bits_of(self, array: Any, dtype: np.dtype[Any]) -> Any:
        """Return a view of another dtype."""
        return array.view(dtype)

    def graph(self) -> Any:
        """Return the graph that is recording, or None."""
        return simulated.get()

    def number(self, array: Any, index: int) -> int:
        """Return an integer element."""
        return int(array[index])

    def has_done(self, work: Callable[[], None], *arrays: Any) -> bool:
        """Leave all work to kernels, which are checked."""
        return False

    def shape(self, array: Any, purpose: str, itemsize: int) -> Shape:
        """Return small work-groups, so that short arrays have several."""
        return Shape(8, 2, 4)


_WORLD = Simulator()
_reductions, _scans, _sorts = Reductions(_WORLD), Scans(_WORLD), Sorts(_WORLD)
_selections, _segments, _histograms = Selections(_WORLD), Segments(_WORLD), Histograms(_WORLD)

reduce = _reductions.reduce
transform_reduce = _reductions.transform_reduce
inclusive_scan = _scans.inclusive_scan
exclusive_scan = _scans.exclusive_scan
sort = _sorts.sort
stable_sort = _sorts.stable_sort
sort_by_key = _sorts.sort_by_key
copy_if = _selections.copy_if
unique = _selections.unique
histogram = _histograms.histogram
reduce_by_segment = _segments.reduce_by_segment
