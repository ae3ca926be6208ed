"""`CudaArray`: an array in the memory of a CUDA device, for programs that have no other library's.

CuPy, PyTorch and numba-cuda take it by ``__cuda_array_interface__``, and all that know DLPack by that.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from kapi_runtime.cuda.devices.device import CudaDevice, device_at
from kapi_runtime.cuda.memory.allocations import CudaMemory, Kind, copy_from_device, copy_on_device, copy_to_device
from kapi_runtime.cuda.memory.arrays import Owner, cuda_fields
from kapi_runtime.cuda.queues.events import recorded_event, wait_on_stream
from kapi_runtime.cuda.queues.queue import CudaQueue
from kapi_runtime.cuda.queues.streams import LEGACY
from kapi_runtime.platform.dlpack import CUDA, CUDA_HOST, CUDA_MANAGED
from kapi_runtime.platform.kapi_array import KapiArray
from kapi_sim.errors import DtypeError
from kapi_sim.language.array_memory import ArrayFields, c_strides

__all__ = ["CudaArray", "array_of_fields", "new_cuda_array"]

_DLPACK_KINDS = {"device": CUDA, "shared": CUDA_MANAGED, "host": CUDA_HOST}


class CudaArray(KapiArray):
    """An array in the memory of a CUDA device; `kapi_runtime.memory` makes it.

    Kernels take it, and so do CuPy, PyTorch and numba-cuda, which share its memory: ``cupy.asarray(array)``,
    ``torch.as_tensor(array)``.  It is indexed and sliced with integers, slices, ``...`` and ``None``, and parts of it
    share its memory.  Values are stored by ``array[...] = values`` and read by `asnumpy`, both after the work of its
    queue.  It does not compute: that is what kernels do.

    - `shape`, `strides`: elements along each axis, and bytes from one to the next.
    - `usm_type`: "device", "shared" for managed memory, or "host" for pinned memory of the host.
    - `queue`: the stream that it is worked with on.
    - `flags`: `c_contiguous`, `f_contiguous` and `writable`.
    """

    __slots__ = ("_is_on_queue", "_memory", "queue")

    protocol = "__cuda_array_interface__"

    def __init__(self, fields: ArrayFields, kind: Kind, memory: Any, queue: CudaQueue, is_on_queue: bool) -> None:
        super().__init__(fields, kind)
        self._memory, self.queue, self._is_on_queue = memory, queue, is_on_queue

    @property
    def _kapi_is_on_queue(self) -> bool:
        """Whether launches of it go to its queue, since the program has said so."""
        return self._is_on_queue

    @property
    def device(self) -> CudaDevice:
        return self.queue.device

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

    def __dlpack_device__(self) -> tuple[int, int]:
        return _DLPACK_KINDS[self.usm_type], self.device.ordinal

    def _with(self, fields: ArrayFields) -> CudaArray:
        return CudaArray(fields, self.usm_type, self._memory, self.queue, self._is_on_queue)

    def _new(self) -> CudaArray:
        return new_cuda_array(self.shape, self.dtype, self.usm_type, self.queue, self._is_on_queue)

    def _of_platform(self, values: Any) -> CudaArray | None:
        return array_of_fields(values) if hasattr(values, "__cuda_array_interface__") else None

    def _copy_from(self, source: CudaArray) -> None:
        if self.queue != source.queue:  # the work that fills the source comes first
            filled = recorded_event(source.device, source.queue.handle)
            wait_on_stream(self.queue.device, self.queue.handle, filled)
        copy_on_device(self.queue, self._fields.pointer, source._fields.pointer, self.nbytes)

    def _store(self, values: np.ndarray[Any, Any]) -> None:
        copy_to_device(self.queue, self._fields.pointer, values)

    def _load(self, values: np.ndarray[Any, Any]) -> None:
        copy_from_device(self.queue, values, self._fields.pointer)

    def _order_for(self, stream: Any) -> None:
        if stream == 0:
            raise BufferError("stream of __dlpack__ must be None, -1 or the handle of a stream, got 0")
        if stream != -1:  # -1: the consumer sees to the order
            wait_on_stream(self.device, int(stream or LEGACY), recorded_event(self.device, self.queue.handle))


def new_cuda_array(
    shape: tuple[int, ...], dtype: np.dtype[Any], kind: Kind, queue: CudaQueue, is_on_queue: bool
) -> CudaArray:
    """Return a new array, whose elements are what happens to be there.

    - `kind`: where its memory is.
    - `queue`: what it is worked with on.
    - `is_on_queue`: whether launches of it go to that queue, as to a queue of SYCL.

    Raises `UsmAllocationError` if there is not so much memory.
    """
    memory = CudaMemory(queue.device, math.prod(shape) * dtype.itemsize, kind)
    owner = Owner(queue.device.ordinal, "kapi_runtime", queue.stream)
    return CudaArray(
        ArrayFields(memory.pointer, shape, c_strides(shape), dtype, False, owner), kind, memory, queue, is_on_queue
    )


def array_of_fields(value: Any) -> CudaArray:
    """Return an array of another library as one that shares its memory, on the current stream of that library.

    Raises `DtypeError`: as `cuda_fields`.
    """
    if isinstance(value, CudaArray):
        return value
    fields = cuda_fields(value)
    if fields is None:
        raise DtypeError(f"array must be one of a CUDA device, got a {type(value).__name__}", code="argument-type")
    owner: Owner = fields.owner
    device = device_at(owner.ordinal or 0)
    return CudaArray(fields, "device", value, CudaQueue(device, owner.stream(device.ordinal)), owner.is_explicit)
