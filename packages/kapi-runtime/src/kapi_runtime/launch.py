"""One launch: placed by its arguments, validated, ordered with all other work on the queue, and submitted.

dpnp does not order its work by the queue, which runs things in any order, but by events, of which dpctl's
`SequentialOrderManager` holds those of each queue.  A launch waits for these on the device and adds its own,
so that what dpnp does before and after it on the same queue is ordered with it, without a wait on the host.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import dpctl
from dpctl import SyclKernelInvalidRangeError, SyclKernelSubmitError
from dpctl.utils import SequentialOrderManager

from kapi_runtime import _keep_alive, recording
from kapi_runtime.arguments import Arguments, native_arguments
from kapi_runtime.events import HostEvent, device_events
from kapi_runtime.failures import FailureWatch
from kapi_runtime.geometry import submitted_range
from kapi_runtime.placement import execution_queue
from kapi_runtime.program import DeviceKernel, device_kernel
from kapi_runtime.queues import describe_queue
from kapi_sim import KernelLaunchError, NdRange, Range
from kapi_spirv import SpirvModule

__all__ = ["launch"]

# The host's part of a launch, as dpctl's bookkeeping sees it: over at once, since `_keep_alive` holds the
# arguments.
_DONE = dpctl.SyclEvent()


def launch(
    name: str,
    space: Range | NdRange,
    arguments: Arguments,
    dependent_events: Iterable[Any],
    compile_for: Callable[[], SpirvModule],
) -> tuple[HostEvent, Any]:
    """Submit a kernel to the queue on which its arguments live.

    Parameters
    ----------
    name : str
        The kernel's name, for messages.
    space : Range or NdRange
        Its index space.  Without work-items nothing is run.
    arguments : Arguments
        What it was given.
    dependent_events : iterable of HostEvent or dpctl.SyclEvent
        What it waits for, beside all earlier work on the queue.
    compile_for : callable
        Gives the module for arguments of these types.

    Returns
    -------
    host_event : HostEvent
    device_event : dpctl.SyclEvent

    Raises
    ------
    ExecutionPlacementError
        If the arguments do not share one queue.
    KernelLaunchError
        If index space, kernel and arguments do not fit each other, or the driver refuses the launch.
    LimitError
        If the launch exceeds a limit of the device.
    DriverError
        If the driver refuses the kernel.
    """
    queue = execution_queue(name, arguments.owners)
    events = device_events(dependent_events)
    module = compile_for()
    kernel = device_kernel(module, queue)
    whole = space if isinstance(space, Range) else space.global_range
    if whole.size == 0:
        event = queue.submit_barrier(events) if events else dpctl.SyclEvent()
        return HostEvent(event, _keep_alive.release), event
    global_range, local_range = submitted_range(space, kernel, arguments.accessors)
    watch = FailureWatch(module, space, queue) if module.failures else None
    native = native_arguments(module, whole, arguments, watch.address if watch else 0)
    order = SequentialOrderManager[queue]
    depends = [*order.submitted_events, *events]
    try:
        if recording.active is None:
            event = queue.submit_async(kernel.sycl_kernel, native, global_range, local_range, depends)
        else:
            event = recording.submit(
                queue,
                depends,
                lambda on, after: on.submit_async(kernel.sycl_kernel, native, global_range, local_range, after),
                kind="launch",
                name=name,
                space=repr(space),
                nbytes=arguments.nbytes,
            )
    except (SyclKernelSubmitError, SyclKernelInvalidRangeError, RuntimeError, TypeError, ValueError) as error:
        raise _refusal(kernel, queue, space, arguments, error) from error
    order.add_event_pair(_DONE, event)
    _keep_alive.keep(queue, event, (arguments.given, native, kernel, watch))
    return HostEvent(event, _keep_alive.release if watch is None else watch.release), event


def _refusal(
    kernel: DeviceKernel, queue: Any, space: Range | NdRange, arguments: Arguments, error: Exception
) -> KernelLaunchError:
    return KernelLaunchError(
        f"kernel `{kernel.module.name}` must be accepted by the driver, got {type(error).__name__}: {error}\n"
        f"  index space: {space!r}\n"
        f"  arguments:   {arguments.describe()}\n"
        f"  queue:       {describe_queue(queue)}"
    )
