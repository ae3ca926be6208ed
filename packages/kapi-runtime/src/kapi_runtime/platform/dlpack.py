"""DLPack: capsules of arrays for other libraries, and theirs read.

The structures are those of DLPack's C header, which every library that exchanges arrays agrees on.  Capsules are of the
first form, which all consumers take; it cannot say that an array is read-only.

References
----------
DLPack's ``dlpack.h``; the array API standard, data interchange.
"""

from __future__ import annotations

import ctypes
import weakref
from dataclasses import dataclass
from typing import Any

import numpy as np

from kapi_sim.errors import DtypeError
from kapi_sim.short_repr import short_repr

__all__ = [
    "CPU",
    "CUDA",
    "CUDA_HOST",
    "CUDA_MANAGED",
    "ONEAPI",
    "DlpackArray",
    "DlpackTensor",
    "capsule_of",
    "device_kind",
    "host_values",
    "known_device_kind",
    "read_capsule",
]

CPU, CUDA, CUDA_HOST, CUDA_MANAGED, ONEAPI = 1, 2, 3, 13, 14
"""DLPack's numbers of kinds of devices."""

_NAME, _USED_NAME = b"dltensor", b"used_dltensor"  # a consumer renames the capsule whose structure it has taken over
_KINDS = {0: "i", 1: "u", 2: "f", 5: "c", 6: "b"}  # DLDataTypeCode, and NumPy's letter
_CODES = {kind: code for code, kind in _KINDS.items()}


class DlpackTensor(ctypes.Structure):
    """DLPack's ``DLTensor``."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("rank", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class _Managed(ctypes.Structure):
    """DLManagedTensor; the deleter is that of whoever made it."""

    _fields_ = (("tensor", DlpackTensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p))


_DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype, _new_capsule.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
# A capsule's destructor has the capsule as a bare address: a reference to what goes would make it go a second time.
_is_named = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_IsValid", ctypes.pythonapi))
_pointer_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
_rename = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_SetName", ctypes.pythonapi))

_exported: dict[int, tuple[Any, ...]] = {}  # by the address of its structure: what a capsule keeps alive


# Called until the interpreter is gone, when this module's names may be: so what they use are their own, and they stay.


def _delete_structure(address: int, exported: dict[int, tuple[Any, ...]] = _exported) -> None:
    exported.pop(address, None)


def _destroy_capsule(
    capsule: int,
    name: bytes = _NAME,
    is_named: Any = _is_named,
    pointer_of: Any = _pointer_of,
    exported: dict[int, tuple[Any, ...]] = _exported,
) -> None:
    if is_named(capsule, name):  # nobody took it over
        exported.pop(pointer_of(capsule, name), None)


_delete, _destroy = _DELETER(_delete_structure), _DELETER(_destroy_capsule)
for _function in (_delete, _destroy):
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(_function))


@dataclass(frozen=True, slots=True)
class DlpackArray:
    """The description of an array in a capsule.

    - `pointer`: address of element (0, ..., 0), in bytes.
    - `strides`: in elements; None for C order.
    - `device`: number of the device in its kind's list.
    - `owner`: keeps the memory: it is given back when this goes.
    """

    pointer: int
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None
    dtype: np.dtype[Any]
    device: int
    owner: Any


class _Owner:
    """The right to a structure that another library made, and the duty to delete it."""

    __slots__ = ("__weakref__",)


def device_kind(value: Any) -> int | None:
    """Return DLPack's number of the kind of device that an array is on, or None if it does not offer DLPack."""
    device = getattr(value, "__dlpack_device__", None)
    return None if device is None else int(device()[0])


def capsule_of(
    pointer: int, shape: tuple[int, ...], strides: tuple[int, ...], dtype: Any, kind: int, device: int, owner: Any
) -> Any:
    """Return a capsule for an array.

    - `pointer`: address of element (0, ..., 0), in bytes.
    - `shape`, `strides`: strides in elements.
    - `dtype`: type of one element.
    - `kind`: the kind of device, such as `ONEAPI`.
    - `device`: number of the device in its kind's list.
    - `owner`: what is kept until the consumer is done.
    """
    rank = len(shape)
    lengths, steps = (ctypes.c_int64 * rank)(*shape), (ctypes.c_int64 * rank)(*strides)
    tensor = DlpackTensor(
        data=pointer,
        device_type=kind,
        device_id=device,
        rank=rank,
        code=_CODES[dtype.kind],
        bits=8 * dtype.itemsize,
        lanes=1,
        shape=ctypes.cast(lengths, ctypes.POINTER(ctypes.c_int64)),
        strides=ctypes.cast(steps, ctypes.POINTER(ctypes.c_int64)),
    )
    managed = _Managed(tensor, None, ctypes.cast(_delete, ctypes.c_void_p).value)
    address = ctypes.addressof(managed)
    _exported[address] = managed, lengths, steps, owner
    return _new_capsule(address, _NAME, ctypes.cast(_destroy, ctypes.c_void_p).value)


def read_capsule(value: Any, stream: int | None = None) -> DlpackArray:
    """Take over the capsule of an array.

    - `value`: it has ``__dlpack__``.
    - `stream`: the stream on which the memory will be used, on kinds of devices that have streams: its owner lets that
      one wait for what fills the memory.

    Raises `DtypeError` if its elements are of a type that NumPy does not have.
    """
    capsule = value.__dlpack__() if stream is None else value.__dlpack__(stream=stream)
    at = id(capsule)  # the object's address, which CPython's functions take
    address = _pointer_of(at, _NAME) if _is_named(at, _NAME) else None
    if address is None:
        raise DtypeError(
            f"__dlpack__ of {type(value).__name__} must give a capsule named dltensor, got {short_repr(capsule)}",
            code="dlpack-capsule",
        )
    managed = _Managed.from_address(address)
    tensor = managed.tensor
    kind = _KINDS.get(tensor.code)
    if kind is None or tensor.lanes != 1 or tensor.bits % 8:
        raise DtypeError(
            f"elements of an array by DLPack must be of a type that NumPy has, got code {tensor.code} of "
            f"{tensor.bits} bits, {tensor.lanes} lanes",
            code="dlpack-elements",
        )
    _rename(at, _USED_NAME)
    owner = _Owner()
    if managed.deleter:
        weakref.finalize(owner, _DELETER(managed.deleter), address).atexit = False
    return DlpackArray(
        pointer=(tensor.data or 0) + tensor.byte_offset,
        shape=tuple(tensor.shape[: tensor.rank]),
        strides=tuple(tensor.strides[: tensor.rank]) if tensor.strides else None,
        dtype=np.dtype(f"{kind}{tensor.bits // 8}"),
        device=tensor.device_id,
        owner=owner,
    )


def host_values(values: Any) -> Any:
    """Return what NumPy makes an array of: values as they are, or NumPy's array of one that is offered by DLPack.

    Raises `DtypeError` if what its ``__dlpack__`` gives is no capsule, or one that was used before.
    """
    if hasattr(values, "__dlpack__") and not isinstance(values, (np.ndarray, np.generic)):
        try:
            return np.from_dlpack(values)
        except ValueError as error:
            raise DtypeError(
                f"__dlpack__ of {type(values).__name__} must give a capsule named dltensor that was not used before, "
                "got another",
                code="dlpack-capsule",
            ) from error
    return values


def known_device_kind(value: Any) -> int | None:
    """Return the kind of device that an array says by DLPack, or None; some classes have the method and raise in it."""
    if not hasattr(type(value), "__dlpack_device__"):
        return None
    try:
        return device_kind(value)
    except Exception:
        return None
