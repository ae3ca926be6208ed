"""`SyclPlatform`: the answers of SYCL devices, through dpctl."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import dpctl
import numpy as np
from dpctl import SyclKernelInvalidRangeError, SyclKernelSubmitError
from dpctl.memory import MemoryUSMDevice, USMAllocationError
from dpctl.utils import SequentialOrderManager, intel_device_info

from kapi_runtime.platform.interface import (
    Allocation,
    BuiltKernel,
    Findings,
    ForeignCode,
    KernelInformation,
    LaunchPlan,
    MemoryKind,
    NativeArgument,
    Platform,
    Times,
)
from kapi_runtime.platform.numba_cuda_arrays import HostReadableArray
from kapi_runtime.platform.placement_errors import other_target_error, placement_error
from kapi_runtime.sycl import diagnosis
from kapi_runtime.sycl.devices import discovery
from kapi_runtime.sycl.devices.device import DpctlDevice
from kapi_runtime.sycl.devices.device_summary import describe_device
from kapi_runtime.sycl.devices.fork_check import require_no_fork
from kapi_runtime.sycl.devices.usable import usable_devices
from kapi_runtime.sycl.execution_queue import execution_queue
from kapi_runtime.sycl.memory import host_api as memory
from kapi_runtime.sycl.memory.copying import copy_array, copy_bytes
from kapi_runtime.sycl.memory.usm_array import UsmArray, copy_call, shared_array_of
from kapi_runtime.sycl.memory.usm_bytes import memory_at, require_memory
from kapi_runtime.sycl.native.native_functions import DONE
from kapi_runtime.sycl.numba_cuda import SyclNumbaCuda
from kapi_runtime.sycl.programs.work_group_size import rounded_range
from kapi_runtime.sycl.queues import events, keep_alive
from kapi_runtime.sycl.queues import queue as queues
from kapi_runtime.sycl.queues.interruptible_waits import wait_for
from kapi_runtime.sycl.queues.queue import queue_of
from kapi_sim.errors import KernelLaunchError, UsmAllocationError
from kapi_sim.language.array_memory import ArrayFields
from kapi_sim.language.usm_protocol import is_usm_array
from kapi_types.usm.structures import array_fields, structure_fields

if TYPE_CHECKING:
    from kapi_lowering import KernelModule
    from kapi_runtime.sycl.programs.program import DeviceKernel, SyclKernel
    from kapi_sim import LocalAccessor
    from kapi_spirv import SpirvTarget

__all__ = ["SyclPlatform"]

_COMPLETE = dpctl.event_status_type.complete


class _Memory:
    """Memory of a device, from dpctl."""

    __slots__ = ("native",)

    def __init__(self, native: Any) -> None:
        self.native = native

    @property
    def pointer(self) -> int:
        """Its address."""
        return int(self.native._pointer)

    def read(self, nbytes: int) -> bytes:
        """Return its first bytes."""
        return bytes(self.native.copy_to_host())[:nbytes]


class SyclPlatform(Platform):
    """Devices with unified shared memory, which dpctl and dpnp know; arrays carry a queue."""

    name = "sycl"
    target = "spirv"
    module_suffix = "spirv"
    packages = ("dpctl", "dpnp", "intel-sycl-rt", "intel-opencl-rt")

    # -- arrays

    def fields(self, value: Any) -> ArrayFields | None:
        if isinstance(value, HostReadableArray):
            value = value.device_array
        if isinstance(value, UsmArray):
            return value.fields
        if is_usm_array(value):
            fields = structure_fields(value)
            if fields is None:
                fields = array_fields(value)
                queue = queue_of(fields.owner)  # once: a capsule is used up by it
                if queue is not None:  # else it is refused with the other queues of the launch
                    fields = dataclasses.replace(fields, owner=queue)
                    require_memory(fields)
            return fields
        shared = shared_array_of(value)
        return None if shared is None else array_fields(shared)

    def queue_of(self, kernel: str, arrays: Sequence[tuple[str, ArrayFields]]) -> Any:
        return execution_queue(kernel, [(name, fields.owner) for name, fields in arrays])

    def copy_call(self, name: str, like: str = "") -> str:
        return copy_call(name, f"{like}.sycl_queue" if like else "")

    # -- devices and queues

    def require_usable(self) -> None:
        require_no_fork()

    def devices(self) -> list[DpctlDevice]:
        return [DpctlDevice(device) for device in usable_devices()]

    def default_device(self) -> DpctlDevice | None:
        return discovery.default_device()

    def device(self, source: Any) -> DpctlDevice | None:
        return discovery.device_of(source)

    def missing_device_message(self) -> str:
        return discovery.missing_device_message()

    def describe_device(self, device: Any) -> str:
        return describe_device(device)

    def default_queue(self, device: Any) -> queues.DpctlQueue:
        return queues.default_queue(device)

    def new_queue(self, device: Any, in_order: bool, profiling: bool) -> queues.DpctlQueue:
        return queues.new_queue(device, in_order, profiling)

    def external_queue(self, source: Any) -> queues.DpctlQueue | None:
        return queues.external_queue(source)

    def device_of(self, queue: Any) -> DpctlDevice:
        return DpctlDevice(queue.sycl_device)

    def describe_queue(self, queue: Any) -> str:
        return queues.describe_queue(queue)

    def build_key(self, queue: Any) -> tuple[Any, ...]:
        return queue.sycl_device, queue.sycl_context

    def queue_id(self, queue: Any) -> int:
        return int(queue.addressof_ref())

    def memory_info(self, device: Any) -> tuple[int | None, int]:
        free = intel_device_info(device).get("free_memory")
        return None if free is None else int(free), int(device.global_mem_size)

    # -- kernels: a program that has none needs no SPIR-V

    def target_of(self, device: Any) -> SpirvTarget:
        from kapi_runtime.sycl.devices.targets import target_of

        return target_of(device)

    def launch_target(self, device: Any, is_small: bool, reads_apart: bool) -> SpirvTarget:
        return dataclasses.replace(self.target_of(device), is_small=is_small, reads_apart=reads_apart)

    def built(self, module: KernelModule, queue: Any) -> DeviceKernel:
        from kapi_runtime.sycl.programs.program import device_kernel
        from kapi_spirv import SpirvModule

        if not isinstance(module, SpirvModule):
            raise other_target_error(module, "SYCL")
        return device_kernel(module, queue)

    def checked_code(self, form: str, code: Any, entry: str) -> bytes | str:
        from kapi_runtime.sycl.programs import foreign_kernels

        return foreign_kernels.checked_code(form, code, entry)

    def built_foreign(self, code: ForeignCode, parameters: Sequence[str], queue: Any) -> SyclKernel:
        from kapi_runtime.sycl.programs import foreign_kernels

        return foreign_kernels.built_foreign(code, parameters, queue)

    def kernel_information(self, kernel: BuiltKernel, queue: Any) -> KernelInformation:
        device, native = queue.sycl_device, kernel.native
        return KernelInformation(
            device=describe_device(device),
            max_work_group_size=min(native.work_group_size, device.max_work_group_size),
            preferred_work_group_size_multiple=native.preferred_work_group_size_multiple,
            private_mem_size=native.private_mem_size,
            max_sub_group_size=native.max_sub_group_size,
            compile_sub_group_size=native.compile_sub_group_size or None,
            sub_group_sizes=tuple(device.sub_group_sizes),
            local_mem_size=device.local_mem_size,
        )

    # -- launches

    def submitted_range(
        self, kernel: BuiltKernel, global_range: Sequence[int], local_range: Sequence[int] | None, can_round: bool
    ) -> tuple[list[int], list[int] | None]:
        if can_round:
            # Only what kapi compiled, a `DeviceKernel`, can be rounded.
            own = cast("DeviceKernel", kernel)
            return rounded_range(global_range, own.compute_units, own.max_work_group_size, own.has_loops)
        return list(global_range), None if local_range is None else list(local_range)

    def native_events(self, given: Sequence[Any]) -> list[Any]:
        return events.native_events(given)

    def native_arguments(self, queue: Any, arguments: Sequence[NativeArgument]) -> list[Any]:
        return [_native_argument(argument, queue) for argument in arguments]

    def submit(
        self,
        queue: Any,
        kernel: BuiltKernel,
        native: Sequence[Any],
        global_range: Sequence[int],
        local_range: Sequence[int] | None,
        before: Sequence[Any],
        owners: Any = None,
    ) -> Any:
        try:
            return queue.submit_async(kernel.native, native, global_range, local_range, before)
        except (SyclKernelSubmitError, SyclKernelInvalidRangeError, RuntimeError, TypeError, ValueError) as error:
            raise KernelLaunchError(f"{type(error).__name__}: {error}", code="launch-refused") from error

    def earlier_work(self, queue: Any) -> list[Any]:
        return list(SequentialOrderManager[queue].submitted_events)

    def note_work(self, queue: Any, event: Any) -> None:
        SequentialOrderManager[queue].add_event_pair(DONE, event)

    def barrier(self, queue: Any, before: Sequence[Any]) -> Any:
        return queue.submit_barrier(list(before)) if before else dpctl.SyclEvent()

    def host_event(self, event: Any, release: Callable[[], None]) -> events.DpctlHostEvent:
        return events.DpctlHostEvent(event, release)

    def make_plan(
        self,
        kernel: BuiltKernel,
        queue: Any,
        given: tuple[Any, ...],
        packed: bytes,
        global_range: Sequence[int],
        local_range: Sequence[int] | None,
    ) -> LaunchPlan | None:
        from kapi_runtime.sycl.plan import make_plan

        return make_plan(cast("DeviceKernel", kernel), queue, given, packed, global_range, local_range)

    # -- marks and time

    def mark(self, queue: Any, timing: bool) -> tuple[Any, Any]:
        return events.mark(queue, timing)

    def hold(self, queue: Any, event: Any) -> None:
        events.hold(queue, event)

    def elapsed_ns(self, start: Any, end: Any) -> int:
        return int(end.profiling_info_end) - int(start.profiling_info_end)

    def is_done(self, event: Any) -> bool:
        return bool(event.execution_status == _COMPLETE)

    def wait_for(self, work: Any) -> None:
        wait_for(work)

    def submit_timed(self, queue: Any, before: Sequence[Any], run: Callable[[Any, list[Any]], Any]) -> Any:
        clock = queues.profiling_queue(queue)
        if clock is queue:
            return run(queue, list(before))
        # A queue takes times only if it was made so.  The work runs on a second one, between two barriers on the first:
        # it starts after all that was submitted there, and all that is submitted later starts after it.
        event = run(clock, [*before, queue.submit_barrier()])
        queue.submit_barrier([event])
        return event

    def times(self, event: Any) -> Times:
        wait_for(event)  # dpctl would wait for the times without letting other threads run
        return Times(event.profiling_info_submit, event.profiling_info_start, event.profiling_info_end)

    # -- what launches use

    def keep(self, queue: Any, event: Any, owners: Any) -> None:
        keep_alive.keep(queue, event, owners)

    def release(self) -> None:
        keep_alive.release()

    def finish(self, device: Any = None) -> None:
        keep_alive.wait(device)

    # -- memory

    def allocate(self, queue: Any, nbytes: int, zeroed: bool = False) -> _Memory:
        try:
            native = MemoryUSMDevice(nbytes, queue=queue)
        except (MemoryError, USMAllocationError) as error:
            raise UsmAllocationError(
                f"memory of {nbytes} bytes must fit on {queues.describe_queue(queue)}, got: {error}",
                code="device-memory-short",
            ) from error
        if zeroed:
            native.memset()
        return _Memory(native)

    def copy_in(self, queue: Any, target: Allocation, source: np.ndarray[Any, Any]) -> None:
        copy_bytes(queue, _native_memory(target), source, source.nbytes, "host to device")

    def copy_out(self, queue: Any, target: np.ndarray[Any, Any], source: Allocation) -> None:
        copy_bytes(queue, target, _native_memory(source), target.nbytes, "device to host")

    def reads_host_memory(self, queue: Any) -> bool:
        return bool(queue.sycl_device.has_aspect_usm_system_allocations)

    def new_array(self, shape: tuple[int, ...], dtype: np.dtype[Any], kind: MemoryKind, queue: Any, fill: Any) -> Any:
        return memory.new(shape, dtype, kind, queue, fill)

    def array_of(self, values: Any, dtype: Any, kind: MemoryKind | None, queue: Any, copy: bool | None) -> Any:
        return memory.asarray(values, dtype, usm_type=kind, queue=queue, copy=copy)

    def to_host(self, array: Any) -> np.ndarray[Any, Any]:
        return memory.asnumpy(array)

    def copy_array(self, source: Any, target: Any) -> None:
        found_on = ["host" if isinstance(each, np.ndarray) else "device" for each in (source, target)]
        copy_array(target, source, " to ".join(found_on))

    def submit_copy(
        self, queue: Any, target: ArrayFields, source: ArrayFields, nbytes: int, before: Sequence[Any]
    ) -> Any:
        return memory.submit_copy(queue, target, source, nbytes, before)

    def require_reach(self, queue: Any, other: Any) -> None:
        if queue.sycl_context != other.sycl_context:
            raise placement_error(
                "source and target of a copy that nobody waits for must be of one SYCL context, got\n"
                f"  {queues.describe_queue(other)}\n  {queues.describe_queue(queue)}\n"
                "Leave `depends` out: the copy goes by way of the host then",
                "different-queues",
            )

    def memory_kind(self, array: Any) -> MemoryKind:
        fields = self.fields(array)
        if fields is None or 0 in fields.shape:
            return "host"
        kind: MemoryKind = memory_at(fields).get_usm_type()
        return kind

    def array_like(self, arrays: Sequence[Any], shape: Any, dtype: Any) -> Any:
        return memory.like(arrays, shape, dtype)

    # -- numba.cuda's host API

    @cached_property
    def numba_cuda(self) -> SyclNumbaCuda:
        return SyclNumbaCuda()

    # -- what is there

    def findings(self) -> Findings:
        return diagnosis.findings()

    def versions(self, device: Any) -> Collection[tuple[str, str]]:
        return diagnosis.versions(device)


def _native_memory(allocation: Allocation) -> Any:
    assert isinstance(allocation, _Memory)  # what `allocate` gave
    return allocation.native


def _native_argument(argument: NativeArgument, queue: Any) -> Any:
    if isinstance(argument, bytes):
        return dpctl.RawKernelArg(bytearray(argument))
    if isinstance(argument, ArrayFields):
        # Without elements, there may be no memory of its own to point to.
        return MemoryUSMDevice(1, queue=queue) if 0 in argument.shape else memory_at(argument)
    return _local_memory(argument)


def _local_memory(accessor: LocalAccessor) -> Any:
    # Elements of 8 bytes serve every dtype: only the size and the alignment count.
    return dpctl.LocalAccessor("u8", (-(-accessor.nbytes // 8),))
