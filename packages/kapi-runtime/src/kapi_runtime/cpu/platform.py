"""`CpuPlatform`: the answers of the CPU, whose arrays are the host's."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

import kapi_cpu
from kapi_runtime.cpu import diagnosis, submission
from kapi_runtime.cpu.devices.device import CpuDevice, cpu_device
from kapi_runtime.cpu.dynamic_plan import make_dynamic_plan
from kapi_runtime.cpu.graph import CpuGraph
from kapi_runtime.cpu.memory import host_api as memory
from kapi_runtime.cpu.memory.allocations import CpuMemory, copy_bytes
from kapi_runtime.cpu.memory.arrays import fields_of
from kapi_runtime.cpu.numba_cuda import CpuNumbaCuda
from kapi_runtime.cpu.plan import make_plan
from kapi_runtime.cpu.programs.program import CpuKernel, built_kernel
from kapi_runtime.cpu.programs.work_group_size import chosen_group
from kapi_runtime.cpu.queues import keep_alive
from kapi_runtime.cpu.queues import queue as queues
from kapi_runtime.cpu.queues.events import CpuEvent, native_events
from kapi_runtime.cpu.queues.queue import CpuQueue
from kapi_runtime.platform.handles import LaunchEvent, describe_device
from kapi_runtime.platform.interface import (
    Allocation,
    BuiltKernel,
    DynamicPlan,
    Findings,
    ForeignCode,
    KernelInformation,
    LaunchPlan,
    MemoryKind,
    NativeArgument,
    Platform,
    Times,
)
from kapi_runtime.platform.placement_errors import other_target_error, own_kernel
from kapi_sim import NdRange, Range
from kapi_sim.errors import KernelCompilationError
from kapi_sim.language.array_memory import ArrayFields

if TYPE_CHECKING:
    from kapi_lowering import KernelModule, Target

__all__ = ["CpuPlatform"]

_ours = partial(own_kernel, CpuKernel, "the CPU")


class CpuPlatform(Platform):
    """The processor that the program runs on; arrays are in the host's memory, and launches use them in place."""

    name = "cpu"
    target = "cpu"
    module_suffix = "object"
    packages = ()
    is_host = True

    # -- arrays

    def fields(self, value: Any) -> ArrayFields | None:
        return fields_of(value, queues.default_queue())

    def queue_of(self, kernel: str, arrays: Sequence[tuple[str, ArrayFields]]) -> CpuQueue:
        return queues.default_queue()

    def copy_call(self, name: str, like: str = "") -> str:
        return f"numpy.asarray({name})"

    # -- devices and queues

    def require_usable(self) -> None:
        """Nothing: a process that is forked has the CPU as well."""

    def devices(self) -> list[CpuDevice]:
        return [cpu_device()]

    def default_device(self) -> CpuDevice:
        return cpu_device()

    def device(self, source: Any) -> CpuDevice | None:
        if isinstance(source, CpuDevice):
            return source
        if isinstance(source, str):
            return self._named(source.strip().lower())
        is_theirs = type(source).__module__.partition(".")[0] == "torch" and getattr(source, "type", "") == "cpu"
        return cpu_device() if is_theirs else None

    def missing_device_message(self) -> str:
        return "the CPU is always there"

    def describe_device(self, device: Any) -> str:
        return describe_device(device)

    def default_queue(self, device: Any) -> CpuQueue:
        return queues.default_queue()

    def new_queue(self, device: Any, in_order: bool, profiling: bool) -> CpuQueue:
        return CpuQueue(in_order)

    def external_queue(self, source: Any) -> CpuQueue | None:
        return source if isinstance(source, CpuQueue) else None

    def describe_queue(self, queue: Any) -> str:
        return queues.describe_queue(queue)

    def queue_id(self, queue: Any) -> int:
        return int(queue.number)

    # -- kernels

    def compile_function(
        self, function: Callable[..., Any], signature: Any, device_function: bool, target: Target, **options: Any
    ) -> tuple[bytes, Any]:
        raise KernelCompilationError(
            f"function `{function.__name__}` must be compiled for a device whose programs load code, got the CPU: "
            "compile it for another device, or decorate it with `@kernel`",
            code="precompiled-code",
        )

    def built(self, module: KernelModule, queue: Any) -> CpuKernel:
        if not isinstance(module, kapi_cpu.CpuModule):
            raise other_target_error(module, "the CPU")
        return built_kernel(module)

    def checked_code(self, form: str, code: Any, entry: str) -> bytes | str:
        raise KernelCompilationError(
            f"code of kernel `{entry}` must be for a device that takes code of other compilers, got {form!r} for the "
            "CPU: write the kernel in Python",
            code="precompiled-code",
        )

    def built_foreign(self, code: ForeignCode, parameters: Sequence[str], queue: Any) -> CpuKernel:
        self.checked_code(code.form, code.code, code.entry)
        raise AssertionError  # which has raised

    def kernel_information(self, kernel: BuiltKernel, queue: Any) -> KernelInformation:
        made = _ours(kernel)
        demanded = made.module.options.sub_group_size
        return KernelInformation(
            device=describe_device(queue.device),
            max_work_group_size=made.max_work_group_size,
            preferred_work_group_size_multiple=made.loaded.lanes,
            private_mem_size=made.loaded.context_bytes // made.loaded.lanes,
            max_sub_group_size=made.loaded.lanes,
            compile_sub_group_size=demanded,
            sub_group_sizes=tuple(queue.device.sub_group_sizes),
            local_mem_size=queue.device.local_mem_size,
        )

    # -- launches

    def submitted_range(
        self, kernel: BuiltKernel, global_range: Sequence[int], local_range: Sequence[int] | None, can_round: bool
    ) -> tuple[list[int], list[int] | None]:
        return list(global_range), chosen_group(global_range) if local_range is None else list(local_range)

    def native_events(self, events: Sequence[Any]) -> list[CpuEvent]:
        return native_events(events)

    def native_arguments(self, queue: Any, arguments: Sequence[NativeArgument]) -> Any:
        return submission.native_arguments(arguments)

    def submit(
        self,
        queue: Any,
        kernel: BuiltKernel,
        native: Any,
        global_range: Sequence[int],
        local_range: Sequence[int] | None,
        before: Sequence[Any],
        owners: Any = None,
    ) -> CpuEvent:
        assert local_range is not None  # `submitted_range` chose one
        return submission.submit(queue, _ours(kernel), native, global_range, local_range, before, owners)

    def earlier_work(self, queue: Any) -> list[CpuEvent]:
        return []

    def note_work(self, queue: Any, event: Any) -> None:
        """Nothing: the queue keeps the order."""

    def host_event(self, event: Any, release: Callable[[], None]) -> LaunchEvent:
        return LaunchEvent(event, release)

    def make_plan(
        self,
        kernel: BuiltKernel,
        queue: Any,
        given: tuple[Any, ...],
        packed: bytes,
        global_range: Sequence[int],
        local_range: Sequence[int] | None,
    ) -> LaunchPlan | None:
        assert local_range is not None  # `submitted_range` chose one
        return make_plan(_ours(kernel), queue, given, packed, global_range, local_range)

    def make_dynamic_plan(
        self,
        kernel: BuiltKernel,
        queue: Any,
        space: Range | NdRange,
        given: tuple[Any, ...],
        packed: bytes,
        local_range: Sequence[int] | None,
    ) -> DynamicPlan | None:
        return make_dynamic_plan(_ours(kernel), queue, space, given, packed)

    def new_graph(self, queue: Any, is_named: bool) -> CpuGraph:
        return CpuGraph(self, queue)

    # -- marks and time

    def mark(self, queue: Any, timing: bool) -> tuple[CpuEvent, CpuEvent | None]:
        event = queue.submit_barrier()
        return event, event if timing else None

    def hold(self, queue: Any, event: Any) -> None:
        queue.submit_barrier([event])

    def elapsed_ns(self, start: Any, end: Any) -> int:
        return int(end.ended - start.ended)

    def submit_timed(self, queue: Any, before: Sequence[Any], run: Callable[[Any, list[Any]], Any]) -> CpuEvent:
        event: CpuEvent = run(queue, list(before))
        return event

    def times(self, event: Any) -> Times:
        event.wait()
        return Times(event.submitted, event.started, event.ended)

    # -- what launches use

    def keep(self, queue: Any, event: Any, owners: Any) -> None:
        keep_alive.keep(event, owners)

    def release(self) -> None:
        keep_alive.release()

    def finish(self, device: Any = None) -> None:
        if device is None or isinstance(device, CpuDevice):
            for each in queues.every_queue():
                each.wait()
            keep_alive.release()

    # -- memory

    def allocate(self, queue: Any, nbytes: int, zeroed: bool = False) -> CpuMemory:
        return CpuMemory(nbytes, zeroed)

    def copy_in(self, queue: Any, target: Allocation, source: np.ndarray[Any, Any]) -> None:
        self._copied(queue, target.pointer, source.ctypes.data, source.nbytes)

    def copy_out(self, queue: Any, target: np.ndarray[Any, Any], source: Allocation) -> None:
        self._copied(queue, target.ctypes.data, source.pointer, target.nbytes)

    def reads_host_memory(self, queue: Any) -> bool:
        return True

    def new_array(self, shape: tuple[int, ...], dtype: np.dtype[Any], kind: MemoryKind, queue: Any, fill: Any) -> Any:
        memory.queue_named(queue)
        return memory.new(shape, dtype, fill)

    def array_of(self, values: Any, dtype: Any, kind: MemoryKind | None, queue: Any, copy: bool | None) -> Any:
        memory.queue_named(queue).wait()
        return memory.asarray(values, dtype, copy)

    def to_host(self, array: Any) -> np.ndarray[Any, Any]:
        queues.default_queue().wait()
        return np.array(memory.host_array_of(array))

    def copy_array(self, source: Any, target: Any) -> None:
        queues.default_queue().wait()
        memory.host_array_of(target)[...] = memory.host_array_of(source)

    def submit_copy(
        self, queue: Any, target: ArrayFields, source: ArrayFields, nbytes: int, before: Sequence[Any]
    ) -> CpuEvent:
        event: CpuEvent = queue.enqueue(lambda: copy_bytes(target.pointer, source.pointer, nbytes), before)
        return event

    def memory_kind(self, array: Any) -> MemoryKind:
        return "host"

    def array_like(self, arrays: Sequence[Any], shape: Any, dtype: Any) -> Any:
        return memory.new(shape, dtype, None)

    # -- numba.cuda's host API

    @cached_property
    def numba_cuda(self) -> CpuNumbaCuda:
        return CpuNumbaCuda()

    # -- what is there

    def findings(self) -> Findings:
        return diagnosis.findings()

    def versions(self, device: Any) -> Collection[tuple[str, str]]:
        return diagnosis.versions(device)

    def _copied(self, queue: CpuQueue, target: int, source: int, nbytes: int) -> None:
        memory.recorded(self, queue, "host to host", nbytes, lambda: copy_bytes(target, source, nbytes))

    def _named(self, name: str) -> CpuDevice | None:
        device = cpu_device()
        return device if name in ("cpu", "cpu:0") or (name and name in device.name.lower()) else None
