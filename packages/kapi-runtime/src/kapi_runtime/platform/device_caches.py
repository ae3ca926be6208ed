"""Caches of what is made for devices: dropped when a device is reset, and the one of the kernels that are built."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, TypeVar

from kapi_sim.forks import reinit_after_fork

__all__ = ["BuiltKernels", "forget", "on_reset"]

CAPACITY = 512

_Kernel = TypeVar("_Kernel")

_forgetting: list[Callable[[Any], None]] = []


def on_reset(function: Callable[[Any], None]) -> Callable[[Any], None]:
    """Register a function of a device that drops what is cached for it; usable as a decorator."""
    _forgetting.append(function)
    return function


def forget(device: Any) -> None:
    """Drop what is cached for a device."""
    for function in _forgetting:
        function(device)


class BuiltKernels(OrderedDict[tuple[Any, ...], _Kernel]):
    """Kernels by their device, what else they are built for, and their module's id; a reset drops those of a device.

    A kernel must keep its module alive, so that the id stays its own.
    """

    def __init__(self) -> None:
        super().__init__()
        self._lock = reinit_after_fork(threading.Lock())
        on_reset(self._forget)

    def built(self, key: tuple[Any, ...], build: Callable[[], _Kernel]) -> _Kernel:
        """Return the kernel of a key, which `build` makes at the first call."""
        with self._lock:
            kernel = self.get(key)
            if kernel is not None:
                self.move_to_end(key)
                return kernel
        kernel = build()
        with self._lock:
            kernel = self.setdefault(key, kernel)
            while len(self) > CAPACITY:
                self.popitem(last=False)
        return kernel

    def _forget(self, device: Any) -> None:
        with self._lock:
            for key in [key for key in self if key[0] == device]:
                del self[key]
