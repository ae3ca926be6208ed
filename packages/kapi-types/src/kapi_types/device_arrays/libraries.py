"""Libraries of device arrays without the USM protocol: how their arrays are read, viewed and copied to the host.

A library is known by the name of its arrays' class, so none is imported here; nor is Numba.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kapi_sim.errors import DtypeError
from kapi_sim.language.array_memory import ArrayFields, c_strides

__all__ = [
    "LIBRARIES",
    "LibraryArrays",
    "cupy_fields",
    "library_fields",
    "library_named",
    "library_of_class",
    "strides_in_elements",
    "torch_fields",
]


@dataclass(frozen=True, slots=True)
class LibraryArrays:
    """The arrays of one library.

    - `name`: the library's name, as `DeviceArrayType.library` has it.
    - `fields`: reads an array, without waiting for the work that fills it; None if it is in memory of the host.  The
      owner is the number of the device, or None where the library does not name it.
    - `view`: makes an array of another's memory, from the owner, dtype, address, shape, and strides in elements.
    - `host_copy`: the call that copies an array to the host, for messages.
    - `key`: what decides the type of an array, where that is read faster than its fields; None for an array that has to
      be read.
    """

    name: str
    fields: Callable[[Any], ArrayFields | None]
    view: Callable[[Any, np.dtype[Any], int, tuple[int, ...], tuple[int, ...]], Any]
    host_copy: str
    key: Callable[[Any], Hashable] | None = None


def library_of_class(cls: type) -> LibraryArrays | None:
    """The library that a class of arrays is of; None for any other class, and for one that derives from it."""
    return LIBRARIES.get((cls.__module__.partition(".")[0], cls.__name__))


def library_named(name: str) -> LibraryArrays | None:
    """The library that `DeviceArrayType.library` names; None for "usm"."""
    return next((each for each in LIBRARIES.values() if each.name == name), None)


def library_fields(value: Any) -> ArrayFields | None:
    """Read an array of one of these libraries; None for any other value, and for an array in memory of the host."""
    library = library_of_class(type(value))
    return None if library is None else library.fields(value)


def strides_in_elements(strides: tuple[int, ...], dtype: np.dtype[Any]) -> tuple[int, ...]:
    """Convert strides from bytes to elements.

    Raises `DtypeError` if one of them is no multiple of the elements' size.
    """
    size = dtype.itemsize
    if any(stride % size for stride in strides):
        raise DtypeError(
            f"steps from element to element must be whole elements, got {strides} bytes for {dtype}: pass a copy",
            code="array-misaligned",
        )
    return tuple(stride // size for stride in strides)


def cupy_fields(value: Any) -> ArrayFields:
    """Read an array of CuPy."""
    dtype = np.dtype(value.dtype)
    strides = strides_in_elements(value.strides, dtype)
    return ArrayFields(value.data.ptr, value.shape, strides, dtype, readonly=False, owner=value.data.device_id)


def _cupy_view(owner: Any, dtype: np.dtype[Any], address: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> Any:
    start = owner.data + (address - owner.data.ptr)
    return type(owner)(shape, dtype, start, tuple(stride * dtype.itemsize for stride in strides))


def _cupy_key(value: Any) -> Hashable:
    flags = value.flags
    if flags.c_contiguous:
        return value.dtype, value.ndim, "C"
    # the strides may be no multiple of the item size
    return (value.dtype, value.ndim, "F") if flags.f_contiguous else None


def torch_fields(value: Any) -> ArrayFields:
    """Read a tensor of PyTorch on a CUDA device.

    Raises `DtypeError` if its values are not those in memory, it requires a gradient, or NumPy does not have its
    elements.
    """
    if value.requires_grad:
        raise DtypeError(
            "a tensor must be without requires_grad, since kernels record nothing for its gradient, got one with it: "
            "pass `tensor.detach()`",
            code="tensor-form",
        )
    if str(value.layout) != "torch.strided":
        raise DtypeError(
            f"a tensor must be dense, got one of {value.layout}: pass `tensor.to_dense()`", code="tensor-form"
        )
    if value.is_conj() or value.is_neg():
        raise DtypeError(
            "a tensor must hold its values, got one that is conjugated or negated when it is read: pass "
            "`tensor.resolve_conj().resolve_neg()`",
            code="tensor-form",
        )
    name = str(value.dtype).removeprefix("torch.")
    if name not in _TORCH_DTYPES:
        raise DtypeError(
            f"elements of a tensor must be of one of {', '.join(_TORCH_DTYPES)}, got {name}: convert by "
            "`tensor.to(dtype)`",
            code="argument-dtype",
        )
    return ArrayFields(
        pointer=value.data_ptr(),
        shape=tuple(value.shape),
        strides=tuple(value.stride()),
        dtype=np.dtype(name),
        readonly=False,
        owner=value.get_device(),
    )


_TORCH_DTYPES = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128"),
)


def _fields_of_cuda_tensor(value: Any) -> ArrayFields | None:
    return torch_fields(value) if value.is_cuda else None


def _torch_view(
    owner: Any, dtype: np.dtype[Any], address: int, shape: tuple[int, ...], strides: tuple[int, ...]
) -> Any:
    fields = torch_fields(owner)
    if dtype != fields.dtype or min(strides, default=0) < 0:
        raise TypeError(
            "returned part of a tensor must have its dtype and no negative strides, which PyTorch lacks, got "
            f"{dtype} for {fields.dtype} and {strides}; return the tensor"
        )
    start = owner.storage_offset() + (address - fields.pointer) // dtype.itemsize
    return owner.as_strided(shape, strides, start)


def _jax_fields(value: Any) -> ArrayFields | None:
    interface = getattr(value, "__cuda_array_interface__", None)  # raises AttributeError for an array on the host
    if interface is None:
        return None
    dtype, shape, strides = np.dtype(interface["typestr"]), tuple(interface["shape"]), interface.get("strides")
    return ArrayFields(
        pointer=interface["data"][0],
        shape=shape,
        strides=c_strides(shape) if strides is None else strides_in_elements(strides, dtype),
        dtype=dtype,
        readonly=True,  # JAX takes its arrays for constant, and gives one buffer to several of them.
        owner=None,
    )


def _jax_view(owner: Any, dtype: np.dtype[Any], address: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> Any:
    raise TypeError(
        f"returned array of JAX must be one that was passed in, since JAX makes no views, got a part of {shape}; "
        "index it outside of the function"
    )


LIBRARIES = {
    ("cupy", "ndarray"): LibraryArrays("cupy", cupy_fields, _cupy_view, "cupy.asnumpy(array)", _cupy_key),
    ("torch", "Tensor"): LibraryArrays("torch", _fields_of_cuda_tensor, _torch_view, "array.cpu()"),
    ("jaxlib", "ArrayImpl"): LibraryArrays("jax", _jax_fields, _jax_view, "numpy.asarray(array)"),
}
"""By the package and the name of their class; `_kapi_types_hooks` has the same names."""
