"""``cuda.const``: memory that no kernel writes to."""

from __future__ import annotations

from kapi_sim.numba_cuda.threads.kernel_arrays import ConstantArrays

__all__ = ["array_like"]

array_like = ConstantArrays("const.array_like")
