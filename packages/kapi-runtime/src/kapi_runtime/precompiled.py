"""Kernels that were compiled elsewhere: SPIR-V and OpenCL C, launched like any other kernel."""

from __future__ import annotations

import keyword
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal
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

from kapi_runtime import _keep_alive, _reset, recording
from kapi_runtime._build_log import build_log
from kapi_runtime.arguments import read_arguments
from kapi_runtime.device_summary import describe_device
from kapi_runtime.events import HostEvent, device_events
from kapi_runtime.geometry import checked_range
from kapi_runtime.launchables import DeviceLaunchable, stand_in
from kapi_runtime.module_kernels import ModuleKernel
from kapi_runtime.placement import execution_queue
from kapi_runtime.queues import queue_of
from kapi_sim import DriverError, DtypeError, KernelCompilationError, KernelLaunchError, LocalAccessor, NdRange, Range
from kapi_sim.launchable import parameters_for_launch
from kapi_spirv import SpirvModule
from kapi_types.usm_array import UsmArrayFields

__all__ = ["PrecompiledKernel", "load_opencl", "load_spirv"]

# The host's part of a launch, as dpctl's bookkeeping sees it: over at once, since `_keep_alive` holds the arguments.
_DONE = dpctl.SyclEvent()
_MAGIC = 0x07230203  # the first word of a SPIR-V module

_kernels: WeakSet[PrecompiledKernel] = WeakSet()

Parameters = Mapping[str, Any] | Sequence[tuple[str, Any]]


@dataclass(frozen=True, slots=True)
class _Parameter:
    name: str
    kind: Literal["array", "scalar", "local"]
    dtype: np.dtype[Any]

    def __str__(self) -> str:
        return f"{self.name}: " + {"array": f"{self.dtype}[:]", "local": f"local {self.dtype}[:]"}.get(
            self.kind, str(self.dtype)
        )


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
        self._parameters = _parsed(entry, parameters)
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
        arguments = read_arguments(self.__name__, names, given)
        before = device_events(dependent_events)
        queue = execution_queue(self.__name__, arguments.owners)
        built = self._build_for(queue)
        native = [self._native(*pair) for pair in zip(self._parameters, arguments.read, given, strict=True)]
        if _work_items(space) == 0:
            event = queue.submit_barrier(before) if before else dpctl.SyclEvent()
            return HostEvent(event, _keep_alive.release), event
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
                f"  index space: {space!r}\n"
                f"  arguments:   {arguments.describe()}"
            ) from error
        order.add_event_pair(_DONE, event)
        _keep_alive.keep(queue, event, (given, native, built))
        self.count_launch()
        return HostEvent(event, _keep_alive.release), event

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.code, self._entry, self._given_parameters, self._build_options)

    def built_for(self, queue: Any) -> dict[str, Any]:
        """Return its `dpctl.program.SyclKernel` for a queue's device, by its parameters."""
        return {f"{self.__name__}({', '.join(self.parameters)})": self._build_for(queue).sycl_kernel}

    def _module_count(self) -> int:
        return 1

    def _native(self, parameter: _Parameter, value: Any, given: Any) -> Any:
        where = f"argument `{parameter.name}` of kernel `{self.__name__}`"
        if parameter.kind == "array":
            if not isinstance(value, UsmArrayFields) or value.dtype != parameter.dtype or "C" not in value.layout:
                raise DtypeError(
                    f"{where} must be a C-contiguous USM array of {parameter.dtype}, got {_describe(value)}"
                )
            # An array without elements may have no memory of its own to point to.
            return as_usm_memory(given) if 0 not in value.shape else MemoryUSMDevice(1, queue=queue_of(value.queue))
        if parameter.kind == "local":
            if not isinstance(value, LocalAccessor) or np.dtype(value.dtype) != parameter.dtype:
                raise DtypeError(f"{where} must be a LocalAccessor of {parameter.dtype}, got {_describe(value)}")
            return dpctl.LocalAccessor("u8", (-(-value.nbytes // 8),))
        return dpctl.RawKernelArg(bytearray(_scalar(where, parameter.dtype, value).tobytes()))

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
                f"its refusal:\n{build_log(self.code, device, self._build_options)}"
            ) from error
        if not program.has_sycl_kernel(self._entry):
            # Asking for a missing kernel gives a null reference, which ends the process when it is submitted.
            raise DriverError(f"code of kernel `{self.__name__}` must have an entry point of this name, got none")
        kernel = program.get_sycl_kernel(self._entry)
        if kernel.num_args != len(self._parameters):
            # Too few arguments would be launched with those of the launch before.
            raise DriverError(
                f"parameters of kernel `{self.__name__}` must be as many as its code has, {kernel.num_args}, got "
                f"{len(self._parameters)}: {', '.join(self.parameters) or 'none'}"
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
        If the code is no SPIR-V, or a parameter is not one of these kinds.

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
    if len(code) < 20 or _MAGIC not in (int.from_bytes(code[:4], order) for order in ("little", "big")):
        raise KernelCompilationError(
            f"code of kernel `{entry}` must be a SPIR-V module, which begins with {_MAGIC:#010x}, got {len(code)} bytes"
        )
    return PrecompiledKernel(bytes(code), entry, parameters, options)


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
        If a parameter is not one of the kinds.

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
    return PrecompiledKernel(source, entry, parameters, options)


@_reset.on_reset
def _forget(device: Any) -> None:
    for kernel in list(_kernels):
        with kernel._lock:
            kernel._built = {key: value for key, value in kernel._built.items() if key[1] != device}


def _work_items(space: Range | NdRange) -> int:
    return (space if isinstance(space, Range) else space.global_range).size


def _parsed(entry: str, parameters: Parameters) -> tuple[_Parameter, ...]:
    pairs = parameters.items() if isinstance(parameters, Mapping) else parameters
    parsed: list[_Parameter] = []
    for name, given in pairs:
        taken = ["item", *(each.name for each in parsed)]
        if not str(name).isidentifier() or keyword.iskeyword(name) or name in taken:
            raise KernelCompilationError(
                f"name of a parameter of kernel `{entry}` must be an identifier of its own, got {name!r}"
            )
        words = given.split() if isinstance(given, str) else [given]
        kind: Literal["array", "scalar", "local"] = "scalar"
        text = words[-1] if words else ""
        if isinstance(text, str) and text.endswith("[:]"):
            kind, text = ("local" if words[:-1] == ["local"] else "array"), text[:-3]
        try:
            if len(words) != (2 if kind == "local" else 1):
                raise TypeError
            parsed.append(_Parameter(name, kind, np.dtype(text)))
        except TypeError as error:
            raise KernelCompilationError(
                f"parameter `{name}` of kernel `{entry}` must be a dtype, such as 'float32', an array 'float32[:]' or "
                f"local memory 'local float32[:]', got {given!r}"
            ) from error
    return tuple(parsed)


def _scalar(where: str, dtype: np.dtype[Any], value: Any) -> Any:
    fits = isinstance(value, (bool, int, np.bool_)) or (
        (isinstance(value, float) and dtype.kind in "fc") or (isinstance(value, complex) and dtype.kind == "c")
    )
    if isinstance(value, np.generic):
        fits = value.dtype == dtype
    try:
        if fits:
            return dtype.type(value)
    except OverflowError:
        pass
    raise DtypeError(f"{where} must be a number that fits {dtype}, got {value!r}")


def _describe(value: Any) -> str:
    if isinstance(value, UsmArrayFields):
        return f"a {value.dtype} array of shape {value.shape}{'' if value.layout == 'C' else ', not contiguous'}"
    return repr(value)
