"""``@cuda.jit``: kernels and device functions, and how kernels are launched."""

from __future__ import annotations

import dataclasses
import functools
import operator
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import prod
from typing import Any

import numpy as np

from kapi_sim.checks.marking import Uninitialised
from kapi_sim.errors import KapiError, KernelCompilationError, KernelLaunchError, LimitError
from kapi_sim.instrument.rewrite import Instrumented
from kapi_sim.language.device_function import DeviceFunction
from kapi_sim.language.words.index_space import NdRange
from kapi_sim.launch import execute
from kapi_sim.numba_cuda.host.device_arrays import DeviceArray, FreshArguments, InOut, Out
from kapi_sim.numba_cuda.host.devices import Device
from kapi_sim.numba_cuda.launches.captured import frozen
from kapi_sim.numba_cuda.launches.dialect import CUDA
from kapi_sim.numba_cuda.support import refuse_attribute
from kapi_sim.numba_cuda.threads.running import configured, is_running
from kapi_sim.numba_cuda.values.dtypes import conversion_of, scalar_types
from kapi_sim.numba_cuda.wording import reworded
from kapi_sim.settings.control import current_settings, settings_of
from kapi_sim.tracebacks import shorten

__all__ = ["LaunchConfiguration", "Dispatcher", "LinkedSource", "declare_device", "jit"]


class ConfigurationError(KernelLaunchError, ValueError):
    """A kernel is launched without a configuration, or with one that no launch can have."""


class ConfigurationTypeError(KernelLaunchError, TypeError):
    """A configuration is not made of integers."""


class Dispatcher(DeviceFunction[..., Any]):
    """What ``@cuda.jit`` makes of a function: a kernel, or a function that kernels call.

    Parameters
    ----------
    py_func : function
        A plain Python function.
    signatures : list
        The types that it was declared with.
    options : dict
        What else the decorator was given.

    Attributes
    ----------
    py_func : function
        The function as written.
    targetoptions : dict
        As given to the decorator.
    """

    def __init__(self, py_func: Callable[..., Any], signatures: list[Any], options: dict[str, Any]) -> None:
        super().__init__(py_func)
        self.targetoptions = options
        self.signatures = signatures
        self._device = bool(options.get("device"))
        self.extensions: list[Any] = list(options.get("extensions") or ())
        self._instrumented: Instrumented | None = None
        self._twin: Dispatcher | None = None
        self._takes_pointers = any(
            type(each).__name__ == "CPointer" for signature in signatures for each in getattr(signature, "args", ())
        )
        self._scalars = [kinds for kinds in map(scalar_types, signatures) if kinds is not None]

    def configure(self, griddim: Any, blockdim: Any, stream: Any = 0, sharedmem: int = 0) -> LaunchConfiguration:
        """Return the kernel with a configuration, to be called with the arguments.

        Parameters
        ----------
        griddim, blockdim : int or tuple of int
            Blocks of the grid and threads of a block, along x, y and z.
        stream : object
            Not looked at: a launch is done when it returns.
        sharedmem : int
            Bytes of dynamic shared memory.
        """
        return LaunchConfiguration(self, _dimensions("griddim", griddim), _dimensions("blockdim", blockdim), sharedmem)

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
        stream : object
            Not looked at.
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
            self._twin = made = Dispatcher(self.py_func, self.signatures, self.targetoptions)
            made._twin = made
            made.py_func = frozen(self.py_func, _twin_of)
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
            return self.py_func(*args, **named)
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
        refuse_attribute(name)
        raise AttributeError(f"kernel `{self.__dict__.get('__name__', '')}` has no {name!r} in the simulator")

    def __repr__(self) -> str:
        return f"<cuda.jit function {self.__name__}>"

    def converted(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the arguments with numbers in the types that a signature declares."""
        able = [kinds for kinds in self._scalars if len(kinds) == len(args)]
        if not able:
            return args
        best = min(able, key=lambda kinds: sum(_distance(v, kind) for v, kind in zip(args, kinds, strict=True)))
        return tuple(_converted(value, kind) for value, kind in zip(args, best, strict=True))

    def launch(self, grid: tuple[int, ...], block: tuple[int, ...], nbytes: int, args: tuple[Any, ...]) -> None:
        """Run the kernel, with all checks that the current settings have."""
        settings = current_settings()
        most = Device.MAX_THREADS_PER_BLOCK if settings.profile is None else settings.profile.max_work_group_size
        if prod(block) > most:
            raise LimitError(
                f"a block must have at most {most} threads, got {prod(block)}: launch smaller blocks",
                code="work-group-too-large",
            )
        self.launched(grid, block, nbytes, args)

    def launched(self, grid: tuple[int, ...], block: tuple[int, ...], nbytes: int, args: tuple[Any, ...]) -> None:
        """Run the kernel over a grid that a device can have."""
        settings = current_settings()
        if self._takes_pointers:
            refuse_attribute("CPointer")
        if self._instrumented is None:
            self._instrumented = Instrumented(self.twin.py_func, CUDA)
        for extension in reversed(self.extensions):
            prepared = (extension.prepare_args(None, value, stream=0, retr=[]) for value in args)
            args = tuple(value for _, value in prepared)
        space = NdRange(tuple(map(operator.mul, grid, block))[::-1], block[::-1])
        fresh = [array.fresh for array in _device_arrays(args) if array.fresh is not None]
        if fresh and "initialisation" in settings.checks:
            marked: Uninitialised = FreshArguments(
                list({id(each): each for each in fresh}.values()), settings.uninitialised
            )
            settings = dataclasses.replace(settings, uninitialised=marked)
        try:
            with settings_of(settings), configured(nbytes), _records(self.converted(args)) as given:
                execute(self._instrumented, space, given)
        except Exception as error:
            reworded(error)
            shorten(error, isinstance(error, KapiError))
            raise


def _twin_of(value: Any) -> Any:
    """Return what stands for a value among a kernel's globals."""
    if isinstance(value, Dispatcher):
        return value.twin
    is_numbas = type(value).__module__.partition(".")[0] in ("numba", "numba_cuda")
    if is_numbas and hasattr(getattr(value, "py_func", None), "__code__"):
        # A function that Numba compiles for the host is a device function in a kernel.
        return Dispatcher(value.py_func, [], {"device": True}).twin
    return value


@contextmanager
def _records(args: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    """Pass records, which NumPy gives as scalars, by reference."""
    arrays = {i: np.array(value) for i, value in enumerate(args) if isinstance(value, np.void) and value.dtype.names}
    yield tuple(arrays.get(i, value) for i, value in enumerate(args))
    for i, array in arrays.items():
        for name in array.dtype.names or ():
            args[i][name] = array[name]


def _distance(value: Any, kind: Any) -> int:
    """How far a number is from the type that a signature has for it."""
    if kind is None or not isinstance(value, (bool, int, float, complex, np.generic)):
        return 0
    own = np.asarray(value).dtype
    if own == kind:
        return 0
    return 1 if np.can_cast(own, kind, "safe") else 100


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


def _converted(value: Any, kind: Any) -> Any:
    if kind is None or isinstance(value, bool) or not isinstance(value, (int, float, complex, np.number)):
        return value
    return (conversion_of(kind.type) or kind.type)(value)


def _device_arrays(args: tuple[Any, ...]) -> list[DeviceArray]:
    found = []
    for value in args:
        if isinstance(value, tuple):
            found += _device_arrays(value)
        elif isinstance(value, (Out, InOut)):
            found += _device_arrays((value.value,))
        elif isinstance(value, DeviceArray):
            found.append(value)
    return found


def _dimensions(name: str, given: Any) -> tuple[int, int, int]:
    """Return the extents of a grid or a block along x, y and z."""
    extents = tuple(given) if isinstance(given, (tuple, list)) else (given,)
    if not 1 <= len(extents) <= 3:
        raise ConfigurationError(
            f"{name} must be a sequence of 1, 2 or 3 integers, got {len(extents)}: {given!r}", code="cuda-configuration"
        )
    for extent in extents:
        if isinstance(extent, (bool, np.bool_)) or not isinstance(extent, (int, np.integer)):
            raise ConfigurationTypeError(
                f"{name} must be a sequence of integers, got {given!r}", code="cuda-configuration"
            )
        if extent < 1:
            raise ConfigurationError(
                f"{name} must be made of integers from 1 on, got {given!r}", code="cuda-configuration"
            )
    x, y, z = (*map(int, extents), 1, 1)[:3]
    return x, y, z


class LaunchConfiguration:
    """A kernel with its configuration; calling it launches, and waits.

    Parameters
    ----------
    kernel : Dispatcher
        What is launched.
    grid, block : tuple of int
        Blocks and threads, along x, y and z.
    sharedmem : int
        Bytes of dynamic shared memory.
    """

    __slots__ = ("block", "grid", "kernel", "sharedmem")

    def __init__(
        self, kernel: Dispatcher, grid: tuple[int, int, int], block: tuple[int, int, int], sharedmem: int
    ) -> None:
        if isinstance(sharedmem, bool) or not isinstance(sharedmem, (int, np.integer)) or sharedmem < 0:
            raise ConfigurationError(
                f"sharedmem must be an integer from 0 on, got {sharedmem!r}", code="cuda-configuration"
            )
        self.kernel = kernel
        self.grid = grid
        self.block = block
        self.sharedmem = int(sharedmem)

    def __call__(self, *args: Any) -> None:
        """Launch with these arguments."""
        try:
            self.kernel.launch(self.grid, self.block, self.sharedmem, args)
        except Exception as error:
            shorten(error, isinstance(error, KapiError))
            raise

    def __repr__(self) -> str:
        return f"<{self.kernel!r} over {self.grid} blocks of {self.block} threads>"


def jit(
    func_or_sig: Any = None,
    device: bool = False,
    inline: Any = "never",
    forceinline: bool = False,
    link: Any = (),
    debug: bool | None = None,
    opt: Any = None,
    lineinfo: bool = False,
    cache: bool = False,
    **options: Any,
) -> Any:
    """Make a kernel, or with `device` a function that kernels call, of a plain Python function.

    Parameters
    ----------
    func_or_sig : function, signature or list of signatures
        What is decorated, or its types.
    device : bool
        Whether kernels call it.
    inline, forceinline, debug, opt, lineinfo, cache, **options
        For the compiler; the simulator has none.
    link : sequence
        Files of CUDA C, of which nothing is used: a kernel that calls a function of theirs is refused.

    Returns
    -------
    Dispatcher, or a decorator that makes one
    """
    given = {
        "device": device,
        "debug": debug,
        "opt": opt,
        "fastmath": options.pop("fastmath", False),
        "inline": inline,
        "lineinfo": lineinfo,
        **options,
    }
    if func_or_sig is None:
        return lambda function: _decorated(function, [], given)
    if isinstance(func_or_sig, DeviceFunction):
        return func_or_sig
    if callable(func_or_sig) and hasattr(func_or_sig, "__code__"):
        return _decorated(func_or_sig, [], given)
    signatures = list(func_or_sig) if isinstance(func_or_sig, list) else [func_or_sig]
    return lambda function: _decorated(function, signatures, given)


def _decorated(function: Any, signatures: list[Any], given: dict[str, Any]) -> Any:
    if isinstance(function, Dispatcher):
        return function
    if not hasattr(function, "__code__"):
        raise KernelCompilationError(f"a kernel must be a plain Python function, got {function!r}", code="kernel-form")
    return functools.update_wrapper(Dispatcher(function, signatures, given), function)


class LinkedSource:
    """Code that is linked to kernels on a GPU, which nothing is made of here: a call of what it holds is refused.

    Parameters
    ----------
    data : bytes or str
        The code.
    name : str, optional
        Of its file.
    """

    def __init__(self, data: Any, name: str | None = None, **options: Any) -> None:
        self.data = data
        self.name = name


class Declared:
    """A function of CUDA C, of which the simulator has no Python to run.

    Parameters
    ----------
    name : str
        The function's.
    """

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def __call__(self, *args: Any) -> Any:
        """Refuse the call."""
        refuse_attribute("declare_device")


def declare_device(name: str, sig: Any = None, **options: Any) -> Declared:
    """Return what stands for a function of CUDA C: a kernel that calls it is refused.

    Parameters
    ----------
    name : str
        The function's.
    sig : signature
        Its types.
    **options
        How it is linked.
    """
    return Declared(name)
