"""Plan of launches over arrays of the same types, whatever their shapes, and over global ranges of one rank.

It spares what the types of arguments alone decide: the queue, the kernel, the checks of numbers.  Arrays and the index
space are read at each launch, so a plan of one index space is several times as quick.  Arrays of which one is
written and that may share memory are left to the slow path, which looks at their elements.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from kapi_runtime.cpu import submission
from kapi_runtime.cpu.devices.device import CpuDevice
from kapi_runtime.cpu.memory.arrays import fields_of
from kapi_runtime.cpu.packing import accessor_counts
from kapi_runtime.cpu.programs.program import CpuKernel
from kapi_runtime.cpu.programs.work_group_size import chosen_group
from kapi_runtime.cpu.queues import keep_alive
from kapi_runtime.cpu.queues.events import CpuEvent, native_events
from kapi_runtime.cpu.queues.queue import CpuQueue, default_queue
from kapi_runtime.platform.current import host_array_target
from kapi_sim import LocalAccessor, NdRange, Range
from kapi_sim.errors import DtypeError, KernelLaunchError
from kapi_sim.language.array_memory import may_share

__all__ = ["CpuDynamicPlan", "make_dynamic_plan"]


class CpuDynamicPlan:
    """A launch that is ready but for its arguments and index space; `make_dynamic_plan` makes it.

    - `yields_to_plans`: as `DynamicPlan` says.
    """

    __slots__ = ("_counts", "_forms", "_is_of_default_queue", "_kernel", "_local", "queue")

    yields_to_plans = True

    def __init__(
        self, kernel: CpuKernel, queue: CpuQueue, forms: Sequence[Any], counts: tuple[int, ...], local: Range | None
    ) -> None:
        self._kernel, self.queue, self._forms, self._counts, self._local = kernel, queue, forms, counts, local
        self._is_of_default_queue = queue is default_queue()

    @property
    def device(self) -> CpuDevice:
        """The device that it launches on."""
        return self.queue.device

    def launch(
        self, global_range: Range, given: tuple[Any, ...], before: list[Any]
    ) -> tuple[CpuEvent, CpuEvent] | Literal[False] | None:
        """Launch over a global range with these arguments after these events; see `DynamicPlan.launch`."""
        queue, kernel = self.queue, self._kernel
        position = host_array_target.get()
        if not self._is_of_default_queue if position is None else position.queue is not queue:
            return None
        packed = self.packed(global_range, given)
        if packed is None:
            return None
        try:
            events = native_events(before) if before else []
        except KernelLaunchError:
            return False
        native = submission.NativeArguments((ctypes.c_char * len(packed)).from_buffer_copy(packed), self._counts)
        owners = given, native, kernel
        full, local = self._submitted(global_range)
        event = submission.submit(queue, kernel, native, full, local, events, owners)
        keep_alive.keep(event, owners)
        return event, event

    def packed(self, global_range: Range, given: tuple[Any, ...]) -> bytes | None:
        """Return the packed argument of a launch; None if it is not the plan's."""
        kernel = self._kernel
        if not 0 < global_range.size <= kernel.max_work_items:
            return None
        read = self._read(given)
        if read is None:
            return None
        try:
            return kernel.module.packed(kernel.module.packed_extents(global_range, self._local), read)
        except (struct.error, OverflowError):
            return None

    def _read(self, given: tuple[Any, ...]) -> list[Any] | None:
        """The arguments as they are packed; None if their types or sizes are others, or arrays may share memory."""
        if len(given) != len(self._forms):
            return None
        read: list[Any] = []
        arrays: list[tuple[bool, int, int]] = []
        for value, form, parameter in zip(given, self._forms, self._kernel.module.parameters, strict=True):
            if _form_of(value) != form[0]:
                return None
            if parameter.kind == "array":
                try:
                    fields = fields_of(value, None)
                except DtypeError:
                    return None
                if fields is None or fields.layout != form[1]:
                    return None
                if parameter.is_written and form[1] == "A" and fields.overlaps_itself:
                    return None
                value, (low, high) = fields, fields.span
                if any((parameter.is_written or wrote) and may_share(low, high, *span) for wrote, *span in arrays):
                    return None
                arrays.append((parameter.is_written, low, high))
            read.append(value)
        return read

    def _submitted(self, global_range: Range) -> tuple[list[int], list[int]]:
        full = list(global_range)
        if self._local is None:
            return full, chosen_group(full)
        return ([global_range.size], [self._local.size]) if self._kernel.module.is_linear else (full, list(self._local))


def make_dynamic_plan(
    kernel: CpuKernel, queue: CpuQueue, space: Range | NdRange, given: tuple[Any, ...], packed: bytes
) -> CpuDynamicPlan | None:
    """Return the plan of a launch that was validated, or None; see `Launcher.make_dynamic_plan`."""
    module = kernel.module
    if not packed or kernel.prints or len(given) != len(module.parameters):
        return None
    if module.target.is_small or module.target.reads_apart:  # what the slow path asks of arrays
        return None
    forms = []
    for value, parameter in zip(given, module.parameters, strict=True):
        form = _form_of(value)
        if form is None:
            return None
        fields = fields_of(value, None) if parameter.kind == "array" else None
        forms.append((form, None if fields is None else fields.layout))
    local = space.local_range if isinstance(space, NdRange) else None
    plan = CpuDynamicPlan(kernel, queue, forms, tuple(accessor_counts(given)), local)
    full = space if isinstance(space, Range) else space.global_range
    return plan if plan.packed(full, given) == packed else None


def _form_of(value: Any) -> Any:
    """The parts of an argument that launches of a plan share: class, dtype and rank of an array, class of a number."""
    kind = type(value)
    if issubclass(kind, np.ndarray):
        return kind, value.dtype, value.ndim, value.flags.writeable
    if kind is LocalAccessor:
        return value
    return kind if kind in (bool, int, float, complex) or issubclass(kind, np.number | np.bool_) else None
