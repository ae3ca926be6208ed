"""``cuda.shared``: memory that the threads of a block share."""

from __future__ import annotations

from kapi_sim.numba_cuda.threads.kernel_arrays import SharedArrays

__all__ = ["array"]

array = SharedArrays("shared.array")
