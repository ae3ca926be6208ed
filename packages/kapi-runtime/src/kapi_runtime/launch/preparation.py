"""One launch: placed by its arguments, validated, ordered with all other work on the queue, and submitted.

dpnp does not order its work by the queue, which runs things in any order, but by events, of which dpctl's
`SequentialOrderManager` holds those of each queue.  A launch waits for these on the device and adds its own,
so that what dpnp does before and after it on the same queue is ordered with it, without a wait on the host.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import dpctl
from dpctl import SyclKernelInvalidRangeError, SyclKernelSubmitError
from dpctl.utils import SequentialOrderManager

from kapi_runtime.launch.arguments import Arguments, native_arguments, packed_arguments
from kapi_runtime.launch.failures import FailureWatch
from kapi_runtime.launch.geometry import packed_extents, submitted_range
from kapi_runtime.launch.host_arrays import place_of_host_arrays
from kapi_runtime.launch.overlaps import require_apart
from kapi_runtime.launch.placement import execution_queue
from kapi_runtime.launch.plan import Plan, make_plan
from kapi_runtime.recording import record as recording
from kapi_runtime.sycl import keep_alive
from kapi_runtime.sycl.events import HostEvent, device_events
from kapi_runtime.sycl.fork import require_no_fork
from kapi_runtime.sycl.native.submission import DONE
from kapi_runtime.sycl.program import DeviceKernel, device_kernel
from kapi_runtime.sycl.queues import describe_queue
from kapi_runtime.sycl.targets import target_of
from kapi_sim import DriverError, KernelLaunchError, NdRange, Range
from kapi_sim.shown import shown
from kapi_spirv import SpirvModule, SpirvTarget

__all__ = ["Prepared", "prepare"]

CompileFor = Callable[["SpirvTarget", "SpirvModule | None"], "SpirvModule"]
"""From a target, and a module that a driver refused, to a module."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A launch that was validated, and needs only to be submitted; `prepare` makes it.

    Attributes
    ----------
    space : Range or NdRange
        What it was asked for.
    arguments : Arguments
        What it was given.
    queue : dpctl.SyclQueue
        Where the arguments are.
    kernel : DeviceKernel
        What is submitted.
    packed : bytes
        The packed argument.
    global_range, local_range : list of int or None
        What is submitted; no global range where there are no work-items, no local one where the driver chooses.
    """

    space: Range | NdRange
    arguments: Arguments
    queue: Any
    kernel: DeviceKernel
    packed: bytes
    global_range: list[int] | None
    local_range: list[int] | None

    def submit(self, dependent_events: Iterable[Any]) -> tuple[HostEvent, Any]:
        """Submit it after these events and all earlier work on the queue.

        Returns
        -------
        host_event : HostEvent
        device_event : dpctl.SyclEvent

        Raises
        ------
        KernelLaunchError
            If the driver refuses it, or something in `dependent_events` is no event.
        """
        events = device_events(dependent_events)
        queue = self.queue
        if self.global_range is None:
            event = queue.submit_barrier(events) if events else dpctl.SyclEvent()
            return HostEvent(event, keep_alive.release), event
        module = self.kernel.module
        watch, packed = None, self.packed
        if module.failures:
            watch = FailureWatch(module, self.space, queue)
            packed = packed_arguments(module, packed_extents(self.space, module), self.arguments, watch.address)
        native = native_arguments(packed, self.arguments.accessors)
        order = SequentialOrderManager[queue]
        depends = [*order.submitted_events, *events]

        def submit(on: Any, after: list[Any]) -> Any:
            return on.submit_async(self.kernel.sycl_kernel, native, self.global_range, self.local_range, after)

        try:
            if recording.active is None:
                event = submit(queue, depends)
            else:
                event = recording.submit(
                    queue,
                    depends,
                    submit,
                    kind="launch",
                    name=module.name,
                    space=repr(self.space),
                    nbytes=self.arguments.nbytes,
                )
        except (SyclKernelSubmitError, SyclKernelInvalidRangeError, RuntimeError, TypeError, ValueError) as error:
            raise self._refusal(error) from error
        order.add_event_pair(DONE, event)
        copied = self.arguments.copied
        keep_alive.keep(queue, event, (self.arguments.given, native, self.kernel, watch, copied))
        host_event = HostEvent(event, keep_alive.release if watch is None else watch.release)
        if copied is not None:
            host_event.wait()
            copied.copy_out()
        return host_event, event

    def plan(self, at_once: bool = False) -> Plan | None:
        """Return a plan for launches like this one, or None if there is none."""
        if self.global_range is None or self.kernel.module.failures:
            return None
        given = self.arguments.given
        return make_plan(self.kernel, self.queue, given, self.packed, self.global_range, self.local_range, at_once)

    def _refusal(self, error: Exception) -> KernelLaunchError:
        return KernelLaunchError(
            f"kernel `{self.kernel.module.name}` must be accepted by the driver, got {type(error).__name__}: {error}\n"
            f"  index space: {shown(self.space)}\n"
            f"  arguments:   {self.arguments.describe()}\n"
            f"  queue:       {describe_queue(self.queue)}",
            code="launch-refused",
        )


def prepare(name: str, space: Range | NdRange, arguments: Arguments, compile_for: CompileFor) -> Prepared:
    """Find the queue, compile the kernel if it is not yet, and validate a launch.

    Parameters
    ----------
    name : str
        The kernel's name, for messages.
    space : Range or NdRange
        Its index space.
    arguments : Arguments
        What it is given.
    compile_for : callable
        Gives the module for arguments of these types and a target, and for a module that a driver refused the one that
        was compiled anew, or the same.

    Raises
    ------
    ExecutionPlacementError
        If the arguments do not share one queue.
    KernelLaunchError
        If index space, kernel and arguments do not fit each other, or arguments overlap.
    LimitError
        If the launch exceeds a limit of the device.
    DriverError
        If the driver refuses the kernel.
    ForkError
        In a process that was forked after a device was used.
    """
    require_no_fork()
    place = place_of_host_arrays()
    if place is not None and not arguments.owners:
        queue = place.queue
    else:
        queue = execution_queue(name, arguments.owners)
    kernel = _built(compile_for, queue)
    require_apart(kernel.module, arguments)
    whole = _whole(space)
    global_range, local_range = None, None
    if whole.size > 0:
        global_range, local_range = submitted_range(space, kernel, arguments.accessors)
    packed = packed_arguments(kernel.module, packed_extents(space, kernel.module), arguments)
    return Prepared(space, arguments, queue, kernel, packed, global_range, local_range)


def _built(compile_for: CompileFor, queue: Any) -> DeviceKernel:
    """Build the kernel; what the disk cache had and the driver refuses is compiled once more."""
    target = target_of(queue.sycl_device)
    module = compile_for(target, None)
    try:
        return device_kernel(module, queue)
    except DriverError:
        again = compile_for(target, module)
        if again is module:
            raise
    return device_kernel(again, queue)


def _whole(space: Range | NdRange) -> Range:
    return space if isinstance(space, Range) else space.global_range
