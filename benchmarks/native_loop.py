"""The floor under a bound launch: the same packed kernel, submitted from a native loop, each after the one before.

The loop is LLVM IR, compiled when the benchmark starts.  It is given what a plan of kapi has in memory, and calls
dpctl's C interface; Python takes no part in it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dpctl
import llvmlite.binding as llvm

__all__ = ["native_loop"]

_RAW = 13  # dpctl's number of a packed argument
_CODE = """
define void @loop(ptr %kernel, ptr %queue, ptr %args, ptr %types, ptr %range, i64 %count) {
  %before = alloca ptr
  br label %next
next:
  %i = phi i64 [0, %0], [%i.next, %next]
  %last = phi ptr [null, %0], [%event, %next]
  %i.next = add i64 %i, 1
  store ptr %last, ptr %before
  %is_later = icmp ne ptr %last, null
  %depends = zext i1 %is_later to i64
  %event = call ptr @DPCTLQueue_SubmitRange(ptr %kernel, ptr %queue, ptr %args, ptr %types, i64 1, ptr %range, i64 1, \
ptr %before, i64 %depends)
  call void @DPCTLEvent_Delete(ptr %last)
  %is_more = icmp ult i64 %i.next, %count
  br i1 %is_more, label %next, label %end
end:
  call void @DPCTLEvent_Delete(ptr %event)
  ret void
}
"""


def native_loop(launch: Any) -> Callable[[int], None]:
    """Return a function that submits the kernel of a bound launch over a `Range` of one dimension many times.

    Parameters
    ----------
    launch : kapi_runtime.kernels.bound_launch.BoundLaunch
        What is submitted; its arguments must stay alive.
    """
    library = ctypes.CDLL(str(Path(dpctl.__file__).parent / "libDPCTLSyclInterface.so"))
    code = _CODE
    for name in ("DPCTLQueue_SubmitRange", "DPCTLEvent_Delete"):
        address = ctypes.cast(getattr(library, name), ctypes.c_void_p).value
        code = code.replace(f"@{name}(", f"inttoptr (i64 {address} to ptr)(")
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine(opt=2)
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(code), machine)
    engine.finalize_object()
    loop = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 5, ctypes.c_int64)(engine.get_function_address("loop"))

    prepared = launch._prepared
    content, kernel = prepared.made.arguments[0], prepared.made.kernel.native
    packed = ctypes.create_string_buffer(content, len(content))
    create = library.DPCTLRawKernelArg_Create
    create.restype, create.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_size_t]
    args = (ctypes.c_void_p * 1)(create(packed, len(content)))
    types = (ctypes.c_int * 1)(_RAW)
    extents = (ctypes.c_size_t * 3)(*prepared.global_range)

    def run(count: int) -> None:
        loop(
            kernel.addressof_ref(),
            prepared.queue.addressof_ref(),
            ctypes.addressof(args),
            ctypes.addressof(types),
            ctypes.addressof(extents),
            count,
        )

    run.kept = (engine, packed, launch)  # type: ignore[attr-defined]
    return run
