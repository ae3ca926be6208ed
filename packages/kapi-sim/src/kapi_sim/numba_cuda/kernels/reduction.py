"""``numba.cuda.kernels.reduction``."""

from __future__ import annotations

from kapi_sim.numba_cuda.launches.reductions import Reduce

__all__ = ["Reduce"]
