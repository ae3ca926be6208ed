"""Kernels that were compiled before and elsewhere: SPIR-V and PTX modules of any compiler, cubins, OpenCL C source."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

import numpy as np

from kapi_lowering import KernelModule
from kapi_runtime.host.events import listed_events
from kapi_runtime.kernels.launchables import DeviceLaunchable, stand_in
from kapi_runtime.kernels.module_kernels import ModuleKernel
from kapi_runtime.kernels.parameters import (
    WORDS,
    DeclaredParameter,
    Parameters,
    described,
    parsed_parameters,
    scalar_argument,
)
from kapi_runtime.launch.arguments import Arguments, read_arguments
from kapi_runtime.launch.preparation import BuiltLaunch, Prepared, prepare
from kapi_runtime.platform import device_caches, installed, recorder
from kapi_runtime.platform.current import host_array_target
from kapi_runtime.platform.handles import HostEvent
from kapi_runtime.platform.interface import BuiltKernel, ForeignCode, NativeArgument, Platform
from kapi_runtime.platform.placement_errors import placement_error
from kapi_sim import DtypeError, LocalAccessor, NdRange, Range
from kapi_sim.forks import reinit_after_fork
from kapi_sim.language.array_memory import ArrayFields
from kapi_sim.language.launchables.launch_parameters import parameters_for_launch
from kapi_sim.log import launches, log_launch

if TYPE_CHECKING:
    from kapi_ptx import PtxModule
    from kapi_spirv import SpirvModule

__all__ = ["PrecompiledKernel", "load_opencl", "load_ptx", "load_spirv"]

_ELF = b"\x7fELF"

_kernels: WeakSet[PrecompiledKernel] = WeakSet()


class PrecompiledKernel(DeviceLaunchable):
    """A kernel from precompiled code; `load_spirv`, `load_ptx` and `load_opencl` make it.

    It is built by the driver at its first launch on a device, and it can be pickled: its code travels.

    Attributes
    ----------
    code : bytes or str
        SPIR-V, PTX, a cubin, or OpenCL C source.
    parameters : tuple of str
        Its parameters as text, such as ``"x: float32[:]"``.
    """

    def __init__(self, foreign: ForeignCode, parameters: Parameters) -> None:
        self._foreign, self._given_parameters = foreign, parameters
        self._parameters = parsed_parameters(foreign.entry, parameters)
        super().__init__(stand_in(foreign.entry, [each.name for each in self._parameters]))
        self._lock = reinit_after_fork(threading.Lock())
        self._built: dict[Any, BuiltKernel] = {}
        _kernels.add(self)

    @property
    def code(self) -> bytes | str:
        """SPIR-V, PTX, a cubin, or OpenCL C source."""
        return self._foreign.code

    @property
    def parameters(self) -> tuple[str, ...]:
        """Its parameters as text."""
        return tuple(map(str, self._parameters))

    def submit(
        self, space: Range | NdRange, dependent_events: Iterable[Any], given: tuple[Any, ...]
    ) -> tuple[HostEvent, Any]:
        """Launch, and return the events of `call_kernel_async`."""
        if recorder.is_watching and (graph := recorder.graph()) is not None:
            return graph.launch(self, space, given, dependent_events)
        events = self.prepared(space, given).submit(listed_events(dependent_events))
        self.count_launch()
        if launches.are_logged:
            log_launch(self.__name__, space)
        return events

    def prepared(self, space: Range | NdRange, given: tuple[Any, ...]) -> Prepared:
        """Validate a launch."""
        names = parameters_for_launch(self.py_func, space, given)
        host_target = host_array_target.get()
        # NumPy arrays are copied, on every device: its own code may take pointers to memory of the device alone.
        copying = None if host_target is None else replace(host_target, in_place=False)
        arguments = read_arguments(self.__name__, names, given, copying)

        def make(platform: Platform, queue: Any) -> BuiltLaunch:
            if platform.name != self._foreign.platform:
                raise placement_error(
                    f"arguments of kernel `{self.__name__}` must be arrays of {self._foreign.platform}, which its "
                    f"code is for, got arrays of {platform.name}",
                    code="different-platforms",
                )
            return BuiltLaunch(self._build_for(platform, queue), self._values(arguments))

        return prepare(self.__name__, space, arguments, make)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._foreign, self._given_parameters)

    def built(self, platform: Platform, queue: Any) -> dict[str, BuiltKernel]:
        """Return its kernel for a queue's device, by its parameters; none on another platform than its code's."""
        if platform.name != self._foreign.platform:
            return {}
        return {f"{self.__name__}({', '.join(self.parameters)})": self._build_for(platform, queue)}

    def _module_count(self) -> int:
        return 1

    def _values(self, arguments: Arguments) -> list[NativeArgument]:
        """The values that are submitted with the kernel, one for each parameter."""
        values = iter(arguments.read)
        found = []
        for parameter, given in zip(self._parameters, arguments.given, strict=True):
            if isinstance(given, tuple):
                raise DtypeError(
                    f"argument `{parameter.name}` of kernel `{self.__name__}` must be {WORDS[parameter.kind]} of "
                    f"{parameter.dtype}, got a tuple: pass what it holds, one by one",
                    code="precompiled-argument",
                )
            found.append(self._value(parameter, next(values)))
        return found

    def _value(self, parameter: DeclaredParameter, value: Any) -> NativeArgument:
        where = f"argument `{parameter.name}` of kernel `{self.__name__}`"
        if parameter.kind == "array":
            if not isinstance(value, ArrayFields) or value.dtype != parameter.dtype or "C" not in value.layout:
                raise DtypeError(
                    f"{where} must be a C-contiguous array of {parameter.dtype} on a device, got {described(value)}",
                    code="precompiled-argument",
                )
            return value
        if parameter.kind == "local":
            if not isinstance(value, LocalAccessor) or np.dtype(value.dtype) != parameter.dtype:
                raise DtypeError(
                    f"{where} must be a LocalAccessor of {parameter.dtype}, got {described(value)}",
                    code="precompiled-argument",
                )
            return value
        return bytes(scalar_argument(where, parameter.dtype, value).tobytes())

    def _build_for(self, platform: Platform, queue: Any) -> BuiltKernel:
        key = platform.build_key(queue)
        built = self._built.get(key)
        if built is None:
            with self._lock:
                built = self._built.get(key)
                if built is None:
                    built = self._built[key] = platform.built_foreign(self._foreign, self.parameters, queue)
        return built


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
0x07230203, got 9 bytes [precompiled-code]
    """
    if isinstance(code, KernelModule):
        return ModuleKernel(code)
    return _loaded("sycl", "spirv", code, entry, parameters, options)


def load_ptx(code: str | bytes | PtxModule, entry: str = "", parameters: Parameters = ()) -> Any:
    """Make a kernel of a PTX module or a cubin, to be launched on CUDA devices like any other.

    Parameters
    ----------
    code : str or bytes or PtxModule
        PTX; a cubin; or what `kapi_ptx.compile_kernel` gave, maybe in another process, which knows its entry point and
        parameters.
    entry : str
        Name of the kernel in it.
    parameters : mapping or sequence of (str, type)
        Name and type of each parameter, as for `load_spirv`.

    Returns
    -------
    PrecompiledKernel or ModuleKernel

    Raises
    ------
    KernelCompilationError
        If the code is neither, or has no kernel of this name, or a parameter is not one of the kinds.
    DriverError
        If CUDA is not installed.

    Notes
    -----
    A launch over ``Range(n, m)`` chooses blocks whose sizes divide the extents, and runs as many threads as asked for.
    The last dimension is CUDA's x.  Local memory is dynamic shared memory; several accessors follow each other in it,
    each at a multiple of 16 bytes.
    """
    if isinstance(code, KernelModule):
        return ModuleKernel(code)
    form = "cubin" if isinstance(code, bytes) and code.startswith(_ELF) else "ptx"
    return _loaded("cuda", form, code, entry, parameters, "")


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
    return _loaded("sycl", "opencl", source, entry, parameters, options)


def _loaded(platform: str, form: str, code: Any, entry: str, parameters: Parameters, options: str) -> PrecompiledKernel:
    checked = installed.named(platform, f"code of kernel `{entry}`").checked_code(form, code, entry)
    return PrecompiledKernel(ForeignCode(platform, form, checked, entry, options), parameters)


@device_caches.on_reset
def _forget(device: Any) -> None:
    for kernel in list(_kernels):
        with kernel._lock:
            kernel._built = {key: value for key, value in kernel._built.items() if key[0] != device}
