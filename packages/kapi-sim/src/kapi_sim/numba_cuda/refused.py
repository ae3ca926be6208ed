"""What of numba.cuda the simulator does not have, by name, each with its reason: one list, which the page prints."""

from __future__ import annotations

from typing import NoReturn

from kapi_sim.errors import KernelCompilationError

__all__ = ["REFUSED", "RefusedWordError", "refuse_attribute"]

_NO_COMPILER = "the simulator runs the function as Python and compiles nothing"
_NO_C = "the simulator runs Python, no CUDA C and no PTX"
_NO_DRIVER = "the simulator has no driver below it"
_NO_PROCESS = "the simulator's memory is that of its own process"

REFUSED: dict[str, str] = {
    "BaseCUDAMemoryManager": _NO_DRIVER,
    "GetIpcHandleMixin": _NO_PROCESS,
    "HostOnlyCUDAMemoryManager": _NO_DRIVER,
    "IpcHandle": _NO_PROCESS,
    "MappedMemory": _NO_DRIVER,
    "ManagedMemory": _NO_DRIVER,
    "MemoryInfo": _NO_DRIVER,
    "MemoryPointer": _NO_DRIVER,
    "PinnedMemory": _NO_DRIVER,
    "compile": _NO_COMPILER,
    "compile_all": _NO_COMPILER,
    "compile_for_current_device": _NO_COMPILER,
    "compile_ptx": _NO_COMPILER,
    "compile_ptx_for_current_device": _NO_COMPILER,
    "declare_device": f"{_NO_C}: write the device function in Python for the check",
    "driver": _NO_DRIVER,
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
    "runtime": _NO_DRIVER,
    "set_memory_manager": _NO_DRIVER,
}
"""By name in ``cuda``, or of a kernel, why the simulator has it not."""


class RefusedWordError(KernelCompilationError, NotImplementedError, AttributeError):
    """A word of numba.cuda's that the simulator does not have."""


def refuse_attribute(name: str) -> None:
    """Raise `RefusedWordError` if `name` is one that the simulator does not have."""
    if name in REFUSED:
        _refuse(name)


def _refuse(name: str) -> NoReturn:
    raise RefusedWordError(
        f"cuda.{name} must not be used in kapi_sim.numba_cuda: {REFUSED[name]}; numba.cuda itself has it on a GPU",
        code="cuda-refused",
    )
