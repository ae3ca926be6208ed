"""``numba.cuda.compiler``: functions that compile, which are refused when they are called."""

from __future__ import annotations

from kapi_sim.numba_cuda.support import refused

__all__ = ["compile", "compile_all", "compile_for_current_device", "compile_ptx", "compile_ptx_for_current_device"]

compile, compile_all, compile_for_current_device, compile_ptx, compile_ptx_for_current_device = map(refused, __all__)
