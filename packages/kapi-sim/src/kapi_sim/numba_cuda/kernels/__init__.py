"""``numba.cuda.kernels``: kernels that numba.cuda brings itself."""

from __future__ import annotations

from kapi_sim.numba_cuda.kernels import reduction, transpose

__all__ = ["reduction", "transpose"]
