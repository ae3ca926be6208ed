"""Events of CUDA: marks in the work of a stream, to be asked, waited for by the host or by other streams, and timed."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import Any

from kapi_runtime.cuda.devices import driver
from kapi_runtime.cuda.devices.device import CudaDevice
from kapi_runtime.platform.handles import EventStatus, events_of

__all__ = ["CudaEvent", "is_passed", "native_events", "recorded_event", "wait_on_stream"]

_DISABLE_TIMING = 2
_NOT_READY = 600

_POOLED = 256
_SPIN = 200e-6  # seconds in which a wait asks again and again: as long as most launches that are waited for take
_LONGEST_NAP = 1e-3  # seconds between two polls, which is how late Ctrl-C and the end of the work are seen

_pools: dict[tuple[int, bool], list[Any]] = {}


class CudaEvent:
    """A mark in the work of a stream.

    - `native`: the driver's event.
    - `is_timed`: whether the device took the time when the mark was passed.
    """

    __slots__ = ("__weakref__",)

    device: CudaDevice
    native: Any
    is_timed: bool

    @property
    def is_done(self) -> bool:
        """Whether the mark is passed; waits for nothing."""
        return self._is_passed()

    @property
    def execution_status(self) -> EventStatus:
        """Progress of the work before the mark, as far as the driver says; waits for nothing."""
        return EventStatus.complete if self.is_done else EventStatus.running

    def _is_passed(self) -> bool:
        code, _ = driver.result("cuEventQuery", self.native)
        if code and code != _NOT_READY:
            raise driver.error_of("cuEventQuery", code, "a launch")
        return not code

    def wait(self) -> None:
        """Wait until the mark is passed.  Other threads run meanwhile, and Ctrl-C is heard."""
        if threading.current_thread() is not threading.main_thread():
            driver.call("cuEventSynchronize", self.native)  # lets other threads run, but hears no signal
            return
        start = time.perf_counter()
        while not self.is_done:
            waited = time.perf_counter() - start
            if waited > _SPIN:
                time.sleep(min(waited / 20, _LONGEST_NAP))

    def elapsed_ns(self, end: CudaEvent) -> int:
        """Return the time from this mark to another on its device, in ns; both are passed, and timed."""
        return int(float(driver.call("cuEventElapsedTime", self.native, end.native)) * 1e6)

    def __repr__(self) -> str:
        return f"<CudaEvent: {'complete' if self.is_done else 'running'}>"


class RecordedEvent(CudaEvent):
    """A mark that was set, with an event of the driver's own; `recorded_event` makes it."""

    __slots__ = ("device", "is_timed", "native")

    def __init__(self, device: CudaDevice, is_timed: bool) -> None:
        self.device, self.is_timed = device, is_timed
        pool = _pools.get((device.ordinal, is_timed))
        try:
            self.native = pool.pop() if pool else None
        except IndexError:  # another thread took the last one
            self.native = None
        if self.native is None:
            with device.entered():
                self.native = driver.call("cuEventCreate", 0 if is_timed else _DISABLE_TIMING)

    def __del__(self) -> None:
        # Streams that wait for it wait for the mark as it was when they were told: the event may be set anew.
        try:
            pool = _pools.setdefault((self.device.ordinal, self.is_timed), [])
            if self.native is not None and len(pool) < _POOLED:
                pool.append(self.native)
            elif self.native is not None:
                driver.quietly("cuEventDestroy", self.native)
        except AttributeError:  # it could not be made, or the interpreter has gone
            return


def recorded_event(device: CudaDevice, stream: int, is_timed: bool = False) -> CudaEvent:
    """Set a mark after all work that was submitted to a stream so far, and return it.

    - `device`: the stream's.
    - `stream`: its handle.
    - `is_timed`: whether the device takes the time when the mark is passed.
    """
    event = RecordedEvent(device, is_timed)
    with device.entered():
        driver.call("cuEventRecord", event.native, stream)
    return event


def wait_on_stream(device: CudaDevice, stream: int, event: CudaEvent) -> None:
    """Let all work that is submitted to a stream from now on wait for a mark; the host does not wait."""
    with device.entered():
        driver.call("cuStreamWaitEvent", stream, event.native, 0)


def is_passed(event: CudaEvent) -> bool:
    """Whether a mark is passed, or can no longer be asked since the context is lost."""
    code, _ = driver.result("cuEventQuery", event.native)
    return code != _NOT_READY


def native_events(events: Sequence[Any]) -> list[CudaEvent]:
    """Return the driver's event of each event that a launch is to wait for; see `Launcher.native_events`."""
    return events_of(CudaEvent, "a CUDA device", events)
