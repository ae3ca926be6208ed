"""Pool of device memory: blocks of arrays that are gone, for new arrays on the same queue.

The system gives new memory page by page when it is first touched, which takes longer than most kernels that fill it.
"""

from __future__ import annotations

import threading
from typing import Any

import dpctl.memory

from kapi_runtime.sycl.queues.keep_alive import release
from kapi_sim import environment_variables

__all__ = ["memory_for"]

_MIN_BYTES = 65536  # bytes: smaller blocks are cheap
_LARGE = 2**20  # bytes: a new block of so many takes longer than to check which launches are done
_DEFAULT = 2**28  # bytes

_lock = threading.RLock()  # a collection of garbage may give memory back while it is held
_free: dict[tuple[Any, str, int], list[Any]] = {}
_size = 0


def max_pooled() -> int:
    """Limit of the pool in bytes: `KAPI_OFFLOAD_KEPT`, 0 for no pool."""
    return environment_variables.OFFLOAD_KEPT.number(_DEFAULT)


class _Pooled:
    """Memory that returns to its pool when no array has it any more: a view of `block`, which lives on."""

    pool: tuple[Any, str, int]
    block: Any

    def __del__(self) -> None:
        _keep(self.pool, self.block)


class _PooledDevice(_Pooled, dpctl.memory.MemoryUSMDevice):
    pass


class _PooledShared(_Pooled, dpctl.memory.MemoryUSMShared):
    pass


class _PooledHost(_Pooled, dpctl.memory.MemoryUSMHost):
    pass


_NEW = {
    "device": dpctl.memory.MemoryUSMDevice,
    "shared": dpctl.memory.MemoryUSMShared,
    "host": dpctl.memory.MemoryUSMHost,
}
_POOLED = {"device": _PooledDevice, "shared": _PooledShared, "host": _PooledHost}


def memory_for(nbytes: int, kind: str, queue: Any) -> Any:
    """Memory of so many bytes, its content undefined: that of an array that is gone, or new.

    All work on a queue is in order, so that what was submitted with the array that is gone comes first.
    """
    if nbytes < _MIN_BYTES:
        return _NEW[kind](nbytes, queue=queue)
    pool = queue, kind, nbytes
    block = _taken(pool)
    if block is None and nbytes >= _LARGE:
        release()  # launches that are done may hold such memory still
        block = _taken(pool)
    if block is None:
        try:
            block = _NEW[kind](nbytes, queue=queue)
        except dpctl.memory.USMAllocationError:
            forget()
            block = _NEW[kind](nbytes, queue=queue)
    made = _POOLED[kind](block)
    made.pool, made.block = pool, block
    return made


def _taken(pool: tuple[Any, str, int]) -> Any:
    """A block that is kept, which is then no longer; None if there is none."""
    global _size
    with _lock:
        kept = _free.get(pool)
        if not kept:
            return None
        _size -= pool[2]
        return kept.pop()


def forget() -> None:
    """Give back to the system what is kept."""
    global _size
    with _lock:
        _free.clear()
        _size = 0


def _keep(pool: tuple[Any, str, int], block: Any) -> None:
    global _size
    most, nbytes = max_pooled(), pool[2]
    with _lock:
        if _size + nbytes > most:
            forget()
        if nbytes <= most:
            _free.setdefault(pool, []).append(block)
            _size += nbytes
