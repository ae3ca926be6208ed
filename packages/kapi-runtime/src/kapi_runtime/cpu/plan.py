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
from kapi_runtime.cpu.execution.launch import LONG_NS, LaunchShape, ThreadRecord, shape_of
from kapi_runtime.cpu.packing import Pack, accessor_counts, packing_of
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

    __slots__ = ("address", "buffer", "record")

    def __init__(self, packed: bytes, record: ThreadRecord) -> None:
        self.buffer = (ctypes.c_char * len(packed)).from_buffer_copy(packed)
        self.address = ctypes.addressof(self.buffer)
        self.record = record


class CpuPlan:
    """A launch that is ready but for its arguments; `make_plan` makes it.

    Attributes
    ----------
    queue : CpuQueue
        Where it is submitted.
    """

    __slots__ = ("_bound", "_code", "_free", "_pack", "_packed", "_shape", "queue")

    def __init__(self, shape: LaunchShape, queue: CpuQueue, packed: bytes, pack: Pack) -> None:
        self._shape, self.queue, self._packed, self._pack = shape, queue, packed, pack
        self._code = shape.kernel.loaded.address
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
        position = host_array_target.get()
        if (default_queue() if position is None else position.queue) is not self.queue:
            return None
        queue, shape = self.queue, self._shape
        try:
            slot = self._free.pop()
        except IndexError:
            slot = self._new_slot()
        runs_here = caller.waits and not before and queue.is_idle
        left = start = 0
        if runs_here and shape.last_ns < LONG_NS:
            queue.running[slot] = None
            start = perf_counter_ns()
            try:
                next_ = self._pack(given, slot.buffer, slot.address, self._code, slot.record.address, shape.count)
            except BaseException:
                shape.resume(slot.record, slot.address, queue, (given, slot))
                raise
            finally:
                del queue.running[slot]
        else:
            next_ = self._pack(given, slot.buffer, slot.address, 0, 0, 0)
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
        return self._pack(given, self._bound.buffer, self._bound.address, 0, 0, 0) == 0

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
        return _Slot(self._packed, self._shape.new_record())

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
    pack = packing_of(module, given)
    if pack is None:
        return None
    buffer = (ctypes.c_char * len(packed)).from_buffer_copy(packed)
    address = ctypes.addressof(buffer)
    for field in module.layout.fields:
        if field.role in ("pointer", "value"):
            ctypes.memset(address + field.offset, 0xA5, struct.calcsize("<" + field.code))
    if pack(given, buffer, address, 0, 0, 0) or bytes(buffer) != packed:
        return None
    return CpuPlan(shape_of(kernel, global_range, local_range, accessor_counts(given)), queue, packed, pack)
