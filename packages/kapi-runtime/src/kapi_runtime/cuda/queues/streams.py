"""Streams: the order of a device's work, whose they are, and which one each library uses at present.

A stream is named by its handle alone, an integer: libraries hand it to each other so.  Three handles stand for streams
that always are: 0 and 1 for the legacy default stream, 2 for the default stream of the calling thread.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NamedTuple

__all__ = ["LEGACY", "PER_THREAD", "CudaStream", "current_stream"]

LEGACY, PER_THREAD = 1, 2


class CudaStream(NamedTuple):
    """A stream of a device.

    - `handle`: as the driver knows it; never 0.
    - `owner`: what keeps it from being destroyed; None for those that always are.
    """

    handle: int
    owner: Any = None

    @property
    def is_lasting(self) -> bool:
        """Whether an event may be recorded in it later, from any thread, as long as `owner` is held."""
        return self.handle == LEGACY or (self.handle != PER_THREAD and self.owner is not None)


def stream_of(handle: int, owner: Any = None) -> CudaStream:
    """Return the stream of a handle; that of 0 is the legacy default stream by its other name."""
    handle = int(handle)
    return _DEFAULT if handle in (0, LEGACY) else CudaStream(handle, owner)


_DEFAULT = CudaStream(LEGACY)


def current_stream(library: str, ordinal: int) -> CudaStream:
    """Return the stream that a library submits its work to at present, in this thread, on a device.

    - `library`: name of its module, such as "cupy"; of one that is not known, the legacy default stream is given.
    - `ordinal`: the device.
    """
    asked = _CURRENT.get(library)
    return _DEFAULT if asked is None else asked(ordinal)


def _of_cupy(ordinal: int) -> CudaStream:
    cuda = sys.modules["cupy"].cuda
    stream = cuda.get_current_stream(ordinal)
    return stream_of(stream.ptr, stream)


def _of_torch(ordinal: int) -> CudaStream:
    # PyTorch's streams are a pool that it never destroys.
    stream = sys.modules["torch"].cuda.current_stream(ordinal)
    return stream_of(stream.cuda_stream, stream)


def _of_numba(ordinal: int) -> CudaStream:
    stream = sys.modules["numba.cuda"].default_stream()
    handle = getattr(stream.handle, "value", stream.handle)
    return stream_of(handle or 0, stream)


_CURRENT: dict[str, Callable[[int], CudaStream]] = {"cupy": _of_cupy, "torch": _of_torch, "numba": _of_numba}
