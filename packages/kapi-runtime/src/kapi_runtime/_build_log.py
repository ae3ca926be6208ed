"""What the OpenCL driver says of a SPIR-V module that it refuses.

dpctl tells that a build failed, but not why.  So the module is built once more, through the OpenCL library
that SYCL itself has loaded, in a context of its own, only to read the log.

References
----------
OpenCL 3.0 API specification, sections 5.8.1 (clCreateProgramWithIL), 5.8.2 and 5.8.7 (clGetProgramBuildInfo).
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from typing import Any

from kapi_runtime import _drivers

__all__ = ["build_log"]

_DEVICE_NAME = 0x102B
_DRIVER_VERSION = 0x102D
_ALL_DEVICES = 0xFFFFFFFF
_BUILD_LOG = 0x1183

_Handle = ctypes.c_void_p
_ENTRY_POINTS: dict[str, list[Any]] = {
    "clGetPlatformIDs": [ctypes.c_uint, _Handle, _Handle],
    "clGetDeviceIDs": [_Handle, ctypes.c_uint64, ctypes.c_uint, _Handle, _Handle],
    "clGetDeviceInfo": [_Handle, ctypes.c_uint, ctypes.c_size_t, _Handle, _Handle],
    "clCreateContext": [_Handle, ctypes.c_uint, _Handle, _Handle, _Handle, _Handle],
    "clCreateProgramWithIL": [_Handle, ctypes.c_char_p, ctypes.c_size_t, _Handle],
    "clBuildProgram": [_Handle, ctypes.c_uint, _Handle, ctypes.c_char_p, _Handle, _Handle],
    "clGetProgramBuildInfo": [_Handle, _Handle, ctypes.c_uint, ctypes.c_size_t, _Handle, _Handle],
    "clReleaseProgram": [_Handle],
    "clReleaseContext": [_Handle],
}
_RETURNS_HANDLE = ("clCreateContext", "clCreateProgramWithIL")


def build_log(code: bytes, device: Any) -> str:
    """Return the driver's log of building `code`, or a sentence that says why there is none.

    Parameters
    ----------
    code : bytes
        A SPIR-V module.
    device : dpctl.SyclDevice
        The device that refused it.
    """
    if device.backend.name != "opencl":
        return f"(the driver's log can be read from OpenCL devices only, not from {device.backend.name})"
    library = next(iter(_drivers.loaded_libraries("libOpenCL.so")), None)
    if library is None:
        return "(the OpenCL library was not found, so the driver's log could not be read)"
    try:
        log = _read(ctypes.CDLL(library), code, device)
    except (OSError, AttributeError) as error:
        return f"(the driver's log could not be read: {error})"
    return log.strip() or "(the driver's log is empty)"


def _read(library: Any, code: bytes, device: Any) -> str:
    for name, arguments in _ENTRY_POINTS.items():
        function = getattr(library, name)
        function.argtypes = arguments
        function.restype = _Handle if name in _RETURNS_HANDLE else ctypes.c_int
    for handle in _devices(library):
        if _text(library.clGetDeviceInfo, handle, _DEVICE_NAME).strip() != device.name.strip():
            continue
        if _text(library.clGetDeviceInfo, handle, _DRIVER_VERSION) == device.driver_version:
            return _build(library, code, handle)
    return "(the device was not found through OpenCL, so the driver's log could not be read)"


def _devices(library: Any) -> Iterator[int]:
    for platform in _handles(library.clGetPlatformIDs):
        yield from _handles(library.clGetDeviceIDs, platform, _ALL_DEVICES)


def _handles(function: Callable[..., int], *leading: Any) -> list[int]:
    count = ctypes.c_uint()
    if function(*leading, 0, None, ctypes.byref(count)) != 0 or not count.value:
        return []
    handles = (_Handle * count.value)()
    function(*leading, count, handles, None)
    return [handle for handle in handles if handle]


def _text(function: Callable[..., int], *leading: Any) -> str:
    size = ctypes.c_size_t()
    if function(*leading, 0, None, ctypes.byref(size)) != 0:
        return ""
    buffer = ctypes.create_string_buffer(size.value + 1)
    function(*leading, size, buffer, None)
    return buffer.value.decode("utf-8", "replace")


def _build(library: Any, code: bytes, handle: int) -> str:
    devices = (_Handle * 1)(handle)
    status = ctypes.c_int()
    context = library.clCreateContext(None, 1, devices, None, None, ctypes.byref(status))
    if not context:
        return f"(no OpenCL context for the driver's log, error {status.value})"
    try:
        program = library.clCreateProgramWithIL(context, code, len(code), ctypes.byref(status))
        if not program:
            return f"(the driver does not read the module at all, error {status.value})"
        try:
            library.clBuildProgram(program, 1, devices, None, None, None)
            return _text(library.clGetProgramBuildInfo, program, handle, _BUILD_LOG)
        finally:
            library.clReleaseProgram(program)
    finally:
        library.clReleaseContext(context)
