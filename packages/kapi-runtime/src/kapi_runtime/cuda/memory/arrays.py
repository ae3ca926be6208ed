"""Arrays of other libraries on CUDA devices: where each is, and on which stream its library works with it.

Known libraries are asked by their own attributes, which is cheaper than the protocol and tells the device.  All others
are read by ``__cuda_array_interface__``, and what lacks that by DLPack.

References
----------
The CUDA array interface, versions 2 and 3, as Numba documents it; the array API standard, data interchange.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from kapi_runtime.cuda.devices import driver
from kapi_runtime.cuda.queues.streams import CudaStream, current_stream, stream_of
from kapi_runtime.platform.dlpack import CUDA, CUDA_HOST, CUDA_MANAGED, read_capsule
from kapi_runtime.platform.numba_cuda_arrays import HostReadableArray
from kapi_runtime.platform.placement_errors import placement_error
from kapi_sim.errors import DtypeError
from kapi_sim.language.array_memory import ArrayFields, c_strides
from kapi_sim.language.intrinsics.records import alignment_of, dtype_of_interface
from kapi_types.device_arrays.libraries import cupy_fields, strides_in_elements, torch_fields

__all__ = ["Owner", "cuda_fields", "library_of", "ordinal_of_pointer"]


@dataclass(frozen=True, slots=True, eq=False)
class Owner:
    """Device and library of an array, which decide the queue of a launch.

    - `ordinal`: its device; None for an array without elements whose library does not report it.
    - `library`: whose it is, for messages and for the current stream: the name of the module that its class comes from.
    - `given`: the stream that the array itself names, which is then the one that it is ready on.
    - `keep`: what keeps its memory besides the array itself.
    - `is_explicit`: whether the array belongs to this stream as to a queue, so that launches go there.
    """

    ordinal: int | None
    library: str
    given: CudaStream | None = None
    keep: Any = None
    is_explicit: bool = False

    def stream(self, ordinal: int) -> CudaStream:
        """Return the stream on which the library's work with the array is ordered at present."""
        return current_stream(self.library, ordinal) if self.given is None else self.given


def library_of(value: Any) -> str:
    """Return the name of the module that an array's class comes from, without what is after the first dot."""
    name = type(value).__module__.partition(".")[0]
    return "jax" if name == "jaxlib" else name


def cuda_fields(value: Any) -> ArrayFields | None:
    """Read an array: address, shape, strides in elements, dtype, and its `Owner`; None if it is no array of CUDA's.

    - `value`: an array of CuPy, PyTorch, JAX or numba-cuda, or another one with ``__cuda_array_interface__`` or DLPack.

    Raises `ExecutionPlacementError` if a tensor of PyTorch is on the host; `DtypeError` if it has a mask, elements that
    NumPy does not have, strides or an address that are no multiple of the item size, or is a tensor of PyTorch whose
    values are not those in memory.
    """
    if isinstance(value, HostReadableArray):
        value = value.device_array
    reader = _READERS.get(library_of(value))
    fields = reader(value) if reader is not None else None
    if fields is None:
        fields = _by_interface(value)
    if fields is None:
        return None
    dtype = fields.dtype
    if fields.pointer % (dtype.itemsize if dtype.names is None else alignment_of(dtype)):
        raise DtypeError(
            f"an array must begin at a multiple of its elements' size, got {dtype} at {fields.pointer:#x}: pass a copy",
            code="array-misaligned",
        )
    return fields


def ordinal_of_pointer(pointer: int) -> int | None:
    """Return the device whose memory an address is in, or None if the driver does not know the address."""
    which = driver.bindings().CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
    address = driver.address_of("cuPointerGetAttribute")
    if not address:
        code, value = driver.result("cuPointerGetAttribute", which, pointer)
        return None if code else int(value)
    # cuda.bindings 13.3 answers 0 for memory of every device.
    ordinal = ctypes.c_int()
    code = _POINTER_GET_ATTRIBUTE(address)(ctypes.addressof(ordinal), which, pointer)
    return None if code else ordinal.value


_POINTER_GET_ATTRIBUTE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_uint64)


def _of_cupy(value: Any) -> ArrayFields | None:
    if not hasattr(getattr(value, "data", None), "ptr") or not hasattr(value, "strides"):
        return None
    fields = cupy_fields(value)
    return replace(fields, owner=Owner(fields.owner, "cupy"))


def _of_torch(value: Any) -> ArrayFields | None:
    if not hasattr(value, "data_ptr"):
        return None
    if not value.is_cuda:
        raise placement_error(
            f"a tensor of PyTorch must be on a CUDA device for a launch there, got one on {value.device}: "
            "`tensor.cuda()` copies it",
            "array-on-host",
        )
    fields = torch_fields(value)
    return replace(fields, owner=Owner(fields.owner, "torch"))


def _of_jax(value: Any) -> ArrayFields | None:
    # Its interface names no stream: the array is ready when the host has waited for it.
    if hasattr(value, "block_until_ready"):
        value.block_until_ready()
    fields = _by_interface(value)
    if fields is None:
        return None
    # JAX takes its arrays for constant, and gives one buffer to several of them.
    return ArrayFields(fields.pointer, fields.shape, fields.strides, fields.dtype, True, fields.owner)


_READERS: dict[str, Callable[[Any], ArrayFields | None]] = {"cupy": _of_cupy, "torch": _of_torch, "jax": _of_jax}


def _by_interface(value: Any) -> ArrayFields | None:
    interface = getattr(value, "__cuda_array_interface__", None)
    if interface is None:
        return _by_dlpack(value)
    if interface.get("mask") is not None:
        raise DtypeError(
            f"an array must be without a mask, which kernels ignore, got a {type(value).__name__} with one: "
            "fill it first",
            code="argument-array-class",
        )
    dtype = dtype_of_interface(value, interface)
    shape = tuple(map(int, interface["shape"]))
    strides = interface.get("strides")
    pointer, readonly = interface["data"]
    pointer = int(pointer or 0)
    stream = interface.get("stream")
    if stream == 0:
        raise DtypeError(
            f"stream of the __cuda_array_interface__ of a {type(value).__name__} must be None or the handle of a "
            "stream, got 0, which the protocol forbids",
            code="cuda-array-interface",
        )
    return ArrayFields(
        pointer=pointer,
        shape=shape,
        strides=c_strides(shape) if strides is None else strides_in_elements(tuple(map(int, strides)), dtype),
        dtype=dtype,
        readonly=bool(readonly),
        owner=Owner(
            ordinal=_ordinal(value, pointer, shape),
            library=library_of(value),
            given=None if stream is None else stream_of(stream),
            keep=value,
            is_explicit=bool(getattr(value, "_kapi_is_on_queue", False)),
        ),
    )


def _ordinal(value: Any, pointer: int, shape: tuple[int, ...]) -> int | None:
    if library_of(value) == "kapi_runtime":
        return int(value.device.ordinal)  # which needs no driver, and arrays without elements have one, too
    if not pointer:
        if 0 not in shape:
            raise DtypeError(
                f"an array with elements must have an address, got 0 from a {type(value).__name__}",
                code="cuda-array-interface",
            )
        return None
    ordinal = ordinal_of_pointer(pointer)
    if ordinal is None:
        raise placement_error(
            f"a {type(value).__name__} must be in memory that a CUDA device reaches, got {pointer:#x}, which the "
            "driver does not know: copy it to a device",
            "array-on-host",
        )
    return ordinal


def _by_dlpack(value: Any) -> ArrayFields | None:
    device = getattr(value, "__dlpack_device__", None)
    if device is None or int(device()[0]) not in (CUDA, CUDA_HOST, CUDA_MANAGED):
        return None
    ordinal = int(device()[1])
    library = library_of(value)
    stream = current_stream(library, ordinal)
    # The library lets this stream wait for what fills the array.
    read = read_capsule(value, stream.handle)
    return ArrayFields(
        pointer=read.pointer,
        shape=read.shape,
        strides=c_strides(read.shape) if read.strides is None else read.strides,
        dtype=read.dtype,
        readonly=library == "jax",
        owner=Owner(ordinal, library, stream, read.owner),
    )
