"""``numba.cuda.compiler``: functions that compile, which are refused when they are called."""

from __future__ import annotations

from kapi_sim.numba_cuda.support import refused

__all__ = [
    "compile",
    "compile_all",
    "compile_for_current_device",
    "compile_ptx",
    "compile_ptx_for_current_device",
]

compile = refused("compile")
compile_all = refused("compile_all")
compile_for_current_device = refused("compile_for_current_device")
compile_ptx = refused("compile_ptx")
compile_ptx_for_current_device = refused("compile_ptx_for_current_device")
