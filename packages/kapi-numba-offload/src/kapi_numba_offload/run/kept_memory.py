"""Memory of arrays that nobody has any more, kept for new arrays on the same queue.

The system gives new memory page by page when it is first touched, which takes longer than most kernels that fill it.
"""

from __future__ import annotations

import threading
from typing import Any

import dpctl.memory

from kapi_runtime.sycl.queues.keep_alive import release
from kapi_sim import environment

__all__ = ["KINDS", "memory_for"]

_LEAST = 65536  # bytes: smaller blocks are cheap
_LARGE = 2**20  # bytes: a new block of so many takes longer than to look which launches are done
_DEFAULT = 2**28  # bytes

_lock = threading.RLock()  # a collection of garbage may give memory back while it is held
_free: dict[tuple[Any, str, int], list[Any]] = {}
_size = 0


def most_kept() -> int:
    """How many bytes are kept at most: `KAPI_OFFLOAD_KEPT`, 0 for none."""
    return environment.OFFLOAD_KEPT.number(_DEFAULT)


class _Lent:
    """Memory that is kept when nobody has it any more: a view of `whole`, which lives on."""

    place: tuple[Any, str, int]
    whole: Any

    def __del__(self) -> None:
        _keep(self.place, self.whole)


class _LentDevice(_Lent, dpctl.memory.MemoryUSMDevice):
    pass


class _LentShared(_Lent, dpctl.memory.MemoryUSMShared):
    pass


class _LentHost(_Lent, dpctl.memory.MemoryUSMHost):
    pass


_NEW = {
    "device": dpctl.memory.MemoryUSMDevice,
    "shared": dpctl.memory.MemoryUSMShared,
    "host": dpctl.memory.MemoryUSMHost,
}
_LENT = {"device": _LentDevice, "shared": _LentShared, "host": _LentHost}

KINDS: dict[type, str] = {memory: kind for classes in (_NEW, _LENT) for kind, memory in classes.items()}
"""The USM kind by the class of memory."""


def memory_for(nbytes: int, kind: str, queue: Any) -> Any:
    """Memory of so many bytes, its content undefined: that of an array that is gone, or new.

    All work on a queue is in order, so that what was submitted with the array that is gone comes first.

    Parameters
    ----------
    nbytes : int
        How many.
    kind : {"device", "shared", "host"}
        USM kind.
    queue : dpctl.SyclQueue
        Where it is used.
    """
    if nbytes < _LEAST:
        return _NEW[kind](nbytes, queue=queue)
    place = queue, kind, nbytes
    whole = _taken(place)
    if whole is None and nbytes >= _LARGE:
        release()  # launches that are done may hold such memory still
        whole = _taken(place)
    if whole is None:
        try:
            whole = _NEW[kind](nbytes, queue=queue)
        except dpctl.memory.USMAllocationError:
            forget()
            whole = _NEW[kind](nbytes, queue=queue)
    made = _LENT[kind](whole)
    made.place, made.whole = place, whole
    return made


def _taken(place: tuple[Any, str, int]) -> Any:
    """A block that is kept, which is then no longer; None if there is none."""
    global _size
    with _lock:
        kept = _free.get(place)
        if not kept:
            return None
        _size -= place[2]
        return kept.pop()


def forget() -> None:
    """Give back to the system what is kept."""
    global _size
    with _lock:
        _free.clear()
        _size = 0


def _keep(place: tuple[Any, str, int], whole: Any) -> None:
    global _size
    most, nbytes = most_kept(), place[2]
    with _lock:
        if _size + nbytes > most:
            forget()
        if nbytes <= most:
            _free.setdefault(place, []).append(whole)
            _size += nbytes
