"""``cuda.local``: memory of a thread's own."""

from __future__ import annotations

from kapi_sim.numba_cuda.threads.kernel_arrays import LocalArrays

__all__ = ["array"]

array = LocalArrays("local.array")
