"""Events that launches return and wait for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kapi_runtime.cuda.queues.events import CudaEvent
from kapi_runtime.platform.handles import EventStatus, HostEvent
from kapi_sim.errors import KernelLaunchError

__all__ = ["CudaHostEvent", "native_events"]


class CudaHostEvent(HostEvent):
    """The host's side of a launch on a CUDA device.

    Parameters
    ----------
    device_event : CudaEvent
        The kernel's own event.
    release : callable
        Lets go of the arguments of launches that are done.
    """

    __slots__ = ("_release", "device_event")

    def __init__(self, device_event: CudaEvent, release: Callable[[], None]) -> None:
        self.device_event, self._release = device_event, release

    def wait(self) -> None:
        """Wait for the kernel, and let go of its arguments.  Other threads run meanwhile, and Ctrl-C is heard."""
        self.device_event.wait()
        self._release()

    @property
    def status(self) -> EventStatus:
        """Progress of the kernel, as far as the driver says."""
        event: CudaEvent = self.device_event
        return event.execution_status


def native_events(events: Sequence[Any]) -> list[CudaEvent]:
    """Return the driver's event of each event that a launch is to wait for.

    Raises
    ------
    KernelLaunchError
        If one is something else, such as an event of another platform.
    """
    found: list[CudaEvent] = []
    for event in events:
        native = event if isinstance(event, CudaEvent) else getattr(event, "device_event", event)
        if native is None:
            continue  # a mark that was not recorded is waited for by nobody
        if not isinstance(native, CudaEvent):
            raise KernelLaunchError(
                "an event that a launch on a CUDA device waits for must be one of a CUDA device, got "
                f"{type(event).__name__}: wait for it on the host, or pass what call_kernel_async returned",
                code="no-event",
            )
        found.append(native)
    return found
