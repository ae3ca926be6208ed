"""`CudaArray`: an array in the memory of a CUDA device, for programs that have no other library's.

CuPy, PyTorch and numba-cuda take it by ``__cuda_array_interface__``, and all that know DLPack by that.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from types import EllipsisType
from typing import Any

import numpy as np

from kapi_runtime.cuda.devices.device import CudaDevice, device_at
from kapi_runtime.cuda.memory.allocations import CudaMemory, Kind, copy_from_device, copy_to_device, copy_within_device
from kapi_runtime.cuda.memory.arrays import Owner, cuda_fields
from kapi_runtime.cuda.queues.events import recorded_event, wait_on_stream
from kapi_runtime.cuda.queues.queue import CudaQueue
from kapi_runtime.cuda.queues.streams import LEGACY
from kapi_runtime.platform.dlpack import CUDA, CUDA_HOST, CUDA_MANAGED, capsule_of
from kapi_sim.errors import DtypeError
from kapi_sim.language.usm_fields import ArrayFields, c_strides

__all__ = ["CudaArray", "array_of_fields", "new_cuda_array"]

_CPU = 1
_DLPACK_KINDS = {"device": CUDA, "shared": CUDA_MANAGED, "host": CUDA_HOST}


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


class CudaArray:
    """An array in the memory of a CUDA device; `kapi_runtime.memory` makes it.

    Kernels take it, and so do CuPy, PyTorch and numba-cuda, which share its memory: ``cupy.asarray(array)``,
    ``torch.as_tensor(array)``.  It is indexed and sliced with integers, slices, ``...`` and ``None``, and parts of it
    share its memory.  Values are stored by ``array[...] = values`` and read by `asnumpy`, both after the work of its
    queue.  It does not compute: that is what kernels do.

    Attributes
    ----------
    shape, strides : tuple of int
        Elements along each axis, and bytes from one to the next.
    dtype : numpy.dtype
    ndim, size, itemsize, nbytes : int
    usm_type : str
        "device", "shared" for managed memory, or "host" for pinned memory of the host.
    queue : CudaQueue
        The stream that it is worked with on.
    device : CudaDevice
        Where it is.
    flags
        `c_contiguous`, `f_contiguous` and `writable`.
    """

    __slots__ = ("__weakref__", "_fields", "_is_on_queue", "_memory", "queue", "usm_type")

    __array_ufunc__ = None  # NumPy's functions and operators leave it alone, and say so

    def __init__(self, fields: ArrayFields, kind: Kind, memory: Any, queue: CudaQueue, is_on_queue: bool) -> None:
        self._fields, self.usm_type, self._memory = fields, kind, memory
        self.queue, self._is_on_queue = queue, is_on_queue

    @property
    def _kapi_is_on_queue(self) -> bool:
        """Whether launches of it go to its queue, since the program has said so."""
        return self._is_on_queue

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
        return math.prod(self.shape)

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
    def device(self) -> CudaDevice:
        return self.queue.device

    @property
    def T(self) -> CudaArray:
        """The axes in reverse order, of the same memory."""
        return self.transpose()

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        fields = self._fields
        return {
            "data": (fields.pointer if self.size else 0, fields.readonly),
            "shape": fields.shape,
            "strides": None if fields.layout == "C" else self.strides,
            "typestr": fields.dtype.str,
            "version": 3,
            "stream": self.queue.handle,
        }

    def transpose(self, *axes: int) -> CudaArray:
        """Return the axes in another order, the reverse if none is given, of the same memory."""
        return self._view(self._shadow().transpose(*axes))

    def reshape(self, *shape: int | tuple[int, ...]) -> CudaArray:
        """Return the elements in another shape; of the same memory if this array is C-contiguous, else a copy."""
        source = self if self.flags.c_contiguous else self.copy()
        return source._view(source._shadow().reshape(*shape))

    def copy(self) -> CudaArray:
        """Return a C-contiguous copy on the same queue, of the same kind."""
        copied = new_cuda_array(self.shape, self.dtype, self.usm_type, self.queue, self._is_on_queue)
        copied[...] = self
        return copied

    def asnumpy(self) -> np.ndarray[Any, Any]:
        """Return a copy in the host's memory, after the work that fills the array."""
        view = self._over(self._bytes_on_host())
        return view if view.flags.c_contiguous else np.ascontiguousarray(view)

    def item(self) -> Any:
        """Return the one element as a number of Python's."""
        return self.asnumpy().item()

    def __getitem__(self, index: Any) -> CudaArray:
        return self._view(self._shadow()[_basic(index)])

    def __setitem__(self, index: Any, values: Any) -> None:
        target = self[index]
        if not target.flags.writable:
            raise DtypeError(
                "array must be writable to be assigned to, got a read-only one: assign to a copy of it",
                code="copy-to-read-only",
            )
        if hasattr(values, "__cuda_array_interface__"):
            source = values if isinstance(values, CudaArray) else array_of_fields(values)
            are_alike = (source.shape, source.dtype) == (target.shape, target.dtype)
            if are_alike and source.flags.c_contiguous and target.flags.c_contiguous:
                source._let_wait(target.queue)
                copy_within_device(target.queue, target._fields.pointer, source._fields.pointer, target.nbytes)
                return
            values = source.asnumpy()
        if target.flags.c_contiguous:
            dense = np.empty(target.shape, target.dtype)
            dense[...] = values
            copy_to_device(target.queue, target._fields.pointer, dense)
            return
        # What lies between the elements is written back as it was.
        raw = target._bytes_on_host()
        target._over(raw)[...] = values
        copy_to_device(target.queue, target._fields.span[0], raw)

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
        raise TypeError("array must be copied to the host to be NumPy's, got a CudaArray: call its asnumpy()")

    def __dlpack_device__(self) -> tuple[int, int]:
        return _DLPACK_KINDS[self.usm_type], self.device.ordinal

    def __dlpack__(
        self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: Any = None
    ) -> Any:
        """Return a capsule of the memory, which the stream that is given may use, or of a copy on the host."""
        if dl_device is not None and int(dl_device[0]) == _CPU:
            if copy is False:
                raise BufferError("array must be copied to be on the host, got copy=False")
            return self.asnumpy().__dlpack__()
        if dl_device is not None and tuple(map(int, dl_device)) != self.__dlpack_device__():
            raise BufferError(f"array must stay where it is, {self.__dlpack_device__()}, got dl_device={dl_device}")
        if self._fields.readonly:
            raise BufferError("array must be writable to be handed on by DLPack, got a read-only one: hand on a copy")
        if stream == 0:
            raise BufferError("stream of __dlpack__ must be None, -1 or the handle of a stream, got 0")
        array = self.copy() if copy else self
        if stream != -1:  # -1: the consumer sees to the order
            wait_on_stream(self.device, int(stream or LEGACY), recorded_event(self.device, self.queue.handle))
        fields = array._fields
        kind, ordinal = self.__dlpack_device__()
        return capsule_of(fields.pointer, fields.shape, fields.strides, fields.dtype, kind, ordinal, array)

    def __repr__(self) -> str:
        values = np.array2string(self.asnumpy(), separator=", ", prefix="CudaArray(")
        return f"CudaArray({values}, dtype={self.dtype}, usm_type={self.usm_type!r})"

    def _let_wait(self, queue: CudaQueue) -> None:
        """Let another queue wait for the work that fills the array."""
        if queue != self.queue:
            wait_on_stream(queue.device, queue.handle, recorded_event(self.device, self.queue.handle))

    def _shadow(self) -> np.ndarray[Any, Any]:
        """An array for NumPy at the same address: views of it are made, and no element may be touched."""
        fields = self._fields
        interface = {"data": (fields.pointer, False), "shape": fields.shape, "typestr": fields.dtype.str, "version": 3}
        shadow: np.ndarray[Any, Any] = np.asarray(_Shadow({**interface, "strides": self.strides}))
        return shadow

    def _view(self, shadow: np.ndarray[Any, Any]) -> CudaArray:
        strides = tuple(stride // self.itemsize for stride in shadow.strides)
        pointer = shadow.__array_interface__["data"][0]
        fields = self._fields
        part = ArrayFields(pointer, shadow.shape, strides, fields.dtype, fields.readonly, fields.owner)
        return CudaArray(part, self.usm_type, self._memory, self.queue, self._is_on_queue)

    def _bytes_on_host(self) -> np.ndarray[Any, Any]:
        """The bytes from the lowest element to the end of the highest."""
        low, high = self._fields.span
        raw = np.empty(high - low, np.uint8)
        copy_from_device(self.queue, raw, low)
        return raw

    def _over(self, raw: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """The array's elements in bytes of its span on the host."""
        start = self._fields.pointer - self._fields.span[0]
        return np.ndarray(self.shape, self.dtype, raw, start, self.strides)


def new_cuda_array(
    shape: tuple[int, ...], dtype: np.dtype[Any], kind: Kind, queue: CudaQueue, is_on_queue: bool
) -> CudaArray:
    """Return a new array, whose elements are what happens to be there.

    Parameters
    ----------
    shape, dtype
        Of the array.
    kind : {"device", "shared", "host"}
        Where its memory is.
    queue : CudaQueue
        What it is worked with on.
    is_on_queue : bool
        Whether launches of it go to that queue, as to a queue of SYCL.

    Raises
    ------
    UsmAllocationError
        If there is not so much memory.
    """
    memory = CudaMemory(queue.device, math.prod(shape) * dtype.itemsize, kind)
    owner = Owner(queue.device.ordinal, "kapi_runtime", queue.stream)
    return CudaArray(
        ArrayFields(memory.pointer, shape, c_strides(shape), dtype, False, owner), kind, memory, queue, is_on_queue
    )


def array_of_fields(value: Any) -> CudaArray:
    """Return an array of another library as one that shares its memory, on the current stream of that library.

    Raises
    ------
    DtypeError
        As `cuda_fields`.
    """
    if isinstance(value, CudaArray):
        return value
    fields = cuda_fields(value)
    if fields is None:
        raise DtypeError(f"array must be one of a CUDA device, got a {type(value).__name__}", code="argument-type")
    owner: Owner = fields.owner
    device = device_at(owner.ordinal or 0)
    return CudaArray(fields, "device", value, CudaQueue(device, owner.stream(device.ordinal)), owner.is_explicit)


def _basic(index: Any) -> Any:
    """The index with an ellipsis, so that NumPy gives a view of rank 0 and no number, which it would have to read."""
    parts = index if isinstance(index, tuple) else (index,)
    for part in parts:
        if isinstance(part, (bool, np.bool_)) or not (
            part is None or isinstance(part, (slice, EllipsisType)) or hasattr(part, "__index__")
        ):
            raise IndexError(
                f"index of an array must be of integers, slices, ... and None, got {part!r}: copy the array to the host"
            )
    return parts if any(part is Ellipsis for part in parts) else (*parts, ...)
