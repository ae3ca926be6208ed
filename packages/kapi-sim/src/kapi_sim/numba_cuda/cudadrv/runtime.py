"""The runtime library, which the simulator does not have: a use of it is refused."""

from __future__ import annotations

from kapi_sim.numba_cuda.cudadrv.error import CudaRuntimeError
from kapi_sim.numba_cuda.support import Refused

__all__ = ["CudaRuntimeError", "get_version", "runtime"]

_REASON = "the simulator has no driver below it"
runtime = Refused("runtime.runtime", _REASON)
get_version = Refused("runtime.get_version", _REASON)
