"""Memory of a platform: allocations, copies, and arrays over them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Literal, Protocol

import numpy as np

from kapi_sim.language.array_memory import ArrayFields

__all__ = ["Allocation", "MemoryKind", "MemoryManager"]


class Allocation(Protocol):
    """Memory of a device that lives as long as this object; freed when nobody holds it."""

    @property
    def pointer(self) -> int:
        """Its address on the device."""

    def read(self, nbytes: int) -> bytes:
        """Return its first bytes, after the host has waited for the work that fills them; recorded nowhere."""


MemoryKind = Literal["device", "shared", "host"]
"""The kind of an array's memory; see `kapi_runtime.memory`."""


class MemoryManager(ABC):
    """Allocates memory, and copies to, from and within it."""

    @abstractmethod
    def allocate(self, queue: Any, nbytes: int, zeroed: bool = False) -> Allocation:
        """Return new memory of the device, of at least one byte, that work of the queue may use.

        Raises
        ------
        UsmAllocationError
            If there is not so much.
        """

    @abstractmethod
    def copy_in(self, queue: Any, target: Allocation, source: np.ndarray[Any, Any]) -> None:
        """Copy a C-contiguous NumPy array to the start of an allocation, recorded as a copy, and wait."""

    @abstractmethod
    def copy_out(self, queue: Any, target: np.ndarray[Any, Any], source: Allocation) -> None:
        """Copy the start of an allocation to a C-contiguous NumPy array, recorded as a copy, and wait."""

    @abstractmethod
    def reads_host_memory(self, queue: Any) -> bool:
        """Whether kernels take the addresses of any memory of the host, so that NumPy arrays need no copy."""

    @abstractmethod
    def new_array(self, shape: tuple[int, ...], dtype: np.dtype[Any], kind: MemoryKind, queue: Any, fill: Any) -> Any:
        """Return a new array for `kapi_runtime.memory`, of the library that users of the platform have.

        Parameters
        ----------
        shape, dtype
            Of the array.
        kind : {"device", "shared", "host"}
            Where its memory is; see `kapi_runtime.memory`.
        queue : object or None
            That of the array; None for the default queue of the current device.
        fill : number or None
            Value of all elements; None leaves them as they are.

        Raises
        ------
        UsmAllocationError
            If there is not so much memory.
        """

    @abstractmethod
    def array_of(self, values: Any, dtype: Any, kind: MemoryKind | None, queue: Any, copy: bool | None) -> Any:
        """Return values of any kind as an array on a queue, as `kapi_runtime.memory.asarray` says."""

    @abstractmethod
    def to_host(self, array: Any) -> np.ndarray[Any, Any]:
        """Return a copy of an array of this platform in the host's memory, after the work that fills it."""

    @abstractmethod
    def copy_array(self, source: Any, target: Any) -> None:
        """Copy one array to another of the same shape and type, one of them at least of this platform, and wait."""

    @abstractmethod
    def submit_copy(
        self, queue: Any, target: ArrayFields, source: ArrayFields, nbytes: int, before: Sequence[Any]
    ) -> Any:
        """Submit a copy of bytes after these native events, which are all that it waits for, and return its event.

        Parameters
        ----------
        queue : object
            Where to.
        target, source : ArrayFields
            Contiguous arrays; those of the host have no owner.
        nbytes : int
            At least 1.
        before : sequence
            Native events.
        """

    def require_reach(self, queue: Any, other: Any) -> None:  # noqa: B027  # most platforms reach all memory
        """Raise ExecutionPlacementError if work of a queue cannot use memory that belongs to the other's device."""

    @abstractmethod
    def memory_kind(self, array: Any) -> MemoryKind:
        """Return where the memory of an array of this platform is."""

    @abstractmethod
    def array_like(self, arrays: Sequence[Any], shape: Any, dtype: Any) -> Any:
        """Return a new array for the result of an operation on arrays, as `kapi_runtime.memory.like` says."""
