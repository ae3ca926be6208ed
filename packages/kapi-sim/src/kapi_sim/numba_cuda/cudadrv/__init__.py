"""``numba.cuda.cudadrv``: what programs take of the driver's side, as far as a host without a GPU gives it a meaning."""

from __future__ import annotations

from kapi_sim.numba_cuda.cudadrv import devicearray, devices, driver, error, nvvm, runtime

__all__ = ["devicearray", "devices", "driver", "error", "nvvm", "runtime"]
