"""numba.cuda's host API on CUDA: what `kapi_runtime.compat` asks this platform."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from kapi_ptx import PtxTarget
from kapi_ptx.target import ARCHITECTURES, KAPI_DEFAULT_TARGET
from kapi_runtime.cuda.devices import driver
from kapi_runtime.cuda.devices.device import CudaDevice
from kapi_runtime.cuda.memory import allocations
from kapi_runtime.cuda.memory.arrays import Owner
from kapi_runtime.cuda.memory.cuda_array import CudaArray, array_of_fields, new_cuda_array
from kapi_runtime.cuda.memory.host_api import queue_named
from kapi_runtime.cuda.queues import queue as queues
from kapi_runtime.cuda.queues.queue import CudaQueue
from kapi_runtime.cuda.queues.streams import PER_THREAD, stream_of
from kapi_runtime.platform.interface import MemoryKind
from kapi_runtime.platform.interface.numba_cuda import NumbaCudaHost
from kapi_runtime.platform.numba_cuda_arrays import HostReadableArray
from kapi_runtime.platform.numpy_views import fields_of_numpy
from kapi_sim.errors import DtypeError, LimitError

__all__ = ["CudaNumbaCuda"]

_PORTABLE, _MAPPED = 1, 2  # the driver's flags of memory that it pins


class CudaNumbaCuda(NumbaCudaHost):
    """CUDA's host API.

    - `current_queue`: gives the queue of arrays that name none.
    """

    def __init__(self, current_queue: Callable[[], CudaQueue]) -> None:
        self._current_queue = current_queue

    def array(self, array: Any) -> CudaArray:
        return array_of_fields(array)

    def strided_array(
        self, shape: tuple[int, ...], dtype: np.dtype[Any], strides: tuple[int, ...], nbytes: int, queue: Any
    ) -> CudaArray:
        return self._bytes(nbytes, "device", queue).strided(shape, dtype, strides)

    def host_readable(self, nbytes: int, kind: MemoryKind, queue: Any) -> HostReadableArray:
        return HostReadableArray.of(self._bytes(nbytes, kind, queue))

    def pinned(
        self, arrays: Sequence[np.ndarray[Any, Any]], mapped: bool, queue: Any
    ) -> AbstractContextManager[list[Any]]:
        return self._pinned(arrays, mapped, queue)

    @contextmanager
    def _pinned(self, arrays: Sequence[np.ndarray[Any, Any]], mapped: bool, queue: Any) -> Iterator[list[Any]]:
        named = queue_named(queue)
        target = self._current_queue() if named is None else named
        registered: list[int] = []
        try:
            with target.device.entered():
                for array in arrays:
                    start, end = _bounds(array)
                    driver.call("cuMemHostRegister", start, end - start, _PORTABLE | (_MAPPED if mapped else 0))
                    registered.append(start)
            yield [_on_device(array, target, named is not None) for array in arrays] if mapped else []
        finally:
            target.wait()  # what was submitted here may use the memory
            with target.device.entered():
                for start in registered:
                    driver.call("cuMemHostUnregister", start)

    def legacy_default_queue(self, device: CudaDevice) -> CudaQueue:
        return queues.default_queue(device)

    def thread_default_queue(self, device: CudaDevice) -> CudaQueue:
        return CudaQueue(device, stream_of(PER_THREAD))

    def target_of_capability(self, capability: tuple[int, int] | None) -> PtxTarget:
        """Return what to compile for, by a compute capability; kapi-ptx's default for None.

        Raises `LimitError` if LLVM's PTX is made for no such device here.
        """
        if capability is None:
            return KAPI_DEFAULT_TARGET
        major, minor = capability
        known = [sm for sm in ARCHITECTURES if sm <= 10 * major + minor]
        if not known:
            raise LimitError(
                f"cc must be a compute capability of 7.5 or more, got {major}.{minor}: kernels are compiled for none "
                "that is older",
                code="device-too-old",
            )
        return PtxTarget(max(known))

    def runtime_version(self, device: CudaDevice) -> tuple[int, int]:
        return driver.version()

    @contextmanager
    def deferred_cleanup(self) -> Iterator[None]:
        with allocations.deferred_frees():
            yield

    def _bytes(self, nbytes: int, kind: MemoryKind, queue: Any) -> CudaArray:
        named = queue_named(queue)
        target = self._current_queue() if named is None else named
        return new_cuda_array((nbytes,), np.dtype(np.uint8), kind, target, named is not None)


def _bounds(array: Any) -> tuple[int, int]:
    """The addresses at which an array of the host begins and ends."""
    if not isinstance(array, np.ndarray) or not array.size:
        got = f"one of shape {array.shape}" if isinstance(array, np.ndarray) else type(array).__name__
        raise DtypeError(
            f"arrays to be pinned must be NumPy arrays with elements, got {got}: leave it out", code="argument-type"
        )
    low, high = np.lib.array_utils.byte_bounds(array)
    return int(low), int(high)


def _on_device(array: np.ndarray[Any, Any], queue: CudaQueue, is_on_queue: bool) -> CudaArray:
    """A pinned and mapped array of the host, as kernels see it."""
    low, _ = _bounds(array)
    with queue.device.entered():
        seen = int(driver.call("cuMemHostGetDevicePointer", low, 0))
    fields = fields_of_numpy(array, Owner(queue.device.ordinal, "kapi_runtime", queue.stream))
    moved = replace(fields, pointer=seen + fields.pointer - low)
    return CudaArray(moved, "host", array, queue, is_on_queue)
