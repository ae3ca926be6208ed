"""`@kernel`: a Python function that is compiled for its argument types and runs where its arrays live."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Hashable, Iterable
from typing import Any

from kapi_runtime.arguments import Arguments, read_arguments
from kapi_runtime.controls import note_launch
from kapi_runtime.events import HostEvent
from kapi_runtime.launch import launch
from kapi_sim import (
    DEFAULT_LOCAL_SIZE,
    DeviceFunction,
    KernelCompilationError,
    KernelLaunchError,
    NdRange,
    Range,
)
from kapi_sim.arguments import check_parameters
from kapi_sim.errors import DtypeError
from kapi_sim.spec import as_range
from kapi_spirv import SpirvModule, SpirvTarget, compile_kernel
from kapi_types import ItemType, NdItemType, typeof_argument
from kapi_types.usm_array import UsmArrayFields, array_type

__all__ = ["ConfiguredKernel", "Kernel", "call_kernel", "call_kernel_async", "kernel"]


class Kernel:
    """A function that runs once for each work-item of an index space, compiled at its first launch.

    Parameters
    ----------
    py_func : function
        A plain Python function in the kernel language; its first parameter is the Item or NdItem.
    target : SpirvTarget, optional
        What to compile for.

    Attributes
    ----------
    py_func : function
        The function as written.

    Notes
    -----
    One compilation serves all arguments of equal types: element type, rank, and whether an array is
    contiguous. Other values, shapes, queues and devices compile nothing.
    """

    py_func: Callable[..., None]
    __name__: str

    def __init__(self, py_func: Callable[..., None], target: SpirvTarget | None = None) -> None:
        functools.update_wrapper(self, py_func)
        self.py_func = py_func
        self.target = target or SpirvTarget()
        self._modules: dict[Hashable, SpirvModule] = {}
        self._lock = threading.Lock()

    def __getitem__(self, configuration: Any) -> ConfiguredKernel:
        """Return the kernel with an index space, to be called with the arguments.

        Parameters
        ----------
        configuration : Range or NdRange or int or tuple
            An index space; a global size; or a pair of global and local size, each an integer or a tuple of
            integers, the local size also `DEFAULT_LOCAL_SIZE`.
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

    def submit(
        self, space: Range | NdRange, dependent_events: Iterable[Any], given: tuple[Any, ...]
    ) -> tuple[HostEvent, Any]:
        """Launch, and return the events of `call_kernel_async`."""
        names = check_parameters(self.py_func, space, given)
        if len(given) < len(names):
            given = (*given, *(self.py_func.__defaults__ or ())[len(given) - len(names) :])
        arguments = read_arguments(self.__name__, names, given)
        compiled = functools.partial(self._compiled, space, arguments)
        events = launch(self.__name__, space, arguments, dependent_events, compiled)
        note_launch(self.__name__, space)
        return events

    def _compiled(self, space: Range | NdRange, arguments: Arguments) -> SpirvModule:
        """Return the module for arguments of these types."""
        key = (type(space), space.ndim, arguments.key)
        module = self._modules.get(key)
        if module is None:
            with self._lock:
                module = self._modules.get(key)
                if module is None:
                    signature = _signature(self.__name__, space, arguments)
                    module = compile_kernel(self.py_func, signature, target=self.target)
                    self._modules[key] = module
        return module


class ConfiguredKernel:
    """A kernel and its index space; calling it launches, and waits."""

    __slots__ = ("index_space", "kernel")

    def __init__(self, kernel: Kernel, index_space: Range | NdRange) -> None:
        self.kernel = kernel
        self.index_space = index_space

    def __call__(self, *args: Any) -> None:
        """Launch with these arguments and wait."""
        call_kernel(self.kernel, self.index_space, *args)

    def __repr__(self) -> str:
        return f"<kernel {self.kernel.__name__} over {self.index_space!r}>"


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
    """Run `kernel` once for each work-item of `index_space` on the device of its arrays, and wait.

    Parameters
    ----------
    kernel : Kernel
        What `@kernel` made.
    index_space : Range or NdRange
        The work-items; an NdRange for a kernel that uses work-groups.
    *args : USM array or number or LocalAccessor
        One for each parameter after the work-item; the arrays share one queue.

    Raises
    ------
    ExecutionPlacementError
        If the arrays do not share one queue, or there is none.
    KernelCompilationError
        If the kernel cannot be compiled for these arguments.
    KernelLaunchError
        If kernel, index space and arguments do not fit each other, or the driver refuses the launch.
    LimitError
        If the launch exceeds a limit of the device.
    DtypeError
        If an argument is of a type that kernels do not take.
    DriverError
        If the driver refuses the kernel.
    """
    host_event, _ = call_kernel_async(kernel, index_space, (), *args)
    host_event.wait()


def call_kernel_async(
    kernel: Kernel, index_space: Range | NdRange, dependent_events: Iterable[Any], *args: Any
) -> tuple[HostEvent, Any]:
    """Submit `kernel` after `dependent_events`, and return events to wait for.

    The launch is ordered with what dpnp does on the same queue before and after it.  The arguments stay alive
    until the kernel has run.

    Parameters
    ----------
    kernel : Kernel
        What `@kernel` made.
    index_space : Range or NdRange
        The work-items.
    dependent_events : iterable of HostEvent or dpctl.SyclEvent
        What must be done before.
    *args
        As for `call_kernel`.

    Returns
    -------
    host_event : HostEvent
        Done when the arguments are let go.
    device_event : dpctl.SyclEvent
        Done when the kernel has run.

    Raises
    ------
    KernelLaunchError
        As `call_kernel`; also if something in `dependent_events` is no event.
    """
    if not isinstance(kernel, Kernel):
        raise KernelLaunchError(
            f"the first argument of a launch must be a kernel made by kapi_runtime.kernel, got {kernel!r}: "
            "decorate the function with @kapi.kernel, from the module that launches it"
        )
    if not isinstance(index_space, (Range, NdRange)):
        raise KernelLaunchError(
            f"index_space must be a Range or an NdRange, got {index_space!r}: write kapi.Range(n)"
        )
    return kernel.submit(index_space, dependent_events, args)


def _signature(name: str, space: Range | NdRange, arguments: Arguments) -> tuple[Any, ...]:
    item = ItemType(space.ndim) if isinstance(space, Range) else NdItemType(space.ndim)
    signature = [item]
    for parameter, value in zip(arguments.names, arguments.read, strict=True):
        try:
            signature.append(array_type(value) if isinstance(value, UsmArrayFields) else typeof_argument(value))
        except (DtypeError, TypeError) as error:
            raise DtypeError(f"argument `{parameter}` of kernel `{name}`: {error}") from error
    return tuple(signature)


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
        return as_range(whole, "global size") if local is DEFAULT_LOCAL_SIZE else NdRange(whole, local)
    return as_range(configuration, "global size")
