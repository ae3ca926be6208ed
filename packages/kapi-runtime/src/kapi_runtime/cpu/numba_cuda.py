"""numba.cuda's host API on the CPU: what `kapi_runtime.compat` asks this platform, and mostly does not get."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from kapi_runtime.cpu.queues.queue import CpuQueue, default_queue
from kapi_runtime.platform.interface import MemoryKind
from kapi_runtime.platform.interface.numba_cuda import NumbaCudaHost, lacking

__all__ = ["CpuNumbaCuda"]

_TITLE = "the CPU"


class CpuNumbaCuda(NumbaCudaHost):
    """The CPU's answers."""

    def array(self, array: Any) -> Any:
        raise lacking("device arrays", "pass NumPy's arrays, which kernels use in place", _TITLE)

    def strided_array(
        self, shape: tuple[int, ...], dtype: np.dtype[Any], strides: tuple[int, ...], nbytes: int, queue: Any
    ) -> Any:
        raise lacking("device_array", "make an array of NumPy's", _TITLE)

    def host_readable(self, nbytes: int, kind: MemoryKind, queue: Any) -> Any:
        raise lacking("mapped_array", "make an array of NumPy's", _TITLE)

    def pinned(
        self, arrays: Sequence[np.ndarray[Any, Any]], mapped: bool, queue: Any
    ) -> AbstractContextManager[list[Any]]:
        return nullcontext(list(arrays) if mapped else [])

    def legacy_default_queue(self, device: Any) -> CpuQueue:
        return default_queue()

    def thread_default_queue(self, device: Any) -> CpuQueue:
        raise lacking("per_thread_default_stream", "make a queue for each thread by `kapi.queue()`", _TITLE)

    def runtime_version(self, device: Any) -> tuple[int, int]:
        raise lacking("runtime.get_version", "`kapi_runtime.runtime.get_version()` tells all versions", _TITLE)
