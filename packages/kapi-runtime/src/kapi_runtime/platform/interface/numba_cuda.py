"""Interface of a platform, beyond `Platform`, for programs with numba.cuda's names: `kapi_runtime.compat`.

Each method is a feature of CUDA's that other platforms may have, or lack: then it raises, by its name.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from kapi_sim.errors import LimitError

if TYPE_CHECKING:
    from kapi_runtime.platform.handles import Queue
    from kapi_runtime.platform.interface import MemoryKind

__all__ = ["NumbaCudaHost", "lacking"]


def lacking(what: str, hint: str, title: str = "") -> LimitError:
    """Make the error for a feature of numba.cuda's that a platform lacks.

    Parameters
    ----------
    what : str
        Its name there.
    hint : str
        What to do instead.
    title : str
        What messages call the platform; empty if all lack it.
    """
    if not title:
        return LimitError(f"a call must ask for what kapi has, got `{what}`: {hint}", code="device-lacks")
    return LimitError(
        f"the device must be of a platform that has `{what}`, got one of {title}: {hint}", code="device-lacks"
    )


class NumbaCudaHost(ABC):
    """Host API of numba.cuda, as `kapi_runtime.compat` asks it of a platform."""

    @abstractmethod
    def array(self, array: Any) -> Any:
        """Return a device array of the platform with numba.cuda's methods, of the same memory."""

    @abstractmethod
    def strided_array(
        self, shape: tuple[int, ...], dtype: np.dtype[Any], strides: tuple[int, ...], nbytes: int, queue: Any
    ) -> Any:
        """Return a new device array with these strides, in elements, in so many bytes of the device's memory."""

    @abstractmethod
    def host_readable(self, nbytes: int, kind: MemoryKind, queue: Any) -> Any:
        """Return new memory that host and device use, as a `HostReadableArray` of bytes.

        Parameters
        ----------
        nbytes : int
            Its size.
        kind : {"shared", "host"}
            Where it is.
        queue : Queue or None
            What it belongs to; None for the default queue of the current device.
        """

    @abstractmethod
    def pinned(
        self, arrays: Sequence[np.ndarray[Any, Any]], mapped: bool, queue: Any
    ) -> AbstractContextManager[list[Any]]:
        """Pin arrays of the host in a ``with`` block, which gets them as device arrays if they are mapped.

        Raises
        ------
        LimitError
            If the platform cannot pin memory that is there already.
        """

    @abstractmethod
    def legacy_default_queue(self, device: Any) -> Queue:
        """Return the queue that waits for all others of a device, and they for it; LimitError if there is none."""

    @abstractmethod
    def thread_default_queue(self, device: Any) -> Queue:
        """Return the queue of a device that is the calling thread's own."""

    @abstractmethod
    def runtime_version(self, device: Any) -> tuple[int, int]:
        """Return the version of what stands between kapi and the drivers; LimitError if nothing reports it."""

    @contextmanager
    def deferred_cleanup(self) -> Iterator[None]:
        """Let go of no memory in a ``with`` block, where that would wait for the device."""
        yield
