"""Contexts: what is current on a device, how much memory it has, and how to begin anew."""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, TypeVar

from kapi_runtime.host.devices import current_device, find_device, platform_of_device
from kapi_runtime.platform import current, installed
from kapi_runtime.platform.interface import Platform
from kapi_sim.errors import KernelLaunchError

__all__ = ["Context", "MemoryInfo", "close", "current_context", "require_context"]

_Function = TypeVar("_Function", bound=Callable[..., Any])


class MemoryInfo(NamedTuple):
    """Memory of a device, in bytes.

    Attributes
    ----------
    free : int or None
        What is free; None where the driver does not say, as OpenCL drivers do not.
    total : int
        What there is.
    """

    free: int | None
    total: int


class Context:
    """A device with its default queue and memory, and its SYCL context on SYCL.

    Parameters
    ----------
    device : Device
        The device.

    Attributes
    ----------
    device : Device
        The device.

    Examples
    --------
    >>> import kapi_runtime as kapi
    >>> context = kapi.current_context()
    >>> context.get_memory_info().total == context.device.global_mem_size
    True
    """

    __slots__ = ("device",)

    def __init__(self, device: Any) -> None:
        self.device = device

    @property
    def platform(self) -> Platform:
        """The platform of the device."""
        return platform_of_device(self.device)

    @property
    def queue(self) -> Any:
        """The default queue of the device."""
        return self.platform.default_queue(self.device)

    @property
    def sycl_context(self) -> Any:
        """The `dpctl.SyclContext` that the device's queues share, and its memory with them."""
        return self.queue.sycl_context

    def get_memory_info(self) -> MemoryInfo:
        """Return the free and the total memory of the device, in bytes; free is None if it is unknown."""
        return MemoryInfo(*self.platform.memory_info(self.device))

    def push(self) -> None:
        """Make the device the current one, until `pop`."""
        current.push(self.device)

    def pop(self) -> None:
        """Make the device current that was current before `push`.

        Raises
        ------
        KernelLaunchError
            If this context is not the one that was pushed last.
        """
        if not current.pop(self.device):
            raise KernelLaunchError(
                f"pop must be called on the context that was pushed last, got that of "
                f"{self.platform.describe_device(self.device)}: "
                "use `with device:`, which does both",
                code="context-not-last",
            )

    def synchronize(self) -> None:
        """Wait for all that kapi has launched on the device, and for the work of its default queue."""
        self.platform.finish(self.device)
        self.queue.synchronize()

    def reset(self) -> None:
        """Begin anew with the device: wait for its work, and drop what is cached for it.

        Kernels are built by the driver again at their next launch; bound launches keep theirs.  Arrays and queues stay:
        SYCL counts references to contexts and memory, and gives them up when nobody holds them, so nothing can be
        destroyed under its owner.
        """
        self.device.reset()

    def defer_cleanup(self) -> AbstractContextManager[None]:
        """Let go of no memory in a ``with`` block, where that would wait for the device.

        Examples
        --------
        >>> import kapi_runtime as kapi
        >>> with kapi.current_context().defer_cleanup():
        ...     del kapi
        """
        return self.platform.numba_cuda.deferred_cleanup()

    def __enter__(self) -> Context:
        current.enter(self.device)
        return self

    def __exit__(self, *exc_info: object) -> None:
        current.leave()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Context) and self.device == other.device

    def __hash__(self) -> int:
        return hash(self.device)

    def __repr__(self) -> str:
        return f"<Context: {self.platform.describe_device(self.device)}>"


def current_context(device: Any = None) -> Context:
    """Return the context of the current device, or of another.

    Parameters
    ----------
    device : int or str or Device, optional
        A device, as `select_device` takes it; by default the current one.

    Raises
    ------
    DeviceNotFoundError
        If there is no such device.

    Examples
    --------
    >>> import kapi_runtime as kapi
    >>> with kapi.current_context() as context:
    ...     context.queue == kapi.default_queue()
    True
    """
    return Context(find_device(device))


def require_context(function: _Function) -> _Function:
    """Decorate a function: the device that is current at its call stays current until it returns.

    A call where there is no device raises DeviceNotFoundError before the function is entered.

    Examples
    --------
    >>> import kapi_runtime as kapi
    >>> import kapi_runtime.compat as cuda
    >>> @cuda.require_context
    ... def units():
    ...     return kapi.devices.current.max_compute_units
    >>> units() >= 1
    True
    """

    @functools.wraps(function)
    def with_context(*args: Any, **kwargs: Any) -> Any:
        with current_device():
            return function(*args, **kwargs)

    return with_context  # type: ignore[return-value]  # of the same parameters and result


def close() -> None:
    """Wait for all launches of kapi, and leave this thread without a current device.

    Devices can be used again at once; see `Context.reset` for what SYCL keeps.

    Examples
    --------
    >>> import kapi_runtime as kapi
    >>> device = kapi.select_device(0)
    >>> kapi.close()
    >>> kapi.devices.current == kapi.default_device()
    True
    """
    for platform in installed.platforms():
        platform.finish()
    current.clear()
