"""The names of numba.cuda that the simulator has and refuses, with reasons: one list, which the page prints."""

from __future__ import annotations

from typing import Any, NoReturn

from kapi_sim.errors import KernelCompilationError

__all__ = ["REFUSED", "WORKS", "Refused", "RefusedWordError", "refuse", "refused"]

_NO_COMPILER = "the simulator runs the function as Python and compiles nothing"
_NO_C = "the simulator runs Python, no CUDA C and no PTX"
_NO_DRIVER = "the simulator has no driver below it"
_NO_PROCESS = "the simulator's memory is that of its own process"

WORKS: dict[str, tuple[str, str]] = {
    "kernels and device functions": (
        "jit",
        "signatures convert numbers, and arrays must be as declared; `fastmath`, `cache`, `inline`, `lineinfo` and the "
        "like are accepted; "
        "`kernel[blocks, threads, stream, shared]`, `forall`, `specialize`, `overloads`, `extensions`; globals are "
        "those of the first launch; functions may call themselves",
    ),
    "who runs": ("threadIdx blockIdx blockDim gridDim grid gridsize laneid warpsize", "a warp has 32 threads"),
    "memory in kernels": (
        "shared local const",
        "`shared.array`, of shape 0 what the launch asked for; `local.array`; `const.array_like`; 48 KB of shared "
        "memory, or what the profile has",
    ),
    "barriers": (
        "syncthreads syncthreads_count syncthreads_and syncthreads_or syncwarp cg",
        "threads that returned ahead of a barrier take no part in it, others must all come; `cg.this_grid().sync()`",
    ),
    "fences": ("threadfence threadfence_block threadfence_system", "sequentially consistent, for their scopes"),
    "warps": (
        "shfl_sync shfl_up_sync shfl_down_sync shfl_xor_sync all_sync any_sync eq_sync ballot_sync match_any_sync "
        "match_all_sync activemask lanemask_lt",
        "all threads that a mask names must come to one call; what a thread gets from one that takes no part is not "
        "defined, and using it is an error",
    ),
    "atomics": (
        "atomic",
        "`add`, `sub`, `and_`, `or_`, `xor`, `inc`, `dec`, `exch`, `max`, `min`, `nanmax`, `nanmin`, `cas`, "
        "`compare_and_swap`; relaxed, and for the whole device",
    ),
    "instructions": ("popc clz brev ffs fma cbrt selp nanosleep fp16", "of integers of 32 and of 64 bits"),
    "types": (
        "types void int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128 "
        "boolean",
        "NumPy's and Numba's own do as well; vectors such as `float32x4`, also called `float4`; records",
    ),
    "random numbers": ("random", "`xoroshiro128p`: the numbers are Numba's"),
    "arrays": (
        "to_device device_array device_array_like pinned pinned_array pinned_array_like mapped mapped_array "
        "mapped_array_like managed_array as_cuda_array is_cuda_array In Out InOut",
        "NumPy's arrays as arguments, too; of a `device_array` nothing may be read that was not written",
    ),
    "streams and events": (
        "stream Stream default_stream legacy_default_stream per_thread_default_stream external_stream synchronize "
        "event Event event_elapsed_time",
        "a launch is done when it returns; times are the simulator's",
    ),
    "functions of arrays": (
        "reduce Reduce vectorize guvectorize",
        "each call of a function by `guvectorize` is a checked launch of one thread",
    ),
    "devices": (
        "gpus list_devices get_current_device select_device current_context require_context close is_available "
        "is_supported_version is_float16_supported is_bfloat16_supported get_supported_ccs cuda_error detect "
        "defer_cleanup profile_start profile_stop profiling",
        "one device, which is the simulator",
    ),
    "cache hints": ("ldca ldcg ldcs ldcv ldlu stcg stcs stwb stwt cache_hints", "loads and stores like others"),
    "modules and classes": (
        "api args compiler cudadrv decorators devicearray devices dispatcher driver errors extending kernels libdevice "
        "nvvm runtime CudaSupportError KernelRuntimeError MemoryInfo",
        "for programs that import from them, as `cudadrv.devicearray.DeviceNDArray`; what asks a driver or a compiler "
        "for something is refused when it is called",
    ),
    "linked code": (
        "declare_device CUSource CSource PTXSource LTOIR Cubin Fatbin Archive Object",
        "may stand in a program; a kernel that calls such a function is refused",
    ),
}
"""By subject, the names in ``cuda`` that work, and what to know."""

REFUSED: dict[str, str] = {
    "BaseCUDAMemoryManager": _NO_DRIVER,
    "CPointer": "an address is no memory that can be checked: pass the array",
    "DeviceRecord": "records are passed as NumPy's: to_device makes arrays of them",
    "GetIpcHandleMixin": _NO_PROCESS,
    "HostOnlyCUDAMemoryManager": _NO_DRIVER,
    "IpcArrayHandle": _NO_PROCESS,
    "IpcHandle": _NO_PROCESS,
    "MappedMemory": _NO_DRIVER,
    "ManagedMemory": _NO_DRIVER,
    "MemoryPointer": _NO_DRIVER,
    "PinnedMemory": _NO_DRIVER,
    "compile": _NO_COMPILER,
    "compile_all": _NO_COMPILER,
    "compile_for_current_device": _NO_COMPILER,
    "compile_ptx": _NO_COMPILER,
    "compile_ptx_for_current_device": _NO_COMPILER,
    "declare_device": f"{_NO_C}: write the device function in Python for the check",
    "extending": "overloads and intrinsics are code for the compiler: write a device function",
    "from_cuda_array_interface": "memory of a real device cannot be read here: pass a NumPy array",
    "get_ipc_handle": _NO_PROCESS,
    "get_shared_mem_per_block": _NO_COMPILER,
    "get_local_mem_per_thread": _NO_COMPILER,
    "get_const_mem_size": _NO_COMPILER,
    "get_max_threads_per_block": _NO_COMPILER,
    "get_regs_per_thread": _NO_COMPILER,
    "inspect_asm": _NO_COMPILER,
    "inspect_llvm": _NO_COMPILER,
    "inspect_lto_ptx": _NO_COMPILER,
    "inspect_sass": _NO_COMPILER,
    "inspect_sass_cfg": _NO_COMPILER,
    "inspect_types": _NO_COMPILER,
    "libdevice": f"{_NO_COMPILER}: use the functions of `math`, which are the same",
    "open_ipc_array": _NO_PROCESS,
    "set_memory_manager": _NO_DRIVER,
}
"""By name in ``cuda``, or of a kernel, why the simulator has it not."""


REFUSED_CLASSES = (
    "BaseCUDAMemoryManager",
    "DeviceRecord",
    "GetIpcHandleMixin",
    "HostOnlyCUDAMemoryManager",
    "IpcArrayHandle",
    "IpcHandle",
    "ManagedMemory",
    "MappedMemory",
    "MemoryPointer",
    "PinnedMemory",
)
"""Those of them that programs make subclasses of, or ask `isinstance` for."""


class RefusedWordError(KernelCompilationError, NotImplementedError):
    """A word of numba.cuda's that the simulator does not have."""


class Refused:
    """Stands for a name that the simulator does not have: a program may import it, and not call it."""

    __slots__ = ("_name", "_reason")

    def __init__(self, name: str, reason: str) -> None:
        self._name = name
        self._reason = reason

    def __getattr__(self, name: str) -> Refused:
        if name.startswith("__"):
            raise AttributeError(name)
        return Refused(f"{self._name}.{name}", self._reason)

    def __call__(self, *args: object, **named: object) -> NoReturn:
        """Refuse the call."""
        refuse(self._name, self._reason)

    def __getitem__(self, index: object) -> NoReturn:
        refuse(self._name, self._reason)

    def __repr__(self) -> str:
        return f"<cuda.{self._name}, which the simulator does not have>"


def refused(name: str) -> Any:
    """Return what stands for a name of `REFUSED`: a class where numba.cuda has one."""
    reason = REFUSED[name]
    if name not in REFUSED_CLASSES:
        return Refused(name, reason)

    def __init__(self: object, *args: object, **named: object) -> None:
        refuse(name, reason)

    return type(name, (), {"__init__": __init__, "__doc__": f"cuda.{name}, which the simulator does not have."})


def refuse(name: str, reason: str = "") -> NoReturn:
    """Raise `RefusedWordError` for a use of a name that the simulator does not have."""
    raise RefusedWordError(
        f"cuda.{name} must not be used in kapi_sim.numba_cuda: {reason or REFUSED[name]}; numba.cuda itself has it on "
        "a GPU",
        code="cuda-refused",
    )
