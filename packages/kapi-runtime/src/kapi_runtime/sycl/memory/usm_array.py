"""Arrays in unified shared memory for programs without dpnp: memory with a shape, views, and copies.

dpnp's arrays compute, and bring Intel's Math Kernel Library.  This one holds data for kernels, and is all that
`kapi_runtime.memory` needs where dpnp is not installed.
"""

from __future__ import annotations

import importlib.util
import math
from functools import lru_cache
from typing import Any, Literal

import dpctl
import numpy as np
from dpctl.memory import MemoryUSMDevice, MemoryUSMHost, MemoryUSMShared

from kapi_runtime.platform.dlpack import ONEAPI, device_kind, read_capsule
from kapi_runtime.platform.kapi_array import KapiArray
from kapi_runtime.sycl.memory.copying import copy_array
from kapi_runtime.sycl.memory.usm_bytes import memory_at
from kapi_runtime.sycl.queues.interruptible_waits import wait_for
from kapi_runtime.sycl.queues.queue import default_queue, queue_of
from kapi_sim.errors import ExecutionPlacementError
from kapi_sim.language.array_memory import ArrayFields, c_strides
from kapi_sim.short_repr import short_repr
from kapi_types.usm.structures import array_fields

__all__ = [
    "UsmArray",
    "UsmType",
    "coerced_kind",
    "copy_call",
    "has_dpnp",
    "memory_of",
    "new_usm_array",
    "shared_array_of",
    "usm_array_of",
]

UsmType = Literal["device", "shared", "host"]

_MEMORY: dict[UsmType, Any] = {"device": MemoryUSMDevice, "shared": MemoryUSMShared, "host": MemoryUSMHost}


@lru_cache(maxsize=1)
def has_dpnp() -> bool:
    """Whether dpnp is installed, whose arrays are then the ones that are made."""
    return importlib.util.find_spec("dpnp") is not None


def copy_call(name: str, queue: str = "") -> str:
    """Return the call that copies `name` to a device, for messages: dpnp's, or kapi's own where there is no dpnp."""
    if has_dpnp():
        return f"dpnp.asarray({name}{f', sycl_queue={queue}' if queue else ''})"
    return f"kapi_runtime.memory.asarray({name}{f', queue={queue}' if queue else ''})"


class UsmArray(KapiArray):
    """An array in unified shared memory; `kapi_runtime.memory` makes it where dpnp is not installed.

    Kernels take it.  It is indexed and sliced with integers, slices, ``...`` and ``None``, and parts of it share its
    memory.  Values are stored by ``array[...] = values`` and read by `asnumpy`, both after the work of its queue.  It
    does not compute: that is what kernels do, and dpnp.

    - `shape`, `strides`: elements along each axis, and bytes from one to the next.
    - `usm_type`: "device", "shared" or "host".
    - `sycl_queue`, `sycl_device`, `sycl_context`: where it lives.
    - `flags`: `c_contiguous`, `f_contiguous` and `writable`.

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

    __slots__ = ("_owner",)

    protocol = "__sycl_usm_array_interface__"

    def __init__(self, fields: ArrayFields, usm_type: UsmType, owner: Any) -> None:
        super().__init__(fields, usm_type)
        self._owner = owner  # the allocation, or what else keeps the memory

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

    def to_device(self, queue: Any) -> UsmArray:
        """Return a C-contiguous copy on a queue, of the same kind of memory."""
        copied = new_usm_array(self.shape, self.dtype, self.usm_type, queue)
        copied[...] = self
        return copied

    def __dlpack_device__(self) -> tuple[int, int]:
        return ONEAPI, self._root_device().get_device_id()

    def _with(self, fields: ArrayFields) -> UsmArray:
        return UsmArray(fields, self.usm_type, self._owner)

    def _new(self) -> UsmArray:
        return new_usm_array(self.shape, self.dtype, self.usm_type, self.sycl_queue)

    def _of_platform(self, values: Any) -> UsmArray | None:
        if isinstance(values, UsmArray):
            return values
        return usm_array_of(values) if hasattr(values, "__sycl_usm_array_interface__") else None

    def _copy_from(self, source: UsmArray) -> None:
        copy_array(self, source, "device to device")

    def _store(self, values: np.ndarray[Any, Any]) -> None:
        copy_array(self, values, "host to device")

    def _load(self, values: np.ndarray[Any, Any]) -> None:
        copy_array(values, self, "device to host")

    def _order_for(self, stream: Any) -> None:
        if self.sycl_context != default_queue(self._root_device()).sycl_context:
            raise BufferError(
                "array must be in the default context of its device to be handed on by DLPack, got another context: "
                "hand on a copy that `to_device(kapi_runtime.default_queue())` makes"
            )
        wait_for(self.sycl_queue)  # the consumer's queue may be another, and knows nothing of this one's work

    def _root_device(self) -> Any:
        """The device of which this array's is a part: DLPack numbers those alone."""
        device = self.sycl_device
        while device.parent_device is not None:
            device = device.parent_device
        return device


def new_usm_array(shape: tuple[int, ...], dtype: np.dtype[Any], kind: UsmType, queue: Any) -> UsmArray:
    """Return a new array, whose elements are what happens to be there.

    Raises `dpctl.memory.USMAllocationError` if there is not so much memory.
    """
    memory = _MEMORY[kind](max(1, math.prod(shape) * dtype.itemsize), queue=queue)
    return UsmArray(ArrayFields(memory._pointer, shape, c_strides(shape), dtype, False, queue), kind, memory)


def usm_array_of(value: Any) -> UsmArray:
    """Return an array of the memory of another library's, which speaks the protocol of USM arrays.

    Raises `ExecutionPlacementError` if it names no queue.
    """
    fields = array_fields(value)
    queue = queue_of(fields.owner)
    if queue is None:
        raise ExecutionPlacementError(
            "array must name its queue as syclobj of its __sycl_usm_array_interface__, got "
            f"{short_repr(fields.owner)}: make it with a queue",
            code="array-without-queue",
        )
    part = ArrayFields(fields.pointer, fields.shape, fields.strides, fields.dtype, fields.readonly, queue)
    kind = getattr(value, "usm_type", None) or _kind_of(part, value)
    return UsmArray(part, kind, value)


def shared_array_of(value: Any) -> Any:
    """Return an array that shares the memory of a value which is on a SYCL device and says so by DLPack alone.

    A dpnp array where dpnp is installed, else a `UsmArray`; None of a value that says nothing of the kind.

    References
    ----------
    The array API standard, data interchange.
    """
    if device_kind(value) != ONEAPI:
        return None
    if has_dpnp():
        import dpnp

        return dpnp.from_dlpack(value)
    capsule = read_capsule(value)
    queue = default_queue(dpctl.SyclDevice(str(capsule.device)))
    strides = c_strides(capsule.shape) if capsule.strides is None else capsule.strides
    fields = ArrayFields(capsule.pointer, capsule.shape, strides, capsule.dtype, False, queue)
    return UsmArray(fields, _kind_of(fields, capsule.owner), capsule.owner)


def coerced_kind(kinds: list[UsmType]) -> UsmType:
    """Return the kind of memory of a result, by dpnp's rule: device before shared before host."""
    return next(kind for kind in _MEMORY if kind in kinds)


def memory_of(array: UsmArray) -> tuple[Any, int]:
    """Return the `dpctl.memory` object of an array that has elements, and how many lie before its first one there."""
    low, _ = array._fields.span
    return memory_at(array._fields, array._owner), (array._fields.pointer - low) // array.itemsize


def _kind_of(fields: ArrayFields, owner: Any) -> UsmType:
    """The kind of memory, as the driver reports it."""
    kind: UsmType = memory_at(fields, owner).get_usm_type()
    return kind
