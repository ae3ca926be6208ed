"""numba.cuda's programs under the simulator: ``from kapi_sim import numba_cuda as cuda``.

Programs stay as they are but for that import.  All checks, traces, schedules and profiles of `kapi_sim` apply, and
reports speak CUDA's words.  What is not here is refused by name, with the reason: `support.REFUSED` is the list.
"""

from __future__ import annotations

from typing import Any

from kapi_sim.numba_cuda import (
    api,
    args,
    atomic,
    cache_hints,
    cg,
    compiler,
    const,
    cudadrv,
    decorators,
    dispatcher,
    errors,
    extending,
    fp16,
    kernels,
    libdevice,
    local,
    random,
    shared,
    types,
)
from kapi_sim.numba_cuda.api import *  # noqa: F403  its names are here as well
from kapi_sim.numba_cuda.cache_hints import ldca, ldcg, ldcs, ldcv, ldlu, stcg, stcs, stwb, stwt
from kapi_sim.numba_cuda.cudadrv import devicearray, devices, driver, nvvm, runtime
from kapi_sim.numba_cuda.cudadrv.error import CudaSupportError
from kapi_sim.numba_cuda.errors import KernelRuntimeError
from kapi_sim.numba_cuda.host.allocation import In, InOut, Out
from kapi_sim.numba_cuda.host.devices import (
    MemoryInfo,
    cuda_error,
    get_supported_ccs,
    is_available,
    is_supported_version,
)
from kapi_sim.numba_cuda.host.streams import Event, Stream
from kapi_sim.numba_cuda.launches.decorators import LinkedSource, declare_device, jit
from kapi_sim.numba_cuda.launches.reductions import Reduce, reduce
from kapi_sim.numba_cuda.launches.vectorizers import guvectorize, vectorize
from kapi_sim.numba_cuda.support import REFUSED, refused
from kapi_sim.numba_cuda.threads.geometry import blockDim, blockIdx, grid, gridDim, gridsize, threadIdx, warpsize
from kapi_sim.numba_cuda.threads.running import is_running, running
from kapi_sim.numba_cuda.threads.synchronisation import (
    syncthreads,
    syncthreads_and,
    syncthreads_count,
    syncthreads_or,
    syncwarp,
    threadfence,
    threadfence_block,
    threadfence_system,
)
from kapi_sim.numba_cuda.threads.warps import (
    LaneId,
    activemask,
    all_sync,
    any_sync,
    ballot_sync,
    eq_sync,
    lanemask_lt,
    match_all_sync,
    match_any_sync,
    shfl_down_sync,
    shfl_sync,
    shfl_up_sync,
    shfl_xor_sync,
)
from kapi_sim.numba_cuda.types import void
from kapi_sim.numba_cuda.values.intrinsics import brev, cbrt, clz, ffs, fma, nanosleep, popc, selp
from kapi_sim.numba_cuda.values.vectors import VECTOR_TYPES

__all__ = [
    "activemask",
    "all_sync",
    "any_sync",
    "api",
    "Archive",
    "args",
    "atomic",
    "ballot_sync",
    "blockDim",
    "blockIdx",
    "brev",
    "cache_hints",
    "cbrt",
    "cg",
    "clz",
    "compiler",
    "const",
    "CSource",
    "Cubin",
    "cuda_error",
    "cudadrv",
    "CudaSupportError",
    "CUSource",
    "declare_device",
    "decorators",
    "devicearray",
    "devices",
    "dispatcher",
    "driver",
    "eq_sync",
    "errors",
    "Event",
    "extending",
    "Fatbin",
    "ffs",
    "fma",
    "fp16",
    "get_supported_ccs",
    "grid",
    "gridDim",
    "gridsize",
    "guvectorize",
    "In",
    "InOut",
    "is_available",
    "is_supported_version",
    "jit",
    "KernelRuntimeError",
    "kernels",
    "lanemask_lt",
    "ldca",
    "ldcg",
    "ldcs",
    "ldcv",
    "ldlu",
    "libdevice",
    "local",
    "LTOIR",
    "match_all_sync",
    "match_any_sync",
    "MemoryInfo",
    "nanosleep",
    "nvvm",
    "Object",
    "Out",
    "popc",
    "PTXSource",
    "random",
    "Reduce",
    "reduce",
    "runtime",
    "selp",
    "shared",
    "shfl_down_sync",
    "shfl_sync",
    "shfl_up_sync",
    "shfl_xor_sync",
    "stcg",
    "stcs",
    "Stream",
    "stwb",
    "stwt",
    "syncthreads",
    "syncthreads_and",
    "syncthreads_count",
    "syncthreads_or",
    "syncwarp",
    "threadfence",
    "threadfence_block",
    "threadfence_system",
    "threadIdx",
    "vectorize",
    "warpsize",
    "types",
    "void",
    *api.__all__,
    *types.TYPES,
    *VECTOR_TYPES,
]

globals().update({**types.TYPES, **VECTOR_TYPES})
_LANE = LaneId()
Archive = CSource = CUSource = Cubin = Fatbin = LTOIR = Object = PTXSource = LinkedSource


def __getattr__(name: str) -> Any:
    if name == "laneid":
        return running(name).lane if is_running() else _LANE
    if name not in REFUSED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    made = globals()[name] = refused(name)
    return made
