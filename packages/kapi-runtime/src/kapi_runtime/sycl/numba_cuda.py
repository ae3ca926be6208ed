"""numba.cuda's host API on SYCL: what `kapi_runtime.compat` asks this platform."""

from __future__ import annotations

import importlib.metadata
import re
import threading
from collections.abc import Sequence
from contextlib import AbstractContextManager
from functools import cache
from typing import Any, NoReturn

import numpy as np

from kapi_runtime.platform.interface import MemoryKind
from kapi_runtime.platform.interface.numba_cuda import NumbaCudaHost, lacking
from kapi_runtime.platform.numba_cuda_arrays import HostReadableArray, NumbaCudaArray
from kapi_runtime.sycl.memory.host_api import dpnp_array_of
from kapi_runtime.sycl.memory.usm_array import has_dpnp, new_usm_array
from kapi_runtime.sycl.queues.queue import DpctlQueue, default_queue, new_queue

__all__ = ["SyclNumbaCuda"]

_TITLE = "SYCL"


class SyclNumbaCuda(NumbaCudaHost):
    """SYCL's part of CUDA's host API."""

    def __init__(self) -> None:
        self._of_thread = threading.local()

    def array(self, array: Any) -> Any:
        return array if isinstance(array, NumbaCudaArray) else _device_array_class().of(array)

    def strided_array(
        self, shape: tuple[int, ...], dtype: np.dtype[Any], strides: tuple[int, ...], nbytes: int, queue: Any
    ) -> Any:
        memory = new_usm_array((nbytes,), np.dtype(np.uint8), "device", default_queue() if queue is None else queue)
        array = memory.strided(shape, dtype, strides)
        return self.array(dpnp_array_of(array)) if has_dpnp() else array

    def host_readable(self, nbytes: int, kind: MemoryKind, queue: Any) -> HostReadableArray:
        memory = new_usm_array((nbytes,), np.dtype(np.uint8), kind, default_queue() if queue is None else queue)
        return HostReadableArray.of(memory)

    def pinned(
        self, arrays: Sequence[np.ndarray[Any, Any]], mapped: bool, queue: Any
    ) -> AbstractContextManager[list[Any]]:
        name = "mapped" if mapped else "pinned"
        raise lacking(name, f"memory that is there cannot be pinned; make it by `{name}_array(shape)`", _TITLE)

    def legacy_default_queue(self, device: Any) -> NoReturn:
        raise lacking(
            "legacy_default_stream",
            "no queue waits for all others; take `default_stream()`, and order it with others by events",
            _TITLE,
        )

    def thread_default_queue(self, device: Any) -> DpctlQueue:
        queues: dict[Any, DpctlQueue] = vars(self._of_thread).setdefault("queues", {})
        if device not in queues:
            queues[device] = new_queue(device, in_order=True, profiling=False)
        return queues[device]

    def runtime_version(self, device: Any) -> tuple[int, int]:
        try:
            found = re.match(r"(\d+)\.(\d+)", importlib.metadata.version("intel-sycl-rt"))
        except importlib.metadata.PackageNotFoundError:
            found = None
        if found is None:
            raise lacking(
                "runtime.get_version",
                "`kapi_runtime.runtime.get_version()` tells what is known",
                "SYCL without the package intel-sycl-rt",
            )
        return int(found[1]), int(found[2])


@cache
def _device_array_class() -> Any:
    import dpnp

    from kapi_runtime.sycl.memory.copying import copy_array

    class DpnpDeviceArray(NumbaCudaArray, dpnp.ndarray):  # type: ignore[misc]  # dpnp is Any for mypy
        """dpnp's array with the methods of numba.cuda's arrays; parts of it have them, too."""

        __slots__ = ()

        @classmethod
        def of(cls, array: Any) -> Any:
            made = cls.__new__(cls)
            made._array_obj = array.get_array() if hasattr(array, "get_array") else array
            return made

        def __getitem__(self, key: Any) -> Any:
            return self.of(super().__getitem__(key))

        def reshape(self, *newshape: Any, **kws: Any) -> Any:
            return self.of(super().reshape(*newshape, **kws))

        def ravel(self, order: str = "C", stream: Any = 0) -> Any:
            return self.of(super().ravel(order))

        def transpose(self, *axes: Any) -> Any:
            return self.of(super().transpose(*axes))

        @property
        def T(self) -> Any:
            return self.transpose()

        def _copy_all(self, source: Any) -> None:
            if isinstance(source, np.ndarray):
                if self.flags.c_contiguous:
                    copy_array(self, np.ascontiguousarray(source), "host to device")
                    return
                source = dpnp.asarray(source, sycl_queue=self.sycl_queue)
            elif source.sycl_queue != self.sycl_queue:
                source.sycl_queue.wait()  # dpnp copies between queues without waiting for the one that it copies from
                source = source.to_device(self.sycl_queue)
            self[...] = source

    return DpnpDeviceArray
