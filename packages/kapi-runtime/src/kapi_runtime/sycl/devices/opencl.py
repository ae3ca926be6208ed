"""OpenCL itself, for what SYCL does not report: the library that SYCL has loaded, and a device's handle in it.

References
----------
OpenCL 3.0 API specification, sections 4.1 (clGetPlatformIDs), 4.2 (clGetDeviceIDs, clGetDeviceInfo), 5.8.1
(clCreateProgramWithIL), 5.8.2 (clBuildProgram) and 5.8.7 (clGetProgramBuildInfo).
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from kapi_runtime.sycl.devices import drivers

__all__ = ["OpenclDevice", "OpenclError", "opencl_device", "read_text"]

_DEVICE_NAME = 0x102B
_DRIVER_VERSION = 0x102D
_ALL_DEVICES = 0xFFFFFFFF

_Handle = ctypes.c_void_p
_ENTRY_POINTS: dict[str, list[Any]] = {
    "clGetPlatformIDs": [ctypes.c_uint, _Handle, _Handle],
    "clGetDeviceIDs": [_Handle, ctypes.c_uint64, ctypes.c_uint, _Handle, _Handle],
    "clGetDeviceInfo": [_Handle, ctypes.c_uint, ctypes.c_size_t, _Handle, _Handle],
    "clCreateContext": [_Handle, ctypes.c_uint, _Handle, _Handle, _Handle, _Handle],
    "clCreateProgramWithIL": [_Handle, ctypes.c_char_p, ctypes.c_size_t, _Handle],
    "clCreateProgramWithSource": [_Handle, ctypes.c_uint, _Handle, _Handle, _Handle],
    "clBuildProgram": [_Handle, ctypes.c_uint, _Handle, ctypes.c_char_p, _Handle, _Handle],
    "clGetProgramBuildInfo": [_Handle, _Handle, ctypes.c_uint, ctypes.c_size_t, _Handle, _Handle],
    "clReleaseProgram": [_Handle],
    "clReleaseContext": [_Handle],
}
_RETURNS_HANDLE = ("clCreateContext", "clCreateProgramWithIL", "clCreateProgramWithSource")


class OpenclError(Exception):
    """The reason why OpenCL cannot be asked, as a sentence without its end."""


@dataclass(frozen=True, slots=True)
class OpenclDevice:
    """A device as OpenCL knows it.

    - `handle`: its ``cl_device_id``.
    """

    library: Any
    handle: int

    def bits(self, query: int) -> int:
        """The answer to a query for a bit-field; 0 where the device does not know the query."""
        value = ctypes.c_uint64()
        status = self.library.clGetDeviceInfo(self.handle, query, 8, ctypes.addressof(value), None)
        return value.value if status == 0 else 0

    def text(self, query: int) -> str:
        """The answer to a query for a text; empty where the device does not know the query."""
        return read_text(self.library.clGetDeviceInfo, self.handle, query)


def opencl_device(device: Any) -> OpenclDevice:
    """The device in OpenCL that a `dpctl.SyclDevice` is.

    Raises `OpenclError` if it is none of OpenCL's, or not found there.
    """
    if device.backend.name != "opencl":
        raise OpenclError(f"OpenCL knows its own devices only, not those of {device.backend.name}")
    path = next(iter(drivers.loaded_libraries("libOpenCL.so")), None)
    if path is None:
        raise OpenclError("the OpenCL library was not found")
    try:
        library = ctypes.CDLL(path)
        for name, arguments in _ENTRY_POINTS.items():
            function = getattr(library, name)
            function.argtypes = arguments
            function.restype = _Handle if name in _RETURNS_HANDLE else ctypes.c_int
    except (OSError, AttributeError) as error:
        raise OpenclError(f"the OpenCL library cannot be used: {error}") from error
    for handle in _devices(library):
        if read_text(library.clGetDeviceInfo, handle, _DEVICE_NAME).strip() != device.name.strip():
            continue
        if read_text(library.clGetDeviceInfo, handle, _DRIVER_VERSION) == device.driver_version:
            return OpenclDevice(library, handle)
    raise OpenclError("the device was not found through OpenCL")


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


def read_text(function: Callable[..., int], *leading: Any) -> str:
    """The text that one of OpenCL's ``clGet...Info`` functions gives; empty if it gives none."""
    size = ctypes.c_size_t()
    if function(*leading, 0, None, ctypes.byref(size)) != 0:
        return ""
    buffer = ctypes.create_string_buffer(size.value + 1)
    function(*leading, size, buffer, None)
    return buffer.value.decode("utf-8", "replace")
