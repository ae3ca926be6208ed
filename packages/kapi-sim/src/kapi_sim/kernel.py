"""`@kernel` and the forms of a launch."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

from kapi_sim.device_function import DeviceFunction
from kapi_sim.errors import KernelCompilationError, KernelLaunchError
from kapi_sim.launch import execute
from kapi_sim.rewrite import Instrumented
from kapi_sim.spec import NdRange, Range, as_range

__all__ = [
    "DEFAULT_LOCAL_SIZE",
    "ConfiguredKernel",
    "Event",
    "Kernel",
    "call_kernel",
    "call_kernel_async",
    "kernel",
]


class _DefaultLocalSize:
    """Type of `DEFAULT_LOCAL_SIZE`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "DEFAULT_LOCAL_SIZE"


DEFAULT_LOCAL_SIZE = _DefaultLocalSize()
"""In ``kernel[n, DEFAULT_LOCAL_SIZE]``: no work-groups of the kernel's own, a `Range` launch."""


class Kernel:
    """A function that runs once for each work-item of an index space.

    Attributes
    ----------
    py_func : function
        The function as written.

    Examples
    --------
    >>> import numpy as np, kapi_sim as kapi
    >>> @kapi.kernel
    ... def double(item: kapi.Item, a):
    ...     i = item.get_id(0)
    ...     a[i] = a[i] * 2
    >>> data = np.arange(4, dtype=np.int32)
    >>> double[kapi.Range(4)](data)
    >>> data
    array([0, 2, 4, 6], dtype=int32)
    """

    py_func: Callable[..., None]
    __name__: str

    def __init__(self, py_func: Callable[..., None]) -> None:
        functools.update_wrapper(self, py_func)
        self.py_func = py_func
        self.instrumented = Instrumented(py_func)

    def __getitem__(self, configuration: Any) -> ConfiguredKernel:
        """Return the kernel with an index space, to be called with the arguments.

        Parameters
        ----------
        configuration : Range or NdRange or int or tuple
            An index space; a global size; or a pair of global and local size, each an integer or a
            tuple of integers, the local size also `DEFAULT_LOCAL_SIZE`.
        """
        return ConfiguredKernel(self, _index_space(configuration))

    def __call__(self, *args: object, **kwargs: object) -> None:
        """Say how a kernel is launched."""
        raise KernelLaunchError(
            f"kernel `{self.__name__}` must be launched over an index space, got a plain call: "
            f"write call_kernel({self.__name__}, Range(n), ...) or {self.__name__}[Range(n)](...)"
        )

    def __repr__(self) -> str:
        return f"<kernel {self.__name__}>"


class ConfiguredKernel:
    """A kernel and its index space; calling it launches."""

    __slots__ = ("index_space", "kernel")

    def __init__(self, kernel: Kernel, index_space: Range | NdRange) -> None:
        self.kernel = kernel
        self.index_space = index_space

    def __call__(self, *args: Any) -> None:
        """Launch with these arguments and wait."""
        execute(self.kernel.instrumented, self.index_space, args)

    def __repr__(self) -> str:
        return f"<kernel {self.kernel.__name__} over {self.index_space!r}>"


def _index_space(configuration: Any) -> Range | NdRange:
    if isinstance(configuration, (Range, NdRange)):
        return configuration
    if isinstance(configuration, tuple):
        if len(configuration) != 2:
            raise KernelLaunchError(
                "kernel[...] must be given an index space or a global and a local size, "
                f"got {len(configuration)} values: {configuration}"
            )
        whole, local = configuration
        if isinstance(local, _DefaultLocalSize):
            return as_range(whole, "global size")
        return NdRange(whole, local)
    return as_range(configuration, "global size")


def kernel(function: Callable[..., None]) -> Kernel:
    """Make `function` a kernel: its first parameter is an Item or NdItem, and it returns None.

    Parameters
    ----------
    function : function
        A plain Python function.

    Returns
    -------
    Kernel

    Raises
    ------
    KernelCompilationError
        If `function` is not a plain Python function, or has no parameter for the work-item.
    """
    if isinstance(function, (Kernel, DeviceFunction)) or not hasattr(function, "__code__"):
        raise KernelCompilationError(f"a kernel must be a plain Python function, got {function!r}")
    if function.__code__.co_argcount == 0:
        raise KernelCompilationError(
            f"kernel `{function.__name__}` must take the work-item as its first parameter, got no "
            "parameters: "
            "write `item: kapi.Item` or `nd_item: kapi.NdItem` first"
        )
    return Kernel(function)


def call_kernel(kernel: Kernel, index_space: Range | NdRange, *args: Any) -> None:
    """Run `kernel` once for each work-item of `index_space`, and wait.

    Parameters
    ----------
    kernel : Kernel
        What `@kernel` made.
    index_space : Range or NdRange
        The work-items; an NdRange for a kernel that uses work-groups.
    *args : numpy.ndarray or number or tuple or LocalAccessor
        One for each parameter after the work-item.

    Raises
    ------
    KernelLaunchError
        If kernel, index space and arguments do not fit each other.
    DtypeError
        If an argument is of a type that kernels do not take.
    KapiError
        What a check finds: see `kapi_sim.errors.ERRORS`.
    """
    _require_kernel(kernel)
    _require_index_space(index_space)
    execute(kernel.instrumented, index_space, args)


class Event:
    """A launch that is done: the simulator runs a kernel before `call_kernel_async` returns."""

    __slots__ = ()

    def wait(self) -> None:
        """Return at once."""

    def __repr__(self) -> str:
        return "<Event: complete>"


def call_kernel_async(
    kernel: Kernel, index_space: Range | NdRange, dependent_events: Iterable[Any], *args: Any
) -> tuple[Event, Event]:
    """Run `kernel` after `dependent_events`, and return events to wait for.

    Parameters
    ----------
    kernel : Kernel
        What `@kernel` made.
    index_space : Range or NdRange
        The work-items.
    dependent_events : iterable of Event
        Launches that must be done before.
    *args
        As for `call_kernel`.

    Returns
    -------
    host_event, device_event : Event
        The first is done when the arguments may be freed, the second when the kernel has run.

    Raises
    ------
    KernelLaunchError
        As `call_kernel`; also if something in `dependent_events` cannot be waited for.
    """
    _require_kernel(kernel)
    _require_index_space(index_space)
    try:
        events = list(dependent_events)
    except TypeError:
        events = [dependent_events]
    for event in events:
        if not callable(getattr(event, "wait", None)):
            raise KernelLaunchError(
                f"dependent_events must be an iterable of events, got {dependent_events!r}: "
                "pass [] if the launch depends on none"
            )
    for event in events:
        event.wait()
    execute(kernel.instrumented, index_space, args)
    return Event(), Event()


def _require_kernel(value: object) -> None:
    if not isinstance(value, Kernel):
        raise KernelLaunchError(
            f"the first argument of a launch must be a kernel made by kapi_sim.kernel, got {value!r}: "
            "decorate the function with @kapi.kernel, from the module that launches it"
        )


def _require_index_space(value: object) -> None:
    if not isinstance(value, (Range, NdRange)):
        raise KernelLaunchError(f"index_space must be a Range or an NdRange, got {value!r}: write kapi.Range(n)")
