"""Object code into this process, and calls of it."""

from __future__ import annotations

import ctypes
import ctypes.util
import itertools
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

import llvmlite.binding as llvm

from kapi_cpu.emission import RELOCATION, is_kept_together
from kapi_cpu.emission.object_code import ObjectCode
from kapi_cpu.module import CpuModule
from kapi_cpu.target import host_target, unmet_needs
from kapi_sim.errors import DriverError

__all__ = ["LoadedKernel", "load"]

_numbers = itertools.count()


@cache
def _linker() -> Any:
    """The one linker of the process, which knows what compiled code calls."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    if sys.platform != "win32":  # where C's functions of mathematics are those of a library that Python uses itself
        llvm.load_library_permanently(ctypes.util.find_library("m") or "libm.so.6")
    is_together = is_kept_together(host_target().triple)
    return llvm.create_lljit_compiler(
        llvm.Target.from_default_triple().create_target_machine(
            cpu=llvm.get_host_cpu_name(),
            features=llvm.get_host_cpu_features().flatten(),
            jit=True,
            **RELOCATION[is_together],
        ),
        use_jit_link=is_together,
        suppress_errors=False,
    )


class LoadedKernel:
    """A kernel in the memory of this process.

    - `module`: what was loaded.
    - `address`: that of the entry point.
    - `lanes`, `context_bytes`: the module's.
    - `call`: the entry point, which takes the addresses of the packed arguments and of a launch's record, and lets
      other Python threads run.
    """

    def __init__(self, module: CpuModule) -> None:
        code = ObjectCode.of(module.code)
        self.module, self.lanes, self.context_bytes = module, code.lanes, code.context_bytes
        builder = llvm.JITLibraryBuilder().add_current_process().add_object_img(code.image)
        self._library = builder.export_symbol(module.entry_point).link(_linker(), f"kapi.{next(_numbers)}")
        self.address: int = self._library[module.entry_point]
        kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
        self.call: Callable[[int, int], None] = kind(self.address)


def load(module: CpuModule) -> LoadedKernel:
    """Load a module.

    Raises `DriverError` if it was compiled for another processor, which has what this one lacks.
    """
    here = host_target()
    if got := unmet_needs(module.target, here):
        raise DriverError(
            f"kernel `{module.name}` must be compiled for a processor like {here.cpu}, got {got}: compile it here",
            code="build-refused",
        )
    return LoadedKernel(module)
