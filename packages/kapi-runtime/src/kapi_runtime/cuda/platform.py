"""`CudaPlatform`: the answers of NVIDIA's GPUs, through CUDA's driver."""

from __future__ import annotations

import ctypes
import dataclasses
from collections.abc import Callable, Collection, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

import kapi_ptx
from kapi_runtime.cuda import diagnosis, submission
from kapi_runtime.cuda.devices import driver
from kapi_runtime.cuda.devices.device import CudaDevice, all_devices
from kapi_runtime.cuda.dynamic_plan import make_dynamic_plan
from kapi_runtime.cuda.execution_queue import execution_queue
from kapi_runtime.cuda.graph import CudaGraph
from kapi_runtime.cuda.memory import host_api as memory
from kapi_runtime.cuda.memory.allocations import CudaMemory, copy_from_device, copy_to_device, submit_copy
from kapi_runtime.cuda.memory.arrays import cuda_fields
from kapi_runtime.cuda.numba_cuda import CudaNumbaCuda
from kapi_runtime.cuda.plan import make_plan
from kapi_runtime.cuda.programs import foreign_kernels
from kapi_runtime.cuda.programs import program as programs
from kapi_runtime.cuda.programs.program import CudaKernel
from kapi_runtime.cuda.programs.work_group_size import submitted_range
from kapi_runtime.cuda.queues import keep_alive, timing
from kapi_runtime.cuda.queues import queue as queues
from kapi_runtime.cuda.queues.events import CudaEvent, native_events, recorded_event, wait_on_stream
from kapi_runtime.cuda.queues.queue import CudaQueue
from kapi_runtime.platform import current
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
from kapi_sim.errors import DeviceNotFoundError, DriverError, message_of
from kapi_sim.language.array_memory import ArrayFields

if TYPE_CHECKING:
    from kapi_lowering import KernelModule

__all__ = ["CudaPlatform"]

_ours = partial(own_kernel, CudaKernel, "a CUDA device")


class CudaPlatform(Platform):
    """GPUs of NVIDIA's; arrays carry no queue, and a launch follows the stream that their library uses at present."""

    name = "cuda"
    target = "ptx"
    module_suffix = "ptx"
    packages = ("cuda-bindings", "nvidia-nvvm", "cupy-cuda13x", "torch", "numba-cuda")
    groups_finish = True

    # -- arrays

    def fields(self, value: Any) -> ArrayFields | None:
        return cuda_fields(value)

    def queue_of(self, kernel: str, arrays: Sequence[tuple[str, ArrayFields]]) -> CudaQueue:
        return execution_queue(kernel, arrays, self._current_device())

    def copy_call(self, name: str, like: str = "") -> str:
        return f"kapi.memory.asarray({name}, queue=kapi.default_queue('cuda'))" if not like else f"cupy.asarray({name})"

    # -- devices and queues

    def require_usable(self) -> None:
        driver.require_no_fork()

    def devices(self) -> list[CudaDevice]:
        try:
            return [device for device in all_devices() if device.is_usable]
        except (DeviceNotFoundError, DriverError):
            return []

    def default_device(self) -> CudaDevice | None:
        return next(iter(self.devices()), None)

    def device(self, source: Any) -> CudaDevice | None:
        if isinstance(source, CudaDevice):
            return source
        if isinstance(source, str):
            return self._named(source)
        kind = str(getattr(source, "type", ""))
        if kind == "cuda":  # torch.device
            return self._at(getattr(source, "index", None) or 0)
        if type(source).__module__.partition(".")[0] == "cupy":
            return self._at(getattr(source, "id", None))
        return None

    def missing_device_message(self) -> str:
        try:
            found = all_devices()
        except (DeviceNotFoundError, DriverError) as error:
            return message_of(error)
        names = ", ".join(map(describe_device, found)) or "none"
        return f"a CUDA device must have compute capability 7.5 or more, got {names}"

    def describe_device(self, device: Any) -> str:
        return describe_device(device)

    def default_queue(self, device: Any) -> CudaQueue:
        return queues.default_queue(device)

    def new_queue(self, device: Any, in_order: bool, profiling: bool) -> CudaQueue:
        return queues.new_queue(device)

    def external_queue(self, source: Any) -> CudaQueue | None:
        address = getattr(source, "value", None) if isinstance(source, ctypes.c_void_p) else source
        if isinstance(address, (int, np.integer)) and not isinstance(address, bool):
            return queues.queue_of_handle(int(address))
        return queues.queue_of_stream(source)

    def describe_queue(self, queue: Any) -> str:
        return queues.describe_queue(queue)

    def queue_id(self, queue: Any) -> int:
        return int(queue.handle)

    # -- kernels

    def launch_target(self, device: Any, is_small: bool, reads_apart: bool) -> kapi_ptx.PtxTarget:
        target: kapi_ptx.PtxTarget = device.target
        return dataclasses.replace(target, is_small=is_small, reads_apart=reads_apart)

    def built(self, module: KernelModule, queue: Any) -> CudaKernel:
        if not isinstance(module, kapi_ptx.PtxModule):
            raise other_target_error(module, "CUDA")
        return programs.built_kernel(module, queue.device)

    def checked_code(self, form: str, code: Any, entry: str) -> bytes | str:
        return foreign_kernels.checked_code(form, code, entry)

    def built_foreign(self, code: ForeignCode, parameters: Sequence[str], queue: Any) -> CudaKernel:
        return foreign_kernels.built_foreign(code, parameters, queue)

    def kernel_information(self, kernel: BuiltKernel, queue: Any) -> KernelInformation:
        made = _ours(kernel)
        return KernelInformation(
            device=describe_device(queue.device),
            max_work_group_size=made.max_work_group_size,
            preferred_work_group_size_multiple=32,
            private_mem_size=made.function.local_bytes,
            max_sub_group_size=32,
            compile_sub_group_size=32,
            sub_group_sizes=(32,),
            local_mem_size=queue.device.local_mem_size,
        )

    # -- launches

    def submitted_range(
        self, kernel: BuiltKernel, global_range: Sequence[int], local_range: Sequence[int] | None, can_round: bool
    ) -> tuple[list[int], list[int] | None]:
        return submitted_range(_ours(kernel), global_range, local_range, can_round)

    def native_events(self, events: Sequence[Any]) -> list[CudaEvent]:
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
    ) -> CudaEvent:
        assert local_range is not None  # `submitted_range` chose one
        return submission.submit(queue, _ours(kernel), native, global_range, local_range, before)

    def earlier_work(self, queue: Any) -> list[CudaEvent]:
        return [recorded_event(queue.device, other.handle) for other in queue.others]

    def note_work(self, queue: Any, event: Any) -> None:
        for other in queue.others:
            wait_on_stream(queue.device, other.handle, event)

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
        assert local_range is not None  # `submitted_range` chose one
        return make_dynamic_plan(_ours(kernel), queue, space, given, packed, local_range)

    def new_graph(self, queue: Any, is_named: bool) -> CudaGraph:
        return CudaGraph(self, queue, is_named)

    # -- marks and time

    def mark(self, queue: Any, timing: bool) -> tuple[CudaEvent, CudaEvent | None]:
        event = recorded_event(queue.device, queue.handle, timing)
        return event, event if timing else None

    def hold(self, queue: Any, event: Any) -> None:
        wait_on_stream(queue.device, queue.handle, event)

    def elapsed_ns(self, start: Any, end: Any) -> int:
        return int(start.elapsed_ns(end))

    def submit_timed(self, queue: Any, before: Sequence[Any], run: Callable[[Any, list[Any]], Any]) -> CudaEvent:
        return timing.submit_timed(queue, before, run)

    def times(self, event: Any) -> Times:
        return timing.times(event)

    # -- what launches use

    def keep(self, queue: Any, event: Any, owners: Any) -> None:
        keep_alive.keep(queue, event, owners)

    def release(self) -> None:
        keep_alive.release()

    def finish(self, device: Any = None) -> None:
        keep_alive.finish(device)

    # -- memory

    def allocate(self, queue: Any, nbytes: int, zeroed: bool = False) -> CudaMemory:
        made = CudaMemory(queue.device, nbytes)
        if zeroed:
            made.fill_with_zeros(queue)
        return made

    def copy_in(self, queue: Any, target: Allocation, source: np.ndarray[Any, Any]) -> None:
        self._copied(queue, "host to device", source.nbytes, lambda: copy_to_device(queue, target.pointer, source))

    def copy_out(self, queue: Any, target: np.ndarray[Any, Any], source: Allocation) -> None:
        self._copied(queue, "device to host", target.nbytes, lambda: copy_from_device(queue, target, source.pointer))

    def reads_host_memory(self, queue: Any) -> bool:
        return bool(queue.device.reads_host_memory)

    def new_array(self, shape: tuple[int, ...], dtype: np.dtype[Any], kind: MemoryKind, queue: Any, fill: Any) -> Any:
        named = memory.queue_named(queue)
        return memory.new(shape, dtype, kind, named or self._current_queue(), named is not None, fill)

    def array_of(self, values: Any, dtype: Any, kind: MemoryKind | None, queue: Any, copy: bool | None) -> Any:
        return memory.asarray(self, values, dtype, kind, memory.queue_named(queue), self._current_queue(), copy)

    def to_host(self, array: Any) -> np.ndarray[Any, Any]:
        return memory.to_host(self, array)

    def copy_array(self, source: Any, target: Any) -> None:
        memory.copy_array(self, source, target)

    def submit_copy(
        self, queue: Any, target: ArrayFields, source: ArrayFields, nbytes: int, before: Sequence[Any]
    ) -> CudaEvent:
        return submit_copy(queue, target, source, nbytes, before)

    def memory_kind(self, array: Any) -> MemoryKind:
        return memory.kind_of(array)

    def array_like(self, arrays: Sequence[Any], shape: Any, dtype: Any) -> Any:
        return memory.like(arrays, shape, dtype)

    # -- numba.cuda's host API

    @cached_property
    def numba_cuda(self) -> CudaNumbaCuda:
        return CudaNumbaCuda(self._current_queue)

    # -- what is there

    def findings(self) -> Findings:
        return diagnosis.findings(self)

    def versions(self, device: Any) -> Collection[tuple[str, str]]:
        return diagnosis.versions(device)

    def _copied(self, queue: CudaQueue, name: str, nbytes: int, run: Callable[[], None]) -> None:
        memory._recorded(self, queue, name, nbytes, run)

    def _current_device(self) -> CudaDevice:
        device = current.current()
        if isinstance(device, CudaDevice):
            return device
        found = self.default_device()
        if found is None:
            raise DeviceNotFoundError(self.missing_device_message(), code="no-device")
        return found

    def _current_queue(self) -> CudaQueue:
        return queues.default_queue(self._current_device())

    def _named(self, name: str) -> CudaDevice | None:
        text = name.strip().lower()
        if text in ("cuda", "cuda:gpu"):
            return self.default_device()
        kind, _, number = text.rpartition(":")
        if kind in ("cuda", "cuda:gpu") and number.isdecimal():
            return self._at(int(number))
        return next((device for device in self.devices() if text and text in device.name.lower()), None)

    def _at(self, ordinal: Any) -> CudaDevice | None:
        return next((device for device in self.devices() if device.ordinal == ordinal), None)
