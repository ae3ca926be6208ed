"""Kernels that were compiled elsewhere: SPIR-V and OpenCL C, launched like any other kernel."""

from __future__ import annotations

import array
import sys
import threading
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any
from weakref import WeakSet

import dpctl
import numpy as np
from dpctl import SyclKernelInvalidRangeError, SyclKernelSubmitError
from dpctl.memory import MemoryUSMDevice, as_usm_memory
from dpctl.program import (
    SyclProgramCompilationError,
    create_program_from_source,
    create_program_from_spirv,
)
from dpctl.utils import SequentialOrderManager

from kapi_runtime.kernels.launchables import DeviceLaunchable, stand_in
from kapi_runtime.kernels.module_kernels import ModuleKernel
from kapi_runtime.kernels.parameters import WORDS, Parameter, Parameters, described, parsed_parameters, scalar_argument
from kapi_runtime.launch.arguments import Arguments, read_arguments
from kapi_runtime.launch.geometry import checked_range
from kapi_runtime.launch.host_arrays import place_of_host_arrays
from kapi_runtime.launch.placement import execution_queue
from kapi_runtime.platform import reset
from kapi_runtime.recording import record as recording
from kapi_runtime.sycl import keep_alive
from kapi_runtime.sycl.build_log import build_log
from kapi_runtime.sycl.device_summary import describe_device
from kapi_runtime.sycl.events import HostEvent, device_events
from kapi_runtime.sycl.queues import queue_of
from kapi_runtime.sycl.usm_array import shared_array_of
from kapi_sim import DriverError, DtypeError, KernelCompilationError, KernelLaunchError, LocalAccessor, NdRange, Range
from kapi_sim.language.launchable import parameters_for_launch
from kapi_sim.language.usm_fields import ArrayFields, is_usm_array
from kapi_sim.shown import shown
from kapi_spirv import SpirvModule, entry_points

__all__ = ["PrecompiledKernel", "load_opencl", "load_spirv"]

# The host's part of a launch, as dpctl's bookkeeping sees it: over at once, since `keep_alive` holds the arguments.
_DONE = dpctl.SyclEvent()
_MAGIC = bytes.fromhex("03022307" if sys.byteorder == "little" else "07230203")  # begins a SPIR-V module

_kernels: WeakSet[PrecompiledKernel] = WeakSet()


class PrecompiledKernel(DeviceLaunchable):
    """A kernel whose code was made elsewhere; `load_spirv` and `load_opencl` make it.

    It is built by the driver at its first launch on a device, and it can be pickled: its code travels.

    Attributes
    ----------
    code : bytes or str
        SPIR-V, or OpenCL C source.
    parameters : tuple of str
        Its parameters as text, such as ``"x: float32[:]"``.
    """

    def __init__(self, code: bytes | str, entry: str, parameters: Parameters, options: str = "") -> None:
        self.code = code
        self._entry, self._given_parameters, self._build_options = entry, parameters, options
        self._parameters = parsed_parameters(entry, parameters)
        super().__init__(stand_in(entry, [each.name for each in self._parameters]))
        self._lock = threading.Lock()
        self._built: dict[Any, _Built] = {}
        _kernels.add(self)

    @property
    def parameters(self) -> tuple[str, ...]:
        """Its parameters as text."""
        return tuple(map(str, self._parameters))

    def submit(
        self, space: Range | NdRange, dependent_events: Iterable[Any], given: tuple[Any, ...]
    ) -> tuple[HostEvent, Any]:
        """Launch, and return the events of `call_kernel_async`."""
        names = parameters_for_launch(self.py_func, space, given)
        place = place_of_host_arrays()
        # NumPy arrays are copied, on every device: dpctl takes no pointer to memory that is not USM.
        copying = None if place is None else replace(place, in_place=False)
        arguments = read_arguments(self.__name__, names, given, copying)
        before = device_events(dependent_events)
        queue = execution_queue(self.__name__, arguments.owners, None if place is None else place.queue)
        built = self._build_for(queue)
        native = self._native(arguments)
        if _work_items(space) == 0:
            event = queue.submit_barrier(before) if before else dpctl.SyclEvent()
            return HostEvent(event, keep_alive.release), event
        global_range, local_range = checked_range(space, built, arguments.accessors)
        order = SequentialOrderManager[queue]
        try:
            event = recording.submit(
                queue,
                [*order.submitted_events, *before],
                lambda on, after: on.submit_async(built.sycl_kernel, native, global_range, local_range, after),
                kind="launch",
                name=self.__name__,
                space=repr(space),
                nbytes=arguments.nbytes,
            )
        except (SyclKernelSubmitError, SyclKernelInvalidRangeError, RuntimeError, TypeError, ValueError) as error:
            raise KernelLaunchError(
                f"kernel `{self.__name__}` must be accepted by the driver, got {type(error).__name__}: {error}\n"
                f"  index space: {shown(space)}\n"
                f"  arguments:   {arguments.describe()}",
                code="launch-refused",
            ) from error
        order.add_event_pair(_DONE, event)
        keep_alive.keep(queue, event, (given, native, built, arguments.copied))
        self.count_launch()
        host_event = HostEvent(event, keep_alive.release)
        if arguments.copied is not None:
            host_event.wait()
            arguments.copied.copy_out()
        return host_event, event

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.code, self._entry, self._given_parameters, self._build_options)

    def built_for(self, queue: Any) -> dict[str, Any]:
        """Return its `dpctl.program.SyclKernel` for a queue's device, by its parameters."""
        return {f"{self.__name__}({', '.join(self.parameters)})": self._build_for(queue).sycl_kernel}

    def _module_count(self) -> int:
        return 1

    def _native(self, arguments: Arguments) -> list[Any]:
        """What dpctl submits with the kernel."""
        values = iter(arguments.read)
        native = []
        for parameter, given in zip(self._parameters, arguments.given, strict=True):
            if isinstance(given, tuple):
                raise DtypeError(
                    f"argument `{parameter.name}` of kernel `{self.__name__}` must be {WORDS[parameter.kind]} of "
                    f"{parameter.dtype}, got a tuple: pass what it holds, one by one",
                    code="precompiled-argument",
                )
            native.append(self._native_argument(parameter, next(values), given, arguments))
        return native

    def _native_argument(self, parameter: Parameter, value: Any, given: Any, arguments: Arguments) -> Any:
        where = f"argument `{parameter.name}` of kernel `{self.__name__}`"
        if parameter.kind == "array":
            if not isinstance(value, ArrayFields) or value.dtype != parameter.dtype or "C" not in value.layout:
                raise DtypeError(
                    f"{where} must be a C-contiguous USM array of {parameter.dtype}, got {described(value)}",
                    code="precompiled-argument",
                )
            if 0 in value.shape:  # there may be no memory of its own to point to
                return MemoryUSMDevice(1, queue=queue_of(value.owner))
            if isinstance(given, np.ndarray) and arguments.copied is not None:
                return arguments.copied.memory_at(value.pointer)
            return as_usm_memory(given if is_usm_array(given) else shared_array_of(given))
        if parameter.kind == "local":
            if not isinstance(value, LocalAccessor) or np.dtype(value.dtype) != parameter.dtype:
                raise DtypeError(
                    f"{where} must be a LocalAccessor of {parameter.dtype}, got {described(value)}",
                    code="precompiled-argument",
                )
            return dpctl.LocalAccessor("u8", (-(-value.nbytes // 8),))
        return dpctl.RawKernelArg(bytearray(scalar_argument(where, parameter.dtype, value).tobytes()))

    def _build_for(self, queue: Any) -> _Built:
        key = (queue.sycl_context, queue.sycl_device)
        built = self._built.get(key)
        if built is None:
            with self._lock:
                built = self._built.get(key)
                if built is None:
                    built = self._built[key] = self._build(queue)
        return built

    def _build(self, queue: Any) -> _Built:
        device = queue.sycl_device
        try:
            if isinstance(self.code, bytes):
                program = create_program_from_spirv(queue, self.code, self._build_options)
            else:
                program = create_program_from_source(queue, self.code, self._build_options)
        except SyclProgramCompilationError as error:
            raise DriverError(
                f"code of kernel `{self.__name__}` must be accepted by the driver of {describe_device(device)}, got "
                f"its refusal:\n{build_log(self.code, device, self._build_options)}",
                code="build-refused",
            ) from error
        if not program.has_sycl_kernel(self._entry):
            # Asking for a missing kernel gives a null reference, which ends the process when it is submitted.
            names = entry_points(self.code) if isinstance(self.code, bytes) else ()
            raise DriverError(
                f"code of kernel `{self.__name__}` must have an entry point of this name, got "
                f"{', '.join(names) or 'none'}: give the kernel's name as `entry`",
                code="entry-absent",
            )
        kernel = program.get_sycl_kernel(self._entry)
        if kernel.num_args != len(self._parameters):
            # Too few arguments would be launched with those of the launch before.
            raise DriverError(
                f"parameters of kernel `{self.__name__}` must be as many as its code has, {kernel.num_args}, got "
                f"{len(self._parameters)}: {', '.join(self.parameters) or 'none'}",
                code="parameter-count",
            )
        return _Built(
            name=self.__name__,
            sycl_kernel=kernel,
            max_work_group_size=min(device.max_work_group_size, kernel.work_group_size),
            max_work_item_sizes=tuple(device.max_work_item_sizes3d),
            local_mem_size=device.local_mem_size,
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Built:
    """The kernel for one device and context, and the limits that its launches keep."""

    name: str
    sycl_kernel: Any
    max_work_group_size: int
    max_work_item_sizes: tuple[int, ...]
    local_mem_size: int


def load_spirv(code: bytes | SpirvModule, entry: str = "", parameters: Parameters = (), options: str = "") -> Any:
    """Make a kernel of a SPIR-V module, to be launched like any other.

    Parameters
    ----------
    code : bytes or SpirvModule
        A SPIR-V binary for OpenCL; or what `kapi_spirv.compile_kernel` gave, maybe in another process, which knows its
        entry point and parameters.
    entry : str
        Name of the kernel in it.
    parameters : mapping or sequence of (str, type)
        Name and type of each parameter, in order.  A dtype (``"float32"``) is a number; with brackets
        (``"float32[:]"``), a pointer to the first element of a C-contiguous USM array; ``"local float32[:]"``, local
        memory, for which a launch is given a `LocalAccessor`.
    options : str
        Options for the driver's compiler.

    Returns
    -------
    PrecompiledKernel or ModuleKernel

    Raises
    ------
    KernelCompilationError
        If the code is no SPIR-V, is cut short or has no kernel of this name, or a parameter is not one of these kinds.

    Notes
    -----
    A launch over ``Range(n, m)`` runs as many work-items, and no more; OpenCL counts dimensions from the other end, so
    that its ``get_global_id(0)`` is the last one here.  What is wrong in the code is found by the driver, at the first
    launch; a driver may end the process over a module that is not valid.

    Examples
    --------
    >>> import numpy as np
    >>> import kapi_runtime as kapi
    >>> kapi.load_spirv(b"no SPIR-V", "add", [("x", "float32[:]")])
    Traceback (most recent call last):
      ...
    kapi_sim.errors.KernelCompilationError: code of kernel `add` must be a SPIR-V module, which begins with \
0x07230203, got 9 bytes
    """
    if isinstance(code, SpirvModule):
        return ModuleKernel(code)
    if not isinstance(code, (bytes, bytearray, memoryview)):
        raise KernelCompilationError(
            f"code of kernel `{entry}` must be the bytes of a SPIR-V module, or a SpirvModule"
            f", got {shown(code)}: read a "
            "file by `pathlib.Path(name).read_bytes()`",
            code="precompiled-code",
        )
    code = bytes(code)
    if code[:4] == _MAGIC[::-1] and len(code) % 4 == 0:  # of a machine with the other byte order
        words = array.array("I", code)
        words.byteswap()
        code = words.tobytes()
    if code[:4] != _MAGIC:
        raise KernelCompilationError(
            f"code of kernel `{entry}` must be a SPIR-V module, which begins with 0x07230203, got {len(code)} bytes",
            code="precompiled-code",
        )
    try:
        names = entry_points(code)
    except ValueError as error:
        raise KernelCompilationError(
            f"code of kernel `{entry}` must be a whole SPIR-V module, got {len(code)} bytes: {error}",
            code="precompiled-code",
        ) from error
    if entry not in names:
        raise KernelCompilationError(
            f"entry must be the name of a kernel in the SPIR-V module, {', '.join(names) or 'which has none'}, got "
            f"{shown(entry)}",
            code="entry-absent",
        )
    return PrecompiledKernel(code, entry, parameters, options)


def load_opencl(source: str, entry: str, parameters: Parameters, options: str = "") -> PrecompiledKernel:
    """Make a kernel of OpenCL C source, to be launched like any other on OpenCL devices.

    Parameters
    ----------
    source : str
        The program.
    entry : str
        Name of the kernel in it.
    parameters : mapping or sequence of (str, type)
        Name and type of each parameter, as for `load_spirv`.
    options : str
        Options for the driver's compiler, such as ``"-cl-std=CL3.0"``.

    Returns
    -------
    PrecompiledKernel

    Raises
    ------
    KernelCompilationError
        If the source is no text, or a parameter is not one of the kinds.

    Examples
    --------
    >>> import dpnp
    >>> import kapi_runtime as kapi
    >>> source = '''
    ... kernel void scale(float factor, global float *x) {
    ...     x[get_global_id(0)] *= factor;
    ... }'''
    >>> scale = kapi.load_opencl(source, "scale", {"factor": "float32", "x": "float32[:]"})
    >>> x = dpnp.arange(4, dtype="float32")
    >>> kapi.call_kernel(scale, kapi.Range(4), 10.0, x)
    >>> x
    array([ 0., 10., 20., 30.], dtype=float32)
    """
    if not isinstance(source, str):
        raise KernelCompilationError(
            f"source of kernel `{entry}` must be a text, got {type(source).__name__}: SPIR-V is for `load_spirv`",
            code="precompiled-code",
        )
    return PrecompiledKernel(source, entry, parameters, options)


@reset.on_reset
def _forget(device: Any) -> None:
    for kernel in list(_kernels):
        with kernel._lock:
            kernel._built = {key: value for key, value in kernel._built.items() if key[1] != device}


def _work_items(space: Range | NdRange) -> int:
    return (space if isinstance(space, Range) else space.global_range).size
