"""Indices and extents: the thread, its block, and the grid."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kapi_sim.errors import OutOfBoundsError
from kapi_sim.items.convergence import DialectIntrinsic
from kapi_sim.numba_cuda.threads.running import CudaClock, Triple, is_running, running

__all__ = [
    "Grid",
    "GridSize",
    "Indices",
    "blockDim",
    "blockIdx",
    "grid",
    "gridDim",
    "gridsize",
    "threadIdx",
    "warpsize",
]

warpsize = 32
"""Threads of a warp."""


class Indices:
    """Three integers that each thread has of its own: ``threadIdx`` and the like.

    Parameters
    ----------
    name : str
        As programs call it.
    read : callable
        Takes the launch that runs, and returns the integers.
    """

    __slots__ = ("_name", "_read")

    def __init__(self, name: str, read: Callable[[CudaClock], Triple]) -> None:
        self._name = name
        self._read = read

    @property
    def x(self) -> int:
        """Along x, where neighbours are in one warp."""
        return self._read(running(self._name))[0]

    @property
    def y(self) -> int:
        """Along y."""
        return self._read(running(self._name))[1]

    @property
    def z(self) -> int:
        """Along z."""
        return self._read(running(self._name))[2]

    def __repr__(self) -> str:
        # In a kernel as its `print` shows it.
        return str(tuple(self._read(running(self._name)))) if is_running() else f"<{self._name}.{{x,y,z}}>"


threadIdx = Indices("threadIdx", lambda clock: clock.thread_idx)
blockIdx = Indices("blockIdx", lambda clock: clock.block_idx)
blockDim = Indices("blockDim", lambda clock: clock.block_dim)
gridDim = Indices("gridDim", lambda clock: clock.grid_dim)


def _first(values: Triple, ndim: Any, word: str) -> Any:
    if ndim == 1:
        return values[0]
    if ndim not in (2, 3):
        raise OutOfBoundsError(f"ndim of cuda.{word} must be 1, 2 or 3, got {ndim!r}", code="dim-out-of-range")
    return values[:ndim]


class Grid(DialectIntrinsic):
    """``cuda.grid``."""

    def __call__(self, ndim: int) -> Any:
        """Return the thread's index in the whole grid: an integer, or a tuple of 2 or 3."""
        clock = running("grid")
        if ndim == 1 and clock.is_linear:
            return clock.uid
        return _first(clock.grid_index(clock.uid), ndim, "grid")


class GridSize(DialectIntrinsic):
    """``cuda.gridsize``."""

    def __call__(self, ndim: int) -> Any:
        """Return how many threads the whole grid has: an integer, or a tuple of 2 or 3."""
        clock = running("gridsize")
        b, g = clock.block_dim, clock.grid_dim
        return _first((b[0] * g[0], b[1] * g[1], b[2] * g[2]), ndim, "gridsize")


grid = Grid("grid")
gridsize = GridSize("gridsize")
