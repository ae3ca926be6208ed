"""The result of ``@cuda.jit``: a kernel that is launched, or a function that kernels call."""

from __future__ import annotations

import dataclasses
import inspect
import operator
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from math import prod
from types import FunctionType
from typing import Any

import numpy as np

from kapi_sim.checks.marked_uninitialised import Uninitialised
from kapi_sim.checks.races import ShadowMemory
from kapi_sim.errors import KapiError, KernelLaunchError, LimitError
from kapi_sim.instrument.instrumented_kernel import InstrumentedKernel
from kapi_sim.language.intrinsics.index_space import NdRange
from kapi_sim.language.launchables.device_function import DeviceFunction
from kapi_sim.launch import execute
from kapi_sim.numba_cuda.host.device_arrays import DeviceArray, Hint, as_host_array
from kapi_sim.numba_cuda.host.devices import Device
from kapi_sim.numba_cuda.host.stream_order import Accesses, order
from kapi_sim.numba_cuda.host.streams import key_of, name_of
from kapi_sim.numba_cuda.host.uninitialized import FreshArguments
from kapi_sim.numba_cuda.host.watched_arrays import MappedArray, plain
from kapi_sim.numba_cuda.inference.call_graph import CallGraph, calling
from kapi_sim.numba_cuda.inference.checking import require_compilable
from kapi_sim.numba_cuda.launches.captured_values import frozen
from kapi_sim.numba_cuda.launches.configurations import ConfigurationError, LaunchConfiguration, dimensions
from kapi_sim.numba_cuda.launches.device_signatures import converting, declare_types
from kapi_sim.numba_cuda.launches.dialect import CUDA
from kapi_sim.numba_cuda.launches.launch_signatures import prepared_arguments
from kapi_sim.numba_cuda.static_types.kinds import Declared, Kind, Nothing, SignatureError
from kapi_sim.numba_cuda.support import REFUSED, Refused, refuse
from kapi_sim.numba_cuda.threads.running import configured, is_running
from kapi_sim.numba_cuda.wording import reworded
from kapi_sim.settings.simulation_settings import current_settings, settings_of
from kapi_sim.tracebacks import shorten

__all__ = ["Dispatcher", "numba_function", "other_compiler"]

other_compiler: ContextVar[Callable[[Callable[..., Any], tuple[Any, ...]], None] | None] = ContextVar(
    "kapi_other_compiler", default=None
)
"""Gets each kernel with the arguments of its first launch that have their types."""


_MOST_BLOCKS = (Device.MAX_GRID_DIM_X, Device.MAX_GRID_DIM_Y, Device.MAX_GRID_DIM_Z)
_MOST_THREADS = (Device.MAX_BLOCK_DIM_X, Device.MAX_BLOCK_DIM_Y, Device.MAX_BLOCK_DIM_Z)


class Dispatcher(DeviceFunction[..., Any]):
    """The result of ``@cuda.jit``: a kernel, or a function that kernels call.

    Parameters
    ----------
    py_func : function
        A plain Python function.
    declared : sequence of Declared
        The signatures that it was given.
    options : dict
        What else the decorator was given.
    is_list : bool
        Whether the signatures were given as a list, of which the best one is taken.

    Attributes
    ----------
    py_func : function
        The function as written.
    targetoptions : dict
        As given to the decorator.
    """

    def __init__(
        self,
        py_func: Callable[..., Any],
        declared: Sequence[Declared],
        options: dict[str, Any],
        is_list: bool = False,
    ) -> None:
        super().__init__(py_func)
        self.targetoptions = options
        self.declared = tuple(declared)
        self._is_list = is_list
        self._device = bool(options.get("device"))
        self.extensions: list[Any] = list(options.get("extensions") or ())
        self._instrumented: InstrumentedKernel | None = None
        self._twin: Dispatcher | None = None
        self._compiled: dict[tuple[Kind, ...], CallGraph] = {}
        self._require_declared()
        if self._device:
            declare_types(py_func, self.declared)

    def _require_declared(self) -> None:
        """Raise if a signature is none that the function can have."""
        code = self.py_func.__code__
        is_open = code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS) or code.co_kwonlyargcount
        for each in self.declared:
            if not self._device and each.result is not None and not isinstance(each.result, Nothing):
                raise SignatureError(
                    f"a signature of kernel `{self.__name__}` must have the result void, got {each.result}: a kernel "
                    "returns nothing, and writes to an array",
                    code="return-value",
                )
            if not is_open and len(each.parameters) != code.co_argcount:
                raise SignatureError(
                    f"a signature of `{self.__name__}` must have as many types as the function has parameters, "
                    f"{code.co_argcount}, got {each}",
                    code="signature-count",
                )

    def configure(self, griddim: Any, blockdim: Any, stream: Any = 0, sharedmem: int = 0) -> LaunchConfiguration:
        """Return the kernel with a configuration, to be called with the arguments.

        Parameters
        ----------
        griddim, blockdim : int or tuple of int
            Blocks of the grid and threads of a block, along x, y and z.
        stream : Stream or 0
            The stream that orders the launch with others.
        sharedmem : int
            Bytes of dynamic shared memory.
        """
        grid, block = dimensions("griddim", griddim), dimensions("blockdim", blockdim)
        return LaunchConfiguration(self, grid, block, sharedmem, stream)

    def __getitem__(self, configuration: Any) -> LaunchConfiguration:
        """Return ``kernel[blocks, threads, stream, shared]``."""
        if not isinstance(configuration, tuple) or not 2 <= len(configuration) <= 4:
            raise ConfigurationError(
                f"kernel[...] must be given blocks and threads, then stream and bytes of shared memory if wanted, got "
                f"{configuration!r}: write {self.__name__}[blocks, threads](...)",
                code="launch-configuration",
            )
        return self.configure(*configuration)

    # Or Python would take `kernel[0]`, `kernel[1]` and so on for its elements, without end.
    __iter__ = None
    __contains__ = None

    def forall(self, ntasks: int, tpb: int = 0, stream: Any = 0, sharedmem: int = 0) -> Any:
        """Return a launch over at least `ntasks` threads, to be called with the arguments.

        Parameters
        ----------
        ntasks : int
            How many threads.
        tpb : int
            Threads of a block; 128 if it is left out.
        stream : Stream or 0
            The stream that orders the launch with others.
        sharedmem : int
            Bytes of dynamic shared memory.
        """
        if isinstance(ntasks, bool) or not isinstance(ntasks, (int, np.integer)) or ntasks < 0:
            raise ConfigurationError(f"ntasks must be an integer from 0 on, got {ntasks!r}", code="cuda-configuration")
        threads = int(tpb) or min(128, max(int(ntasks), 1))
        if ntasks == 0:
            return lambda *args: None
        return self.configure(-(-int(ntasks) // threads), threads, stream, sharedmem)

    @property
    def twin(self) -> Dispatcher:
        """The function with what it takes from outside as that is when it is first launched or called."""
        if self._twin is None:
            self._twin = made = Dispatcher(self.py_func, self.declared, self.targetoptions, self._is_list)
            made._twin = made
            made.py_func = frozen(self.py_func, _twin_of)
            if self._device:
                declare_types(made.py_func, self.declared)
        return self._twin

    @property
    def overloads(self) -> _Overloads:
        """The kernel by its argument types: it is one for all."""
        return _Overloads(self)

    def max_cooperative_grid_blocks(self, blockdim: Any, dynsmemsize: int = 0) -> int:
        """Return how many blocks may wait for each other: as many as a grid can have."""
        return Device.MAX_GRID_DIM_X

    def specialize(self, *args: Any) -> Dispatcher:
        """Return the kernel itself, which is compiled for no types."""
        return self

    def compile(self, *args: Any) -> None:
        """Do nothing: the simulator compiles for no types."""

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Call the function from a kernel that could not be followed here; elsewhere, say how it is launched."""
        if is_running():
            return converting(self.py_func, self.py_func)(*args, **named)
        if self._device:
            raise KernelLaunchError(
                f"device function `{self.__name__}` must be called in a kernel, got a call on the host: its "
                "py_func is the plain function",
                code="outside-kernel",
            )
        raise ConfigurationError(
            f"kernel `{self.__name__}` must be launched with a configuration, got a plain call: write "
            f"{self.__name__}[blocks, threads](...)",
            code="kernel-called",
        )

    def __get__(self, owner: Any, kind: Any = None) -> Any:
        return self

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name in REFUSED:
            return Refused(name, REFUSED[name])
        raise AttributeError(f"kernel `{self.__dict__.get('__name__', '')}` has no {name!r} in the simulator")

    def __repr__(self) -> str:
        return f"<cuda.jit function {self.__name__}>"

    def launch(
        self, grid: tuple[int, ...], block: tuple[int, ...], nbytes: int, args: tuple[Any, ...], stream: Any = 0
    ) -> None:
        """Run the kernel, with all checks that the current settings have."""
        settings = current_settings()
        most = Device.MAX_THREADS_PER_BLOCK if settings.profile is None else settings.profile.max_work_group_size
        if prod(block) > most:
            raise LimitError(
                f"a block must have at most {most} threads, got {prod(block)}: launch smaller blocks",
                code="work-group-too-large",
            )
        for word, extents, limits in (("grid", grid, _MOST_BLOCKS), ("block", block, _MOST_THREADS)):
            if any(extent > limit for extent, limit in zip(extents, limits, strict=True)):
                raise LimitError(
                    f"a {word} must have extents of at most {limits} along x, y and z, got {extents}: launch a smaller "
                    f"{word}, and let each thread do more",
                    code="work-group-too-large",
                )
        self.launched(grid, block, nbytes, args, stream)

    def launched(
        self, grid: tuple[int, ...], block: tuple[int, ...], nbytes: int, args: tuple[Any, ...], stream: Any = 0
    ) -> None:
        """Run the kernel over a grid that a device can have."""
        settings = current_settings()
        if any(each.has_pointers for each in self.declared):
            refuse("CPointer")
        function = self.twin.py_func
        if self._instrumented is None:
            self._instrumented = InstrumentedKernel(function, CUDA)
        for extension in reversed(self.extensions):
            prepared = (extension.prepare_args(None, value, stream=0, retr=[]) for value in args)
            args = tuple(value for _, value in prepared)
        names = self.py_func.__code__.co_varnames
        args, kinds = prepared_arguments(self.__name__, names, self.declared, self._is_list, args)
        space = NdRange(tuple(map(operator.mul, grid, block))[::-1], block[::-1])
        fresh = [array.fresh for array in _device_arrays(args) if array.fresh is not None]
        if fresh and "initialisation" in settings.checks:
            marked: Uninitialised = FreshArguments(
                list({id(each): each for each in fresh}.values()), settings.uninitialised
            )
            settings = dataclasses.replace(settings, uninitialised=marked)
        try:
            calls = self._compiled.get(kinds)
            if calls is None:
                calls = self._compiled[kinds] = require_compilable(function, kinds)
                ask = other_compiler.get()
                if ask is not None:
                    ask(self.py_func, args)
            with settings_of(settings), configured(nbytes), calling(calls), _records(args) as given:
                accessed = execute(self._instrumented, space, given)
            self._put_into(stream, args, accessed)
        except Exception as error:
            reworded(error)
            if settings.report is not None:
                settings.report.note_fault(self.__name__, error)
            shorten(error, isinstance(error, KapiError))
            raise

    def _put_into(self, stream: Any, args: tuple[Any, ...], accessed: ShadowMemory | None) -> None:
        """Order the launch, which is done here, with the work of other streams and with the host."""
        key = key_of(stream)
        held = dict(_memory_of(self.py_func.__code__.co_varnames, args))
        accesses = None
        if accessed is not None and order.follows(key, any(is_shared for _, is_shared in held.values())):
            atomics = accessed.atomic_addresses()
            found = (accessed.read_addresses(), accessed.written_addresses() - atomics, atomics)
            arrays = {name: array for name, (array, _) in held.items()}
            accesses = Accesses(arrays, *(np.fromiter(each, np.int64, len(each)) for each in found))
        order.put(key, f"kernel `{self.__name__}` on {name_of(stream)}", accesses)
        if self.targetoptions.get("debug"):
            order.wait_for_all()
        elif any(isinstance(each, np.ndarray) and not isinstance(each, MappedArray) for each in _flat(args)):
            # What comes back to host memory is there when the launch returns.
            order.wait_for_stream(key)


def _memory_of(names: Sequence[str], args: tuple[Any, ...]) -> Iterator[tuple[str, tuple[np.ndarray[Any, Any], bool]]]:
    """Yield the memory of the device among a launch's arguments by name, and whether the host reaches it as well."""
    for name, value in zip(names, args, strict=False):
        for i, each in enumerate(_flat((value,))):
            if isinstance(each, (DeviceArray, MappedArray)):
                memory = plain(as_host_array(each))
                yield f"{name}[{i}]" if isinstance(value, tuple) else name, (memory, isinstance(each, MappedArray))


def _flat(args: tuple[Any, ...]) -> Iterator[Any]:
    """Yield arguments, those in tuples and in hints as well."""
    for value in args:
        if isinstance(value, tuple):
            yield from _flat(value)
        elif isinstance(value, Hint):
            yield from _flat((value.value,))
        else:
            yield value


def _twin_of(value: Any) -> Any:
    """Return what stands for a value among a kernel's globals."""
    if isinstance(value, Dispatcher):
        return value.twin
    function = numba_function(value) if getattr(value, "_can_compile", True) else None
    # A function that Numba compiles for the host is a device function in a kernel, if it is not compiled already.
    return value if function is None else Dispatcher(function, (), {"device": True}).twin


def numba_function(value: object) -> FunctionType | None:
    """Return the Python function that Numba was given, for one that it compiles; `None` of other objects."""
    is_from_numba = any(each.__module__.partition(".")[0] in ("numba", "numba_cuda") for each in type(value).__mro__)
    function = getattr(value, "py_func", None) if is_from_numba else None
    return function if isinstance(function, FunctionType) else None


@contextmanager
def _records(args: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    """Pass records, which NumPy gives as scalars, by reference."""
    arrays = {i: np.array(value) for i, value in enumerate(args) if isinstance(value, np.void) and value.dtype.names}
    yield tuple(arrays.get(i, value) for i, value in enumerate(args))
    for i, array in arrays.items():
        for name in array.dtype.names or ():
            args[i][name] = array[name]


class _Overloads:
    """``kernel.overloads``, in which all argument types lead to the one kernel."""

    def __init__(self, kernel: Dispatcher) -> None:
        self._kernel = kernel

    def __getitem__(self, types: Any) -> Dispatcher:
        return self._kernel

    def __len__(self) -> int:
        return 1

    def values(self) -> tuple[Dispatcher, ...]:
        """Return the kernel."""
        return (self._kernel,)


def _device_arrays(args: tuple[Any, ...]) -> list[DeviceArray]:
    return [value for value in _flat(args) if isinstance(value, DeviceArray)]
