"""``numba.cuda.cudadrv``: what programs take of the driver's side, where it means something without a GPU."""

from __future__ import annotations

from kapi_sim.numba_cuda.cudadrv import devicearray, devices, driver, error, nvvm, runtime

__all__ = ["devicearray", "devices", "driver", "error", "nvvm", "runtime"]
