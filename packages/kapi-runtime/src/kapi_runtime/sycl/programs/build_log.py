"""The OpenCL driver's build log of a SPIR-V module, or OpenCL C source, that it refuses.

dpctl tells that a build failed, but not why.  So the module is built once more, through the OpenCL library
that SYCL itself has loaded, in a context of its own, only to read the log.
"""

from __future__ import annotations

import ctypes
from typing import Any

from kapi_runtime.sycl.devices.opencl import OpenclDevice, OpenclError, opencl_device, read_text

__all__ = ["build_log"]

_BUILD_LOG = 0x1183


def build_log(code: bytes | str, device: Any, options: str = "") -> str:
    """Return the driver's log of building `code`, or a sentence that says why there is none.

    - `code`: a SPIR-V module, or OpenCL C source.
    - `device`: the device that refused it.
    """
    try:
        log = _build(opencl_device(device), code, options)
    except OpenclError as error:
        return f"(the driver's log could not be read: {error})"
    return log.strip() or "(the driver's log is empty)"


def _build(device: OpenclDevice, code: bytes | str, options: str) -> str:
    library = device.library
    devices = (ctypes.c_void_p * 1)(device.handle)
    status = ctypes.c_int()
    context = library.clCreateContext(None, 1, devices, None, None, ctypes.byref(status))
    if not context:
        return f"(no OpenCL context for the driver's log, error {status.value})"
    try:
        program = _program(library, context, code, ctypes.byref(status))
        if not program:
            return f"(the driver does not read the module at all, error {status.value})"
        try:
            library.clBuildProgram(program, 1, devices, options.encode(), None, None)
            return read_text(library.clGetProgramBuildInfo, program, device.handle, _BUILD_LOG)
        finally:
            library.clReleaseProgram(program)
    finally:
        library.clReleaseContext(context)


def _program(library: Any, context: Any, code: bytes | str, status: Any) -> Any:
    if isinstance(code, bytes):
        return library.clCreateProgramWithIL(context, code, len(code), status)
    source = (ctypes.c_char_p * 1)(code.encode())
    return library.clCreateProgramWithSource(context, 1, source, None, status)
