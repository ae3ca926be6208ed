"""``numba.cuda.dispatcher``: the class of kernels, for programs that ask for it."""

from __future__ import annotations

from kapi_sim.numba_cuda.launches.dispatcher import Dispatcher as CUDADispatcher

__all__ = ["CUDADispatcher"]
