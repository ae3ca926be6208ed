"""``numba.cuda.decorators``: what makes kernels of functions."""

from __future__ import annotations

from kapi_sim.numba_cuda.launches.decorators import declare_device, jit

__all__ = ["declare_device", "jit"]
