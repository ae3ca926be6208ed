"""Graphs on the CPU: a table of launches and copies that native code runs one after the other."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

from kapi_runtime.cpu.execution.launch import LaunchShape, ThreadRecord, shape_of
from kapi_runtime.cpu.execution.native_functions import native_functions
from kapi_runtime.cpu.programs.program import CpuKernel
from kapi_runtime.cpu.queues import keep_alive
from kapi_runtime.cpu.queues.events import DONE, CpuEvent
from kapi_runtime.cpu.queues.queue import CpuQueue
from kapi_runtime.cpu.submission import NativeArguments, flush_native, flush_python, native_arguments
from kapi_runtime.platform.current import caller
from kapi_runtime.platform.interface import BuiltKernel, NativeArgument, NativeGraph, Platform
from kapi_runtime.platform.placement_errors import own_kernel
from kapi_sim.forks import reinit_after_fork
from kapi_sim.language.array_memory import ArrayFields

__all__ = ["CpuGraph"]

_ours = partial(own_kernel, CpuKernel, "the CPU")

_ROW = 4
"""Words of a row: code, packed arguments, record, number of work-groups; of a copy 0, target, source, bytes."""


class _Launch(NamedTuple):
    shape: LaunchShape
    native: NativeArguments
    record: ThreadRecord

    @property
    def packed(self) -> int:
        return ctypes.addressof(self.native.packed)

    @property
    def row(self) -> tuple[int, ...]:
        return self.shape.kernel.loaded.address, self.packed, self.record.address, self.shape.count


class _Copy(NamedTuple):
    target: int
    source: int
    nbytes: int

    @property
    def row(self) -> tuple[int, ...]:
        return 0, self.target, self.source, self.nbytes


class _Table:
    """The steps of a graph as they were at some time: what is submitted keeps them when others take their place."""

    __slots__ = ("address", "count", "lock", "prints", "steps", "words")

    def __init__(self, steps: Sequence[_Launch | _Copy]) -> None:
        self.steps, self.count = tuple(steps), len(steps)
        # The last one is where native code writes the first work-group that is left of a launch.
        self.words = (ctypes.c_int64 * (_ROW * self.count + 1))(*(word for step in steps for word in step.row))
        self.address = ctypes.addressof(self.words)
        self.prints = any(isinstance(step, _Launch) and step.shape.kernel.prints for step in steps)
        self.lock = reinit_after_fork(threading.Lock())  # its records are of one thread at a time


class CpuGraph(NativeGraph):
    """The launches and copies of a graph; see `NativeGraph`."""

    def __init__(self, platform: Platform, queue: CpuQueue) -> None:
        super().__init__(platform, queue)
        self._rows: list[_Launch | _Copy] = []
        self._table = _Table(())

    def end(self) -> None:
        self._table = _Table(self._rows)

    def abandon(self) -> None:
        self._rows.clear()

    def is_for(self, queue: Any) -> bool:
        return isinstance(queue, CpuQueue)  # NumPy's arrays belong to none, and the graph's queue keeps the order

    def add_launch(
        self,
        kernel: BuiltKernel,
        arguments: Sequence[NativeArgument],
        global_range: Sequence[int],
        local_range: Sequence[int] | None,
    ) -> int:
        self._rows.append(_new_launch(_ours(kernel), arguments, global_range, local_range))
        return len(self._rows) - 1

    def change_launch(
        self,
        node: int,
        kernel: BuiltKernel,
        arguments: Sequence[NativeArgument],
        global_range: Sequence[int],
        local_range: Sequence[int] | None,
    ) -> None:
        self._rows[node] = _new_launch(_ours(kernel), arguments, global_range, local_range)
        self._table = None  # type: ignore[assignment]  # made anew when it is submitted

    def add_copy(self, target: ArrayFields, source: ArrayFields, nbytes: int) -> None:
        self._rows.append(_Copy(target.pointer, source.pointer, nbytes))

    def submit(self, queue: CpuQueue, before: Sequence[CpuEvent], owners: Any) -> CpuEvent:
        table = self._table
        if table is None:
            table = self._table = _Table(self._rows)
        if table.prints:
            flush_python()
        if caller.waits and not before and queue.is_idle and table.lock.acquire(False):
            try:
                queue.running[table] = None
                _run(table, queue, owners)
            finally:
                queue.running.pop(table, None)
                table.lock.release()
            return DONE

        def work() -> None:
            with table.lock:
                _run(table, queue, None)

        event = queue.enqueue(work, before)
        keep_alive.keep(event, owners)
        return event


def _new_launch(
    kernel: CpuKernel,
    arguments: Sequence[NativeArgument],
    global_range: Sequence[int],
    local_range: Sequence[int] | None,
) -> _Launch:
    assert local_range is not None  # `submitted_range` chose one
    native = native_arguments(arguments)
    shape = shape_of(kernel, global_range, local_range, native.counts)
    return _Launch(shape, native, shape.new_record())


def _run(table: _Table, queue: CpuQueue, owners: Any, first: int = 0) -> None:
    """Run the steps from one on.  Native code leaves a launch that takes long, which several threads then share."""
    replay, address, count, step = native_functions().replay, table.address, table.count, first
    try:
        while step < count:
            step = replay(address, step, count)
            if step < count:
                launch, group = table.steps[step], table.words[_ROW * count]
                assert isinstance(launch, _Launch)  # a copy is done at once
                step += 1
                launch.shape.run(launch.packed, queue, (table, owners), group)
    except BaseException:  # Ctrl-C: what was submitted runs all the same
        if step < count:
            queue.enqueue(lambda: _run(table, queue, owners, step))
        raise
    finally:
        if table.prints:
            flush_native()
