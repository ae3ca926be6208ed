"""``cuda.cg``: the whole grid as a group whose threads wait for each other."""

from __future__ import annotations

from typing import Any

from kapi_sim.items.convergence import GRID, DialectIntrinsic, Yielded
from kapi_sim.language.intrinsics.memory import MemoryScope
from kapi_sim.language.intrinsics.outside import carry_out
from kapi_sim.numba_cuda.threads.running import running
from kapi_sim.numba_cuda.threads.synchronisation import CudaConverging

__all__ = ["GridGroup", "grid_sync", "this_grid"]


class GridSync(CudaConverging):
    """``this_grid().sync()``."""

    def arrive(self, site: tuple[Any, ...], *args: Any, **named: Any) -> Yielded:
        return site, GRID, int(MemoryScope.DEVICE), self


grid_sync = GridSync("cg.this_grid().sync")


class GridGroup:
    """All threads of the launch."""

    __slots__ = ()

    def sync(self) -> None:
        """Wait until all threads of the grid that have not ended have come here."""
        carry_out(grid_sync)

    def __repr__(self) -> str:
        return "<grid>"


class ThisGrid(DialectIntrinsic):
    """``cuda.cg.this_grid``."""

    def __call__(self) -> GridGroup:
        """Return the group of all threads."""
        running("cg.this_grid")
        return GridGroup()


this_grid = ThisGrid("cg.this_grid")
