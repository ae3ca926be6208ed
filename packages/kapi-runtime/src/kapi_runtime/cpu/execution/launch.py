"""Launches of one shape: records for threads, and the choice between one thread and several.

The calling thread begins with the work-groups.  If some are left after a time in which another thread can be woken, or
the last launch took long, threads share what is left.  Which thread runs which group changes no result.
"""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from kapi_cpu.emission.launch_record import ALIGNMENT, WORDS
from kapi_runtime.cpu.devices.thread_count import thread_count
from kapi_runtime.cpu.execution import thread_pool
from kapi_runtime.cpu.execution.native_functions import SHORT_NS, native_functions
from kapi_runtime.cpu.memory.allocations import new_ndarray
from kapi_runtime.cpu.programs.program import CpuKernel
from kapi_runtime.cpu.queues.events import Running, wait_for_lock
from kapi_runtime.cpu.queues.queue import CpuQueue
from kapi_sim.errors import UsmAllocationError

__all__ = ["LONG_NS", "LaunchShape", "ThreadRecord", "shape_of"]

LONG_NS = 2 * SHORT_NS
"""Nanoseconds from which on a launch that took so long the last time is split over threads at once."""

_PER_THREAD = 30_000
"""Nanoseconds of work for which another thread is woken."""

_CHUNKS = 8
"""Parts of a thread's share that are taken one by one, so that a slow thread holds nobody up."""

_LONGEST_CHUNK = 5_000_000
"""Nanoseconds after which a thread comes back to take more, and the main thread hears Ctrl-C."""

_SLEEPS_AFTER = 20_000_000
"""Nanoseconds after which the main thread leaves all work to the pool, so that it hears Ctrl-C."""

_END = WORDS.index("end_group")
_FOREVER = 2**62
_SHAPES = 64  # that a kernel remembers


class ThreadRecord:
    """The launch record of one thread, and its memory for one work-group at a time."""

    __slots__ = ("_memory", "address", "words")

    def __init__(self, words: Sequence[int], pieces: Sequence[int], total: int) -> None:
        self._memory = new_ndarray((total + ALIGNMENT,), np.dtype(np.uint8))
        base = -(-self._memory.ctypes.data // ALIGNMENT) * ALIGNMENT
        self.words = (ctypes.c_int64 * len(WORDS))(*words, *(base + piece for piece in pieces))
        self.address = ctypes.addressof(self.words)


class LaunchShape:
    """A kernel over one index space, with one size of local memory.

    - `global_range`, `local_range`: one to three extents, the fastest last; groups at the end may be cut off.
    - `counts`: the number of elements of each parameter that is local memory.
    """

    __slots__ = ("_free", "_pieces", "_total", "_words", "count", "kernel", "last_ns")

    def __init__(
        self, kernel: CpuKernel, global_range: Sequence[int], local_range: Sequence[int], counts: Sequence[int]
    ) -> None:
        self.kernel = kernel
        full, local = (tuple((*reversed(each), 1, 1)[:3]) for each in (global_range, local_range))
        groups = [-(-extent // size) for extent, size in zip(full, local, strict=True)]
        self.count = prod(groups)
        *self._pieces, self._total = kernel.module.group_memory(counts, local)
        self._words = (*full, *local, *groups, 0, self.count)
        self._free: list[ThreadRecord] = []
        self.last_ns = 0

    def take(self) -> ThreadRecord:
        """Return a record that no other thread has."""
        try:
            return self._free.pop()
        except IndexError:
            return self.new_record()

    def new_record(self) -> ThreadRecord:
        """Return a new record, which names all work-groups."""
        return ThreadRecord(self._words, self._pieces, self._total)

    def give(self, record: ThreadRecord) -> None:
        """Take a record back."""
        self._free.append(record)

    def run(self, packed: int, queue: CpuQueue, owners: Any, first: int = 0, left: int = 0) -> None:
        """Run the work-groups, and wait for them.

        - `packed`: the address of the packed arguments.
        - `queue`: the queue that they belong to.  If Ctrl-C ends the wait, they are run all the same.
        - `owners`: what is kept alive until then.
        - `left`: nanoseconds that they may take, where that is known; 0 where it is not.
        """
        record, code, count, running = self.take(), self.kernel.loaded.address, self.count, queue.running
        record.words[_END] = first
        running[record] = None
        is_shared = False
        try:
            advance = native_functions().advance
            start, left = time.perf_counter_ns(), left or self.last_ns
            if left < LONG_NS:
                next_ = advance(code, packed, record.address, first, count, SHORT_NS)
                elapsed = time.perf_counter_ns() - start
                if next_ == count:
                    self.last_ns = elapsed
                    return
                left = elapsed * (count - next_) // (next_ - first)
                first = next_
            # Python's handlers of signals run in the main thread alone, and in no native code.
            handles_signals = threading.current_thread() is threading.main_thread()
            patience = _SLEEPS_AFTER if handles_signals else _FOREVER
            threads = min(thread_count(), count - first, 1 + left // _PER_THREAD)
            if threads == 1 and left < patience:
                first = advance(code, packed, record.address, first, count, patience)
            if first < count:
                execution = Execution(self, packed, first, self._chunk(first, left, threads), running, record, owners)
                is_shared = True
                if left < patience:
                    thread_pool.offer(execution, threads - 1)
                    execution.help(patience)
                if not execution.is_taken:
                    thread_pool.offer(execution, threads if left >= patience else 1)
                execution.wait()
            self.last_ns = threads * (time.perf_counter_ns() - start)
        except BaseException:
            if not is_shared:
                self.resume(record, packed, queue, owners)
            elif not execution.is_taken:  # Ctrl-C came before the pool had it
                thread_pool.offer(execution, 1)
            raise
        finally:
            if not is_shared:
                running.pop(record, None)
                self._free.append(record)

    def _chunk(self, first: int, left: int, threads: int) -> int:
        """Return the number of work-groups that a thread takes at once."""
        groups = self.count - first
        return max(1, min(groups // (threads * _CHUNKS), groups * _LONGEST_CHUNK // max(1, left)))

    def resume(self, record: ThreadRecord, packed: int, queue: CpuQueue, owners: Any) -> None:
        """Have the queue's thread run the work-groups that are left, where Ctrl-C came after some of them.

        - `record`: what they were run with: it names the groups that were run last.
        - `packed`, `queue`, `owners`: as for `run`.
        """
        done = record.words[_END]
        if 0 < done < self.count:
            queue.enqueue(lambda: self.run(packed, queue, owners, done))


def shape_of(
    kernel: CpuKernel, global_range: Sequence[int], local_range: Sequence[int], counts: Sequence[int]
) -> LaunchShape:
    """Return the shape of launches of a kernel, which knows how long they take; the parameters are its own."""
    key = (*global_range, *local_range, *counts)
    found = kernel.shapes.get(key)
    if not isinstance(found, LaunchShape):
        if len(kernel.shapes) >= _SHAPES:
            kernel.shapes.clear()
        found = kernel.shapes[key] = LaunchShape(kernel, global_range, local_range, counts)
    return found


class Execution:
    """One launch whose work-groups several threads share.

    - `shape`: what is launched.
    - `packed`: the address of the packed arguments.
    - `first`: the first work-group that is left.
    - `chunk`: groups that a thread takes at once.
    - `running`, `key`: the key is taken from `running` when all groups are done.
    - `owners`: what is kept alive until then.
    """

    __slots__ = ("_key", "_lock", "_packed", "_running", "_shape", "_shared", "_spare", "_unfinished", "owners")

    def __init__(
        self, shape: LaunchShape, packed: int, first: int, chunk: int, running: Running, key: ThreadRecord, owners: Any
    ) -> None:
        self._shape, self._packed, self._running, self._key, self.owners = shape, packed, running, key, owners
        left = shape.count - first
        self._shared = (ctypes.c_int64 * 4)(first, left, shape.count, chunk)
        self._unfinished, self._spare = [None], [key]
        self._lock = threading.Lock()
        self._lock.acquire()

    @property
    def is_taken(self) -> bool:
        """Whether a thread has taken each work-group."""
        return bool(self._shared[0] >= self._shared[2])

    def help(self, patience: int = _FOREVER) -> None:
        """Run work-groups that nobody has taken, until none is left, or so many nanoseconds are over."""
        if self.is_taken:
            return
        try:
            record = self._spare.pop()
        except IndexError:
            try:
                record = self._shape.take()
            except UsmAllocationError:
                return  # who came first has its memory
        code, shared = self._shape.kernel.loaded.address, ctypes.addressof(self._shared)
        try:
            native_functions().share(code, self._packed, record.address, shared, patience)
        finally:  # Ctrl-C that came meanwhile is raised when native code returns
            if record is not self._key:
                self._shape.give(record)
            self._poll()

    def wait(self) -> None:
        """Wait until all groups are done.  Other threads run meanwhile, and Ctrl-C is heard; the work goes on then."""
        self._poll()
        wait_for_lock(self._lock)
        self._lock.release()

    def _poll(self) -> None:
        """Tell those who wait, if all is done."""
        if self._shared[1]:
            return
        try:
            self._unfinished.pop()
        except IndexError:  # another thread has told them
            return
        self._running.pop(self._key, None)
        self._shape.give(self._key)  # no sooner: the next launch with it is another entry of `running`
        self._lock.release()
