"""numba.cuda's programs under the simulator: ``from kapi_sim import numba_cuda as cuda``.

Programs stay as they are but for that import.  All checks, traces, schedules and profiles of `kapi_sim` apply, and
reports speak CUDA's words.  What is not here is refused by name, with the reason: `support.REFUSED` is the list.
"""

from __future__ import annotations

from typing import Any

from kapi_sim.numba_cuda import atomic, cg, const, fp16, local, random, shared, types
from kapi_sim.numba_cuda.host.device_arrays import (
    In,
    InOut,
    Out,
    as_cuda_array,
    device_array,
    device_array_like,
    is_cuda_array,
    managed_array,
    mapped,
    mapped_array,
    mapped_array_like,
    pinned,
    pinned_array,
    pinned_array_like,
    to_device,
)
from kapi_sim.numba_cuda.host.devices import (
    close,
    cuda_error,
    current_context,
    defer_cleanup,
    detect,
    get_current_device,
    get_supported_ccs,
    gpus,
    is_available,
    is_bfloat16_supported,
    is_float16_supported,
    is_supported_version,
    list_devices,
    profile_start,
    profile_stop,
    profiling,
    require_context,
    select_device,
)
from kapi_sim.numba_cuda.host.streams import (
    Event,
    Stream,
    default_stream,
    event,
    event_elapsed_time,
    external_stream,
    legacy_default_stream,
    per_thread_default_stream,
    stream,
    synchronize,
)
from kapi_sim.numba_cuda.launches.decorators import LinkedSource, declare_device, jit
from kapi_sim.numba_cuda.launches.reductions import Reduce, reduce
from kapi_sim.numba_cuda.launches.vectorizers import guvectorize, vectorize
from kapi_sim.numba_cuda.support import refuse_attribute
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
    "Archive",
    "as_cuda_array",
    "atomic",
    "ballot_sync",
    "blockDim",
    "blockIdx",
    "brev",
    "cbrt",
    "cg",
    "close",
    "clz",
    "const",
    "CSource",
    "Cubin",
    "cuda_error",
    "current_context",
    "CUSource",
    "declare_device",
    "default_stream",
    "defer_cleanup",
    "detect",
    "device_array",
    "device_array_like",
    "eq_sync",
    "Event",
    "event",
    "event_elapsed_time",
    "external_stream",
    "Fatbin",
    "ffs",
    "fma",
    "fp16",
    "get_current_device",
    "get_supported_ccs",
    "gpus",
    "grid",
    "gridDim",
    "gridsize",
    "guvectorize",
    "In",
    "InOut",
    "is_available",
    "is_bfloat16_supported",
    "is_cuda_array",
    "is_float16_supported",
    "is_supported_version",
    "jit",
    "lanemask_lt",
    "legacy_default_stream",
    "list_devices",
    "local",
    "LTOIR",
    "managed_array",
    "mapped",
    "mapped_array",
    "mapped_array_like",
    "match_all_sync",
    "match_any_sync",
    "nanosleep",
    "Object",
    "Out",
    "per_thread_default_stream",
    "pinned",
    "pinned_array",
    "pinned_array_like",
    "popc",
    "profile_start",
    "profile_stop",
    "profiling",
    "PTXSource",
    "random",
    "Reduce",
    "reduce",
    "require_context",
    "select_device",
    "selp",
    "shared",
    "shfl_down_sync",
    "shfl_sync",
    "shfl_up_sync",
    "shfl_xor_sync",
    "Stream",
    "stream",
    "synchronize",
    "syncthreads",
    "syncthreads_and",
    "syncthreads_count",
    "syncthreads_or",
    "syncwarp",
    "threadfence",
    "threadfence_block",
    "threadfence_system",
    "threadIdx",
    "to_device",
    "vectorize",
    "warpsize",
    "types",
    "void",
    *types.TYPES,
    *VECTOR_TYPES,
]

globals().update({**types.TYPES, **VECTOR_TYPES})
_LANE = LaneId()
Archive = CSource = CUSource = Cubin = Fatbin = LTOIR = Object = PTXSource = LinkedSource


def __getattr__(name: str) -> Any:
    if name == "laneid":
        return running(name).lane if is_running() else _LANE
    refuse_attribute(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
