"""Devices, queues and events of launches as users hold them: one class each for all platforms.

A platform's own classes derive from these.  On SYCL they derive from dpctl's as well.
"""

from __future__ import annotations

import enum
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from kapi_runtime.platform import callbacks, current, device_caches
from kapi_runtime.platform.installed import platform_of_device, platforms
from kapi_runtime.platform.interface.devices import DeviceSummary
from kapi_sim.errors import KernelLaunchError, LimitError
from kapi_sim.short_repr import short_repr

if TYPE_CHECKING:
    import asyncio

__all__ = [
    "Device",
    "DeviceSummary",
    "EventStatus",
    "HostEvent",
    "LaunchEvent",
    "Queue",
    "describe_device",
    "events_of",
]

_Event = TypeVar("_Event")


class EventStatus(enum.Enum):
    """Progress of an event's work.

    References
    ----------
    SYCL 2020, section 4.6.6.1 (`info::event_command_status`).
    """

    submitted = enum.auto()
    running = enum.auto()
    complete = enum.auto()


class Device:
    """A device that kernels run on; `devices` lists them, and ``with device:`` makes one current.

    On SYCL it is a `dpctl.SyclDevice` as well, with all attributes of that class.  Everything that takes a dpctl device
    takes it, dpnp's ``device=`` too.

    Attributes
    ----------
    name, filter_string, vendor, driver_version : str
        The driver's name of it, the name that `select_device` takes, and whose driver of what version it has.
    max_compute_units : int
        Parallel compute units; on CUDA streaming multiprocessors.
    max_work_group_size : int
        Largest work-group, in work-items.
    max_work_item_sizes3d : tuple of int
        The same along each of three dimensions, the fastest last.
    local_mem_size, global_mem_size, max_mem_alloc_size : int
        Memory of one work-group, of the device, and the largest single allocation, in bytes.
    sub_group_sizes : list of int
        Sub-group sizes that kernels may have, in work-items.
    id : int
        Its index in `devices`.
    has_aspect_fp16, has_aspect_fp64, has_aspect_atomic64, has_aspect_cpu, has_aspect_gpu : bool
        What it has, and is.

    Examples
    --------
    >>> import kapi_runtime as kapi
    >>> device = kapi.devices[0]
    >>> device.max_compute_units >= 1
    True
    >>> with device:
    ...     kapi.devices.current == device
    True
    """

    __slots__ = ()

    has_aspect_fp16: bool

    def __init__(self, *given: object, **named: object) -> None:
        raise _not_made_so("Device", "take one of `devices`, or `select_device(name)`")

    @property
    @abstractmethod
    def summary(self) -> DeviceSummary:
        """The properties of the device; ``print(device.summary)`` shows them as text."""

    @property
    def id(self) -> int:
        """Its index in `devices`, by which `select_device` takes it.

        Raises
        ------
        LimitError
            If it is a sub-device, which is not in the list.
        """
        every = [device for platform in platforms() for device in platform.devices()]
        if self not in every:
            raise LimitError(
                f"a device must be one of `devices` to have an id, got {self!r}: keep the device itself",
                code="device-lacks",
            )
        return every.index(self)

    @property
    @abstractmethod
    def compute_capability(self) -> tuple[int, int]:
        """Generation of a GPU of NVIDIA's, such as (9, 0); LimitError for every other device."""

    @property
    def supports_float16(self) -> bool:
        """Whether kernels may compute in float16, by numba.cuda's name."""
        return bool(self.has_aspect_fp16)

    def reset(self) -> None:
        """Begin anew with the device, as `Context.reset` does: wait for its work, and drop what is cached for it.

        Arrays and queues stay.
        """
        platform = platform_of_device(self)
        platform.finish(self)
        platform.default_queue(self).synchronize()
        device_caches.forget(self)

    @property
    @abstractmethod
    def attributes(self) -> dict[str, Any]:
        """All that its platform's library reports of it, by the attributes' names, sorted."""

    @abstractmethod
    def split(self, *compute_units: int, equally: int | None = None) -> list[Any]:
        """Return sub-devices, each with compute units of its own.

        Parameters
        ----------
        *compute_units : int
            How many units each sub-device gets.
        equally : int, optional
            Instead: units of each sub-device; there are as many sub-devices as that gives.

        Returns
        -------
        list of Device
            Each call gives new ones, which equal no earlier ones: keep what you made.

        Raises
        ------
        DeviceNotFoundError
            If the device cannot be split so, as on CUDA none can.

        References
        ----------
        SYCL 2020, section 4.6.4.2 (device partitioning).
        """

    def _described(self) -> str:
        """Name it in a few words."""
        return describe_device(self)

    def __call__(self) -> Any:
        """Return the device itself: numba.cuda's reference writes ``gpus.current()``."""
        return self

    def __enter__(self) -> Any:
        current.enter(self)
        return self

    def __exit__(self, *exc_info: object) -> None:
        current.leave()

    def __repr__(self) -> str:
        return f"<Device: {self._described()}>"


class Queue:
    """A queue of a device's work; `queue`, `default_queue` and `external_queue` make it.

    On SYCL it is a `dpctl.SyclQueue` as well: everything that takes one takes it, dpnp's ``sycl_queue=`` too.  On CUDA
    it is a stream, and CuPy and PyTorch take it by ``__cuda_stream__``.

    Attributes
    ----------
    device : Device
        What its work runs on.
    is_in_order : bool
        Whether its work runs in the order of submission, whoever submits it.
    has_enable_profiling : bool
        Whether the device takes the times of all its work.

    Examples
    --------
    >>> import dpnp
    >>> import kapi_runtime as kapi
    >>> queue = kapi.queue()
    >>> ones = dpnp.ones(4, sycl_queue=queue)
    >>> with queue.auto_synchronize():
    ...     ones += 1
    >>> ones.asnumpy()
    array([2., 2., 2., 2.])
    """

    __slots__ = ()

    def __init__(self, *given: object, **named: object) -> None:
        raise _not_made_so("Queue", "call `queue()`, `default_queue()` or `external_queue(source)`")

    @abstractmethod
    def synchronize(self) -> None:
        """Wait for all work that was submitted to the queue, and for its callbacks; other threads run meanwhile.

        In a callback, of whatever queue, callbacks are not waited for: it could be for itself.

        Raises
        ------
        KeyboardInterrupt
            At once, if Ctrl-C is pressed in the main thread; the work goes on.
        """

    @abstractmethod
    def submit_barrier(self, dependent_events: Any = ()) -> Any:
        """Return an event that is done when these events are; without any, when all earlier work is."""

    @abstractmethod
    def _described(self) -> str:
        """Name it in a few words."""

    @contextmanager
    def auto_synchronize(self) -> Iterator[Any]:
        """Synchronize at the end of the ``with`` block, also if it is left by an exception."""
        try:
            yield self
        finally:
            self.synchronize()

    def add_callback(self, callback: Callable[[Any, EventStatus, Any], object], arg: Any = None) -> None:
        """Call ``callback(queue, status, arg)`` when all work that was submitted to the queue so far is done.

        The callbacks of one queue are called in the order in which they were added, one at a time, in a thread of
        the queue's own; those of different queues may be called at the same time.  Work that is submitted later
        does not wait for the callback.  It may call everything of kapi and of the arrays' library, launches and waits
        included.  What it raises is reported by `threading.excepthook`, and ends neither the thread nor later
        callbacks.

        Parameters
        ----------
        callback : callable
            Takes the queue, the status of the work, which is `EventStatus.complete`, and `arg`.
        arg : object, optional
            What the callback is to be given.

        Raises
        ------
        KernelLaunchError
            If `callback` cannot be called.

        Examples
        --------
        >>> import kapi_runtime as kapi
        >>> queue, called = kapi.queue(), []
        >>> queue.add_callback(lambda queue, status, arg: called.append((status.name, arg)), "done")
        >>> queue.synchronize()
        >>> called
        [('complete', 'done')]
        """
        if not callable(callback):
            raise KernelLaunchError(
                f"callback of add_callback must be callable, got {short_repr(callback)}", code="callback-form"
            )
        callbacks.call_after(self, self.submit_barrier(), lambda: callback(self, EventStatus.complete, arg))

    def async_done(self) -> asyncio.Future[Any]:
        """Return an awaitable of the running asyncio loop: done when all work submitted so far is.

        It may be cancelled, also together with its task or with the loop; the work goes on.

        Returns
        -------
        asyncio.Future
            Its result is the queue.

        Raises
        ------
        RuntimeError
            If no asyncio loop is running.

        Examples
        --------
        >>> import asyncio
        >>> import kapi_runtime as kapi
        >>> async def main():
        ...     return await kapi.default_queue().async_done()
        >>> asyncio.run(main()) == kapi.default_queue()
        True
        """
        import asyncio  # a fifth of the time that importing kapi_runtime would take

        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()

        def finish() -> None:
            if not future.done():  # it is, if it was cancelled
                future.set_result(self)

        def call() -> None:
            try:
                loop.call_soon_threadsafe(finish)
            except RuntimeError:
                if not loop.is_closed():  # nobody is left to be told
                    raise

        callbacks.call_after(self, self.submit_barrier(), call)
        return future

    def __repr__(self) -> str:
        return f"<Queue: {self._described()}>"


class HostEvent:
    """The host's side of a launch, the first of the two events that `call_kernel_async` returns.

    It is done when the kernel has run and its arguments are let go.

    Attributes
    ----------
    device_event : object
        The kernel's own event, as the platform's library has it.
    """

    __slots__ = ()

    device_event: Any

    @abstractmethod
    def wait(self) -> None:
        """Wait for the kernel, let go of its arguments, and raise a work-item's failure.

        Other threads run meanwhile, and Ctrl-C is heard.
        """

    @property
    @abstractmethod
    def status(self) -> EventStatus:
        """Progress of the kernel; waits for nothing."""

    def __repr__(self) -> str:
        return f"<HostEvent: {self.status.name}>"


class LaunchEvent(HostEvent):
    """The host's side of a launch on a platform whose own events are waited for by their `wait`.

    - `device_event`: the kernel's own event, with `wait` and `execution_status`.
    - `release`: lets go of the arguments of launches that are done.
    """

    __slots__ = ("_release", "device_event")

    def __init__(self, device_event: Any, release: Callable[[], None]) -> None:
        self.device_event, self._release = device_event, release

    def wait(self) -> None:
        """Wait for the kernel, and let go of its arguments.  Other threads run meanwhile, and Ctrl-C is heard."""
        self.device_event.wait()
        self._release()

    @property
    def status(self) -> EventStatus:
        """Progress of the kernel, as far as the driver says."""
        status: EventStatus = self.device_event.execution_status
        return status


def events_of(class_: type[_Event], device: str, events: Sequence[Any]) -> list[_Event]:
    """Return the native event, of a platform's class, of each event that a launch on a device is to wait for.

    Raises `KernelLaunchError` if one is something else, such as an event of another platform.
    """
    found: list[_Event] = []
    for event in events:
        native = event if isinstance(event, class_) else getattr(event, "device_event", event)
        if native is None:
            continue  # a mark that was not recorded is waited for by nobody
        if not isinstance(native, class_):
            raise KernelLaunchError(
                f"an event that a launch on {device} waits for must be one of {device}, got {type(event).__name__}: "
                "wait for it on the host, or pass what call_kernel_async returned",
                code="no-event",
            )
        found.append(native)
    return found


def describe_device(device: Any) -> str:
    """Name a device by its name and the name that `select_device` takes, for messages."""
    return f"{device.name} ({device.filter_string})"


def _not_made_so(name: str, hint: str) -> KernelLaunchError:
    return KernelLaunchError(f"a {name} must come from a platform, got a call of the class: {hint}", code="handle-made")
