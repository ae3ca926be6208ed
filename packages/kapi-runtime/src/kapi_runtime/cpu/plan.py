"""Plans of repeated launches, made by the first: the launch's shape, packed arguments, and the form of arrays.

A plan is for arrays of the same types, shapes and strides on the same queue: a launch then writes their addresses, and
the numbers, into the packed arguments of the first launch.  Whatever is not as it was goes the slow path, which
raises the errors.

Before a plan is used, it packs the arguments that it was made for, and the bytes must be those of the slow path.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Sequence
from time import perf_counter_ns
from typing import Any, Literal

from kapi_runtime.cpu.devices.device import CpuDevice
from kapi_runtime.cpu.execution.launch import LONG_NS, LaunchShape, shape_of
from kapi_runtime.cpu.execution.native_functions import ArrayTable, LaunchCall, native_functions
from kapi_runtime.cpu.packing import Packing, accessor_counts, packing_of
from kapi_runtime.cpu.programs.program import CpuKernel
from kapi_runtime.cpu.queues import keep_alive
from kapi_runtime.cpu.queues.events import DONE, CpuEvent, native_events
from kapi_runtime.cpu.queues.queue import CpuQueue, default_queue
from kapi_runtime.platform.current import caller, host_array_target
from kapi_sim.errors import KernelLaunchError

__all__ = ["CpuPlan", "make_plan"]

_DONE = DONE, DONE


class _Slot:
    """The packed arguments of one launch in flight, and a record that names all work-groups."""

    __slots__ = ("_call", "address", "buffer", "call", "record", "run")

    def __init__(self, packed: bytes, table: ArrayTable, shape: LaunchShape) -> None:
        self.buffer = (ctypes.c_char * len(packed)).from_buffer_copy(packed)
        self.address = ctypes.addressof(self.buffer)
        self.record = shape.new_record()
        self._call = LaunchCall(self.address, table, shape.kernel.loaded.address, self.record.address, shape.count)
        self.call, self.run = self._call.address, self._call.method()


class CpuPlan:
    """A launch that is ready but for its arguments; `make_plan` makes it."""

    __slots__ = ("_bound", "_free", "_is_of_default_queue", "_pack", "_packed", "_shape", "_table", "_write", "queue")

    def __init__(self, shape: LaunchShape, queue: CpuQueue, packed: bytes, packing: Packing) -> None:
        self._shape, self.queue, self._packed = shape, queue, packed
        self._table, self._write, self._pack = packing.table, packing.write, native_functions().pack
        self._is_of_default_queue = queue is default_queue()
        self._free: list[_Slot] = []
        self._bound = self._new_slot()

    @property
    def device(self) -> CpuDevice:
        """The device that it launches on."""
        return self.queue.device

    def launch(self, given: tuple[Any, ...], before: list[Any]) -> tuple[CpuEvent, CpuEvent] | Literal[False] | None:
        """Launch with these arguments after these events, and return the host event and the device event.

        None if the arguments are not the plan's; False if an event is none of the CPU's.
        """
        queue, shape = self.queue, self._shape
        position = host_array_target.get()
        if not self._is_of_default_queue if position is None else position.queue is not queue:
            return None
        try:
            slot = self._free.pop()
        except IndexError:
            slot = self._new_slot()
        if (write := self._write) is not None and not write(given, slot.buffer):
            self._free.append(slot)
            return None
        # `queue.is_idle`, without the call of a property
        runs_here = caller.waits and not before and queue.last is None and not (queue.is_in_order and queue.running)
        left = start = 0
        if runs_here and shape.last_ns < LONG_NS:
            queue.running[slot] = None
            start = perf_counter_ns()
            try:
                next_ = slot.run(given)
            except BaseException:
                shape.resume(slot.record, slot.address, queue, (given, slot))
                raise
            finally:
                del queue.running[slot]
        else:
            next_ = self._pack(given, slot.call)
        if next_ < 0:
            self._free.append(slot)
            return None
        if runs_here:
            if next_ < shape.count:
                if next_:
                    left = max(LONG_NS, (perf_counter_ns() - start) * (shape.count - next_) // next_)
                shape.run(slot.address, queue, (given, slot), next_, left)
            self._free.append(slot)
            return _DONE
        return self._submitted(slot, given, before)

    def pack(self, given: tuple[Any, ...]) -> bool:
        """Pack the arguments for `send`; False if they are not the plan's."""
        if self._write is not None and not self._write(given, self._bound.buffer):
            return False
        return self._pack(given, self._bound.call) == 0

    def send(self, owners: Any, before: list[Any]) -> tuple[CpuEvent, CpuEvent] | Literal[False]:
        """Launch with what was packed last, and keep `owners` alive until it has run; False as for `launch`."""
        # The next launch may be packed before this one runs.
        try:
            slot = self._free.pop()
        except IndexError:
            slot = self._new_slot()
        ctypes.memmove(slot.address, self._bound.address, len(self._packed))
        return self._submitted(slot, owners, before)

    def _new_slot(self) -> _Slot:
        return _Slot(self._packed, self._table, self._shape)

    def _submitted(self, slot: _Slot, owners: Any, before: list[Any]) -> tuple[CpuEvent, CpuEvent] | Literal[False]:
        try:
            events = native_events(before) if before else before
        except KernelLaunchError:
            self._free.append(slot)
            return False
        shape, free, queue = self._shape, self._free, self.queue

        def work() -> None:
            shape.run(slot.address, queue, slot)
            free.append(slot)

        event = self.queue.enqueue(work, events)
        keep_alive.keep(event, owners)
        return event, event


def make_plan(
    kernel: CpuKernel,
    queue: CpuQueue,
    given: tuple[Any, ...],
    packed: bytes,
    global_range: Sequence[int],
    local_range: Sequence[int],
) -> CpuPlan | None:
    """Return the plan of a launch that was validated, or None; see `Launcher.make_plan`."""
    module = kernel.module
    if not packed or kernel.prints:
        return None
    packing = packing_of(module, given)
    if packing is None:
        return None
    buffer = (ctypes.c_char * len(packed)).from_buffer_copy(packed)
    address = ctypes.addressof(buffer)
    for field in module.layout.fields:
        if field.role in ("pointer", "value"):
            ctypes.memset(address + field.offset, 0xA5, struct.calcsize("<" + field.code))
    if not packing.packs(given, buffer) or bytes(buffer) != packed:
        return None
    return CpuPlan(shape_of(kernel, global_range, local_range, accessor_counts(given)), queue, packed, packing)
