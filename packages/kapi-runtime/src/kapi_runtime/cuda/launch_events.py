"""What a launch returns, and marks that a program sets itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kapi_runtime.cuda.devices import CudaDevice, describe_device
from kapi_runtime.cuda.events import CudaEvent, recorded_event, wait_on_stream
from kapi_runtime.cuda.queues import CudaQueue
from kapi_sim.errors import KernelLaunchError

__all__ = ["CudaHostEvent", "CudaMark", "native_events"]


class CudaHostEvent:
    """The host's side of a launch: done when the kernel has run and its arguments are let go.

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

    def __repr__(self) -> str:
        return f"<CudaHostEvent: {'complete' if self.device_event.is_done else 'running'}>"


class CudaMark:
    """A mark in the work of a queue: to be asked, waited for by the host or by another queue, and timed.

    Parameters
    ----------
    timing : bool
        Whether the device takes the time when the mark is passed.
    """

    __slots__ = ("device_event", "timing")

    def __init__(self, timing: bool = True) -> None:
        self.timing = timing
        self.device_event: CudaEvent | None = None

    def record(self, queue: CudaQueue) -> None:
        """Set the mark after all work that was submitted to the queue so far; a later mark replaces it."""
        self.device_event = recorded_event(queue.device, queue.handle, self.timing)

    def query(self) -> bool:
        """Tell whether the mark is passed; waits for nothing.  An event that was not recorded is."""
        return self.device_event is None or self.device_event.is_done

    def synchronize(self) -> None:
        """Wait until the mark is passed.  Other threads run meanwhile, and Ctrl-C is heard."""
        if self.device_event is not None:
            self.device_event.wait()

    def wait(self, queue: CudaQueue) -> None:
        """Let all work that is submitted to a queue from now on wait for the mark; the host does not wait."""
        if self.device_event is not None:
            wait_on_stream(queue.device, queue.handle, self.device_event)

    def elapsed_time(self, end: CudaMark) -> float:
        """Return the time from this mark to `end`, on the device's clock, in ms; waits for both.

        Raises
        ------
        KernelLaunchError
            If one of them was not recorded, or takes no time; or they are on two devices, whose clocks differ.
        """
        marks = [_timed(self), _timed(end)]
        devices: list[CudaDevice] = [mark.device for mark in marks]
        if devices[0] != devices[1]:
            raise KernelLaunchError(
                "events must be on one device to be timed, for each has a clock of its own, got "
                f"{describe_device(devices[0])} and {describe_device(devices[1])}",
                code="events-of-devices",
            )
        for mark in marks:
            mark.wait()
        return marks[0].elapsed_ns(marks[1]) / 1e6

    def __repr__(self) -> str:
        state = "not recorded" if self.device_event is None else "complete" if self.query() else "running"
        return f"<CudaMark: {state}>"


def _timed(mark: CudaMark) -> CudaEvent:
    if mark.device_event is None:
        raise KernelLaunchError(
            "an event must be recorded before it is timed, got one that was not: `record()` it", code="event-unrecorded"
        )
    if not mark.timing:
        raise KernelLaunchError(
            "an event must be made with timing=True to be timed, got one with timing=False: make it by `Event()`",
            code="event-without-times",
        )
    return mark.device_event


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
