"""Queues of CUDA: streams, and the choice of one that a launch's arrays make."""

from __future__ import annotations

import threading
from typing import Any

from kapi_runtime.cuda.devices import driver
from kapi_runtime.cuda.devices.device import CudaDevice, device_at
from kapi_runtime.cuda.queues import keep_alive
from kapi_runtime.cuda.queues.events import CudaEvent, recorded_event, wait_on_stream
from kapi_runtime.cuda.queues.streams import LEGACY, PER_THREAD, CudaStream, stream_of
from kapi_runtime.platform import callbacks, recorder
from kapi_runtime.platform.handles import Queue, describe_device
from kapi_sim.errors import KernelLaunchError
from kapi_sim.forks import reinit_after_fork
from kapi_sim.short_repr import short_repr

__all__ = ["CudaQueue", "default_queue", "describe_queue", "new_queue", "queue_of_handle", "queue_of_stream"]

_NON_BLOCKING = 1


class CudaQueue(Queue):
    """A stream of a device, whose work runs in the order in which it was submitted.

    Two are equal if they are the same stream of the same device.

    - `others`: streams of the same device that other arrays of one launch are worked with on: work on this queue comes
      after what they hold when it is submitted, and what they are given later comes after it.
    """

    __slots__ = ("__weakref__", "device", "others", "stream")

    is_in_order = True
    has_enable_profiling = True

    def __init__(self, device: CudaDevice, stream: CudaStream, others: tuple[CudaStream, ...] = ()) -> None:
        self.device, self.stream, self.others = device, stream, others

    @property
    def handle(self) -> int:
        """The stream as the driver knows it, for other libraries; ``torch.cuda.ExternalStream`` takes it."""
        return self.stream.handle

    def __cuda_stream__(self) -> tuple[int, int]:
        """Return the version of the protocol by which libraries take each other's streams, and the handle."""
        return 0, self.handle

    @property
    def sycl_device(self) -> CudaDevice:
        """The device, by the name that queues of SYCL have for it."""
        return self.device

    def synchronize(self) -> None:
        """Wait for all work that was submitted to the queue, and for its callbacks, as `Queue.synchronize` says."""
        recorder.require_no_graph("synchronize of a queue")
        self.wait()
        callbacks.wait_until_called(self)
        keep_alive.release()

    def wait(self) -> None:
        """Wait for all work that was submitted so far.  Other threads run meanwhile, and Ctrl-C is heard."""
        recorded_event(self.device, self.handle).wait()

    def submit_barrier(self, dependent_events: Any = ()) -> CudaEvent:
        """Let what is submitted from now on wait for events, and return one that is done when they are."""
        for event in dependent_events:
            wait_on_stream(self.device, self.handle, event)
        return recorded_event(self.device, self.handle)

    @property
    def is_done(self) -> bool:
        """Whether all work that was submitted so far is done; waits for nothing."""
        return recorded_event(self.device, self.handle).is_done

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CudaQueue) and (self.device, self.handle) == (other.device, other.handle)

    def __hash__(self) -> int:
        return hash(self.stream.handle)  # of most queues another one, and quick: launches are looked up by queues

    def _described(self) -> str:
        return describe_queue(self)


class _OwnStream:
    """A stream that kapi made, destroyed with the last queue of it."""

    __slots__ = ("device", "handle")

    def __init__(self, device: CudaDevice) -> None:
        self.device = device
        with device.entered():
            self.handle = int(driver.call("cuStreamCreate", _NON_BLOCKING))

    def __del__(self) -> None:
        try:
            if hasattr(self, "handle"):
                driver.quietly("cuStreamDestroy", self.handle)  # what was submitted to it runs to its end
        except AttributeError:  # at exit this module's names are gone
            return


def new_queue(device: CudaDevice) -> CudaQueue:
    """Make a stream of a device; it waits for no other, the legacy default stream included."""
    own = _OwnStream(device)
    return CudaQueue(device, CudaStream(own.handle, own))


_lock = reinit_after_fork(threading.Lock())
_defaults: dict[int, CudaQueue] = {}


def default_queue(device: CudaDevice) -> CudaQueue:
    """Return the queue of a device that is used where nothing says otherwise: its legacy default stream.

    CuPy, PyTorch and numba-cuda submit to the same one unless the program says otherwise.
    """
    with _lock:
        found = _defaults.get(device.ordinal)
        if found is None:
            found = _defaults[device.ordinal] = CudaQueue(device, stream_of(LEGACY))
        return found


def queue_of_stream(source: Any) -> CudaQueue | None:
    """Return the queue of a stream that somebody else made, or None if it is none.

    - `source`: a queue; a stream of CuPy, PyTorch or numba-cuda, or of any library that has ``__cuda_stream__``.

    Raises `KernelLaunchError` if it is a stream whose device nothing reports.
    """
    if isinstance(source, CudaQueue):
        return source
    handle = _handle_of(source)
    return None if handle is None else queue_of_handle(handle, source)


def queue_of_handle(handle: int, source: Any = None) -> CudaQueue:
    """Return the queue of a stream by its handle; the stream must stay as long as the queue, or `source` keep it."""
    stream = stream_of(handle, source)
    return CudaQueue(device_at(_ordinal_of(source, stream)), stream)


def _handle_of(source: Any) -> int | None:
    if isinstance(source, type):
        return None
    protocol = getattr(source, "__cuda_stream__", None)
    if protocol is not None:
        return int((protocol() if callable(protocol) else protocol)[1])
    library = type(source).__module__.partition(".")[0]
    if library == "cupy":
        return _integer(getattr(source, "ptr", None))
    if library == "torch":
        return _integer(getattr(source, "cuda_stream", None))
    if library == "numba":
        handle = getattr(source, "handle", None)
        return _integer(getattr(handle, "value", handle) or 0) if handle is not None else None
    return None


def _integer(value: Any) -> int | None:
    return None if value is None else int(value)


def _ordinal_of(source: Any, stream: CudaStream) -> int:
    for name in ("device_id", "device_index"):  # CuPy's, PyTorch's
        ordinal = getattr(source, name, None)
        if isinstance(ordinal, int) and ordinal >= 0:
            return ordinal
    if stream.handle not in (LEGACY, PER_THREAD):
        code, context = driver.result("cuStreamGetCtx", stream.handle)
        if not code:
            return _ordinal_of_context(context)
    return _ordinal_of_context(driver.call("cuCtxGetCurrent"))


def _ordinal_of_context(context: Any) -> int:
    if not int(context):
        return 0
    before = driver.call("cuCtxGetCurrent")
    driver.call("cuCtxSetCurrent", context)
    try:
        return int(driver.call("cuCtxGetDevice"))
    except Exception as error:
        raise KernelLaunchError(
            f"a stream must be of a device that can be told, got one of {short_repr(context)}", code="no-queue"
        ) from error
    finally:
        driver.call("cuCtxSetCurrent", before)


def describe_queue(queue: CudaQueue) -> str:
    """Name a queue in a few words, for messages."""
    name = {LEGACY: "the legacy default stream", PER_THREAD: "the default stream of a thread"}.get(
        queue.handle, f"stream {queue.handle:#x}"
    )
    return f"{name} of {describe_device(queue.device)}"
