"""Arrays in unified shared memory for programs without dpnp: memory with a shape, views, and copies.

dpnp's arrays compute, and bring Intel's Math Kernel Library.  This one holds data for kernels, and is all that
`kapi_runtime.memory` needs where dpnp is not installed.
"""

from __future__ import annotations

import importlib.util
import math
import operator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import dpctl
import numpy as np
from dpctl.memory import MemoryUSMDevice, MemoryUSMHost, MemoryUSMShared, as_usm_memory

from kapi_runtime.platform.dlpack import ONEAPI, capsule_of, read_capsule
from kapi_runtime.sycl.queues.copying import copy_array
from kapi_runtime.sycl.queues.queue import default_queue, queue_of
from kapi_runtime.sycl.queues.waiting import wait_for
from kapi_sim.errors import DtypeError, ExecutionPlacementError
from kapi_sim.language.usm_fields import ArrayFields, array_fields, c_strides
from kapi_sim.shown import shown

__all__ = [
    "UsmArray",
    "UsmType",
    "coerced_kind",
    "copy_call",
    "has_dpnp",
    "memory_at",
    "memory_of",
    "new_usm_array",
    "shared_array_of",
    "usm_array_of",
]

UsmType = Literal["device", "shared", "host"]

_MEMORY: dict[UsmType, Any] = {"device": MemoryUSMDevice, "shared": MemoryUSMShared, "host": MemoryUSMHost}
_CPU = 1  # kDLCPU of DLPack


@lru_cache(maxsize=1)
def has_dpnp() -> bool:
    """Whether dpnp is installed, whose arrays are then the ones that are made."""
    return importlib.util.find_spec("dpnp") is not None


def copy_call(name: str, queue: str = "") -> str:
    """Return the call that copies `name` to a device, for messages: dpnp's, or kapi's own where there is no dpnp."""
    if has_dpnp():
        return f"dpnp.asarray({name}{f', sycl_queue={queue}' if queue else ''})"
    return f"kapi_runtime.memory.asarray({name}{f', queue={queue}' if queue else ''})"


@dataclass(frozen=True, slots=True)
class _Flags:
    """What is asked of an array before it is copied; ``flags["W"]`` is NumPy's way to write it."""

    c_contiguous: bool
    f_contiguous: bool
    writable: bool

    def __getitem__(self, name: str) -> bool:
        return {"C": self.c_contiguous, "F": self.f_contiguous, "W": self.writable}[name]


@dataclass(frozen=True, slots=True)
class _Shadow:
    """An array's place and strides for NumPy, which makes views of it and reads no element."""

    __array_interface__: dict[str, Any]


@dataclass(frozen=True, slots=True)
class _Bytes:
    """The memory of an array, from its lowest byte, by the protocol of USM arrays; keeps its owner."""

    __sycl_usm_array_interface__: dict[str, Any]
    owner: Any


class UsmArray:
    """An array in unified shared memory; `kapi_runtime.memory` makes it where dpnp is not installed.

    Kernels take it.  It is indexed and sliced with integers, slices, ``...`` and ``None``, and parts of it share its
    memory.  Values are stored by ``array[...] = values`` and read by `asnumpy`, both after the work of its queue.  It
    does not compute: that is what kernels do, and dpnp.

    Attributes
    ----------
    shape, strides : tuple of int
        Elements along each axis, and bytes from one to the next.
    dtype : numpy.dtype
    ndim, size, itemsize, nbytes : int
    usm_type : str
        "device", "shared" or "host".
    sycl_queue, sycl_device, sycl_context
        Where it lives.
    flags
        `c_contiguous`, `f_contiguous` and `writable`.

    Examples
    --------
    >>> import numpy as np
    >>> import kapi_runtime as kapi
    >>> from kapi_runtime.sycl.memory.usm_array import new_usm_array
    >>> array = new_usm_array((2, 3), np.dtype("int32"), "device", kapi.default_queue())
    >>> array[...] = [[1, 2, 3], [4, 5, 6]]
    >>> array[:, 1]
    UsmArray([2, 5], dtype=int32, usm_type='device')
    """

    __slots__ = ("__weakref__", "_fields", "_owner", "usm_type")

    __array_ufunc__ = None  # NumPy's functions and operators leave it alone, and say so

    def __init__(self, fields: ArrayFields, usm_type: UsmType, owner: Any) -> None:
        self._fields = fields
        self.usm_type = usm_type
        self._owner = owner  # the allocation, or what else keeps the memory

    @property
    def shape(self) -> tuple[int, ...]:
        return self._fields.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._fields.dtype

    @property
    def strides(self) -> tuple[int, ...]:
        return tuple(stride * self.itemsize for stride in self._fields.strides)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return self._shadow().size

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        return self.size * self.itemsize

    @property
    def flags(self) -> _Flags:
        flags = self._shadow().flags
        return _Flags(flags.c_contiguous, flags.f_contiguous, not self._fields.readonly)

    @property
    def sycl_queue(self) -> Any:
        return self._fields.owner

    @property
    def sycl_device(self) -> Any:
        return self.sycl_queue.sycl_device

    @property
    def sycl_context(self) -> Any:
        return self.sycl_queue.sycl_context

    @property
    def T(self) -> UsmArray:
        """The axes in reverse order, of the same memory."""
        return self.transpose()

    @property
    def __sycl_usm_array_interface__(self) -> dict[str, Any]:
        fields = self._fields
        return {
            "data": (fields.pointer, fields.readonly),
            "shape": fields.shape,
            "strides": fields.strides,
            "typestr": fields.dtype.str,
            "version": 1,
            "syclobj": fields.owner,
            "offset": 0,
        }

    def transpose(self, *axes: int) -> UsmArray:
        """Return the axes in another order, the reverse if none is given, of the same memory."""
        return self._view(self._shadow().transpose(*axes))

    def reshape(self, *shape: int | tuple[int, ...]) -> UsmArray:
        """Return the elements in another shape; of the same memory if this array is C-contiguous, else a copy."""
        source = self if self.flags.c_contiguous else self.copy()
        return source._view(source._shadow().reshape(*shape))

    def copy(self, order: str = "C") -> UsmArray:
        """Return a C-contiguous copy on the same queue, of the same kind; `order` may be "C" alone."""
        if order != "C":
            raise DtypeError(f'order of a copy must be "C", got {shown(order)}: use dpnp for others', code="copy-order")
        return self.to_device(self.sycl_queue)

    def to_device(self, queue: Any) -> UsmArray:
        """Return a C-contiguous copy on a queue, of the same kind of memory.

        Parameters
        ----------
        queue : dpctl.SyclQueue
            Where to.
        """
        copied = new_usm_array(self.shape, self.dtype, self.usm_type, queue)
        copied[...] = self
        return copied

    def asnumpy(self) -> np.ndarray[Any, Any]:
        """Return a copy in the host's memory, after the work that fills the array."""
        view = self._over(self._bytes_on_host())
        return view if view.flags.c_contiguous else np.ascontiguousarray(view)

    def item(self) -> Any:
        """Return the one element as a number of Python's."""
        return self.asnumpy().item()

    def __getitem__(self, index: Any) -> UsmArray:
        return self._view(self._shadow()[_basic(index)])

    def __setitem__(self, index: Any, values: Any) -> None:
        target = self[index]
        if not target.flags.writable:
            raise DtypeError(
                "array must be writable to be assigned to, got a read-only one: assign to a copy of it",
                code="argument-read-only",
            )
        if hasattr(values, "__sycl_usm_array_interface__"):
            source = values if isinstance(values, UsmArray) else usm_array_of(values)
            are_alike = (source.shape, source.dtype) == (target.shape, target.dtype)
            if are_alike and source.flags.c_contiguous and target.flags.c_contiguous:
                copy_array(target, source, "device to device")
                return
            values = source.asnumpy()
        if target.flags.c_contiguous:
            dense = np.empty(target.shape, target.dtype)
            dense[...] = values
            copy_array(target, dense, "host to device")
            return
        # What lies between the elements is written back as it was.
        raw = target._bytes_on_host()
        target._over(raw)[...] = values
        copy_array(target._span(), raw, "host to device")

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("array must have an axis to have a length, got an array of rank 0")
        return self.shape[0]

    def __bool__(self) -> bool:
        return bool(self.asnumpy())

    def __int__(self) -> int:
        return int(self.item())

    def __float__(self) -> float:
        return float(self.item())

    def __complex__(self) -> complex:
        return complex(self.item())

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise TypeError("array must be copied to the host to be NumPy's, got a UsmArray: call its asnumpy()")

    def __dlpack_device__(self) -> tuple[int, int]:
        return ONEAPI, self._whole_device().get_device_id()

    def __dlpack__(
        self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: Any = None
    ) -> Any:
        """Return a capsule of the memory, or of a copy on the host if that is the device that is asked for."""
        if dl_device is not None and int(dl_device[0]) == _CPU:
            if copy is False:
                raise BufferError("array must be copied to be on the host, got copy=False")
            return self.asnumpy().__dlpack__()
        if dl_device is not None and tuple(map(int, dl_device)) != self.__dlpack_device__():
            raise BufferError(f"array must stay where it is, {self.__dlpack_device__()}, got dl_device={dl_device}")
        if self._fields.readonly:
            raise BufferError("array must be writable to be handed on by DLPack, got a read-only one: hand on a copy")
        if self.sycl_context != default_queue(self._whole_device()).sycl_context:
            raise BufferError(
                "array must be in the default context of its device to be handed on by DLPack, got another context: "
                "hand on a copy that `to_device(kapi_runtime.default_queue())` makes"
            )
        array = self.copy() if copy else self
        wait_for(self.sycl_queue)  # the consumer's queue may be another, and knows nothing of this one's work
        fields = array._fields
        device = self.__dlpack_device__()[1]
        return capsule_of(fields.pointer, fields.shape, fields.strides, fields.dtype, ONEAPI, device, array)

    def __repr__(self) -> str:
        values = np.array2string(self.asnumpy(), separator=", ", prefix="UsmArray(")
        return f"UsmArray({values}, dtype={self.dtype}, usm_type={self.usm_type!r})"

    def _whole_device(self) -> Any:
        """The device of which this array's is a part: DLPack numbers those alone."""
        device = self.sycl_device
        while device.parent_device is not None:
            device = device.parent_device
        return device

    def _shadow(self) -> np.ndarray[Any, Any]:
        """An array for NumPy at the same address: views of it are made, and no element may be touched."""
        fields = self._fields
        interface = {"data": (fields.pointer, False), "shape": fields.shape, "typestr": fields.dtype.str, "version": 3}
        shadow: np.ndarray[Any, Any] = np.asarray(_Shadow({**interface, "strides": self.strides}))
        return shadow

    def _view(self, shadow: np.ndarray[Any, Any]) -> UsmArray:
        strides = tuple(stride // self.itemsize for stride in shadow.strides)
        pointer = shadow.__array_interface__["data"][0]
        fields = self._fields
        part = ArrayFields(pointer, shadow.shape, strides, fields.dtype, fields.readonly, fields.owner)
        return UsmArray(part, self.usm_type, self._owner)

    def _span(self) -> UsmArray:
        """The bytes from the lowest element to the end of the highest."""
        low, high = self._fields.span
        fields = ArrayFields(low, (high - low,), (1,), np.dtype(np.uint8), self._fields.readonly, self.sycl_queue)
        return UsmArray(fields, self.usm_type, self._owner)

    def _bytes_on_host(self) -> np.ndarray[Any, Any]:
        span = self._span()
        raw = np.empty(span.shape, np.uint8)
        copy_array(raw, span, "device to host")
        return raw

    def _over(self, raw: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """The same array over a copy of its bytes."""
        offset = self._fields.pointer - self._fields.span[0]
        if not raw.size:
            return np.empty(self.shape, self.dtype)
        array: np.ndarray[Any, Any] = np.ndarray(self.shape, self.dtype, raw, offset, self.strides)
        return array


def _basic(index: Any) -> tuple[Any, ...]:
    """The index as one that makes a view, also of a single element."""
    parts = index if isinstance(index, tuple) else (index,)
    for part in parts:
        if part is None or part is Ellipsis or isinstance(part, slice):
            continue
        try:
            if isinstance(part, (bool, np.bool_)):
                raise TypeError
            operator.index(part)
        except TypeError:
            raise DtypeError(
                f"index of a UsmArray must be integers, slices, ... and None, got {type(part).__name__}: "
                "index the copy that asnumpy() makes, or install dpnp",
                code="index-type",
            ) from None
    return parts if any(part is Ellipsis for part in parts) else (*parts, Ellipsis)


def new_usm_array(shape: tuple[int, ...], dtype: np.dtype[Any], kind: UsmType, queue: Any) -> UsmArray:
    """Return a new array, whose elements are what happens to be there.

    Parameters
    ----------
    shape : tuple of int
    dtype : numpy.dtype
    kind : {"device", "shared", "host"}
    queue : dpctl.SyclQueue

    Raises
    ------
    dpctl.memory.USMAllocationError
        If there is not so much memory.
    """
    memory = _MEMORY[kind](max(1, math.prod(shape) * dtype.itemsize), queue=queue)
    return UsmArray(ArrayFields(memory._pointer, shape, c_strides(shape), dtype, False, queue), kind, memory)


def usm_array_of(value: Any) -> UsmArray:
    """Return an array of the memory of another library's, which speaks the protocol of USM arrays.

    Raises
    ------
    ExecutionPlacementError
        If it names no queue.
    """
    fields = array_fields(value)
    queue = queue_of(fields.owner)
    if queue is None:
        raise ExecutionPlacementError(
            "array must name its queue as syclobj of its __sycl_usm_array_interface__, got "
            f"{shown(fields.owner)}: make it with a queue",
            code="array-without-queue",
        )
    part = ArrayFields(fields.pointer, fields.shape, fields.strides, fields.dtype, fields.readonly, queue)
    kind = getattr(value, "usm_type", None) or _kind_of(part, value)
    return UsmArray(part, kind, value)


def shared_array_of(value: Any) -> Any:
    """Return an array that shares the memory of `value`, which is on a SYCL device and says so by DLPack alone.

    A dpnp array where dpnp is installed, else a `UsmArray`.

    References
    ----------
    The array API standard, data interchange.
    """
    if has_dpnp():
        import dpnp

        return dpnp.from_dlpack(value)
    told = read_capsule(value)
    queue = default_queue(dpctl.SyclDevice(str(told.device)))
    strides = c_strides(told.shape) if told.strides is None else told.strides
    fields = ArrayFields(told.pointer, told.shape, strides, told.dtype, False, queue)
    return UsmArray(fields, _kind_of(fields, told.owner), told.owner)


def coerced_kind(kinds: list[UsmType]) -> UsmType:
    """Return the kind of memory of a result, by dpnp's rule: device before shared before host."""
    return next(kind for kind in _MEMORY if kind in kinds)


def memory_of(array: UsmArray) -> tuple[Any, int]:
    """Return the `dpctl.memory` object of an array that has elements, and how many lie before its first one there."""
    low, _ = array._fields.span
    return _memory(array._fields, array._owner), (array._fields.pointer - low) // array.itemsize


def memory_at(fields: ArrayFields) -> Any:
    """Return the `dpctl.memory` object of an array that has elements; somebody else keeps its memory."""
    return _memory(fields, None)


def _memory(fields: ArrayFields, owner: Any) -> Any:
    """The bytes from the lowest element to the end of the highest, as dpctl knows memory."""
    low, high = fields.span
    interface = {"data": (low, False), "shape": (max(1, high - low),), "typestr": "|u1", "strides": None}
    return as_usm_memory(_Bytes({**interface, "version": 1, "syclobj": fields.owner}, owner))


def _kind_of(fields: ArrayFields, owner: Any) -> UsmType:
    """The kind of memory, as the driver tells it."""
    kind: UsmType = _memory(fields, owner).get_usm_type()
    return kind
