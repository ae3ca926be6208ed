"""Kernels on the host, in every back end: functions that are launched over an index space."""

from __future__ import annotations

import functools
import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Self, TypeVar

import numpy as np

from kapi_sim.errors import DtypeError, KapiError, KernelCompilationError, KernelLaunchError
from kapi_sim.language import KernelOptions, NdRange, Range, as_range
from kapi_sim.language.launchables.declared_signatures import (
    Signature,
    array_parameter,
    declared_arguments,
    declared_signatures,
    is_signature,
)
from kapi_sim.language.launchables.device_function import DeviceFunction
from kapi_sim.language.launchables.launch_parameters import parameters_for_launch, require_index_space
from kapi_sim.language.launchables.signature_parser import ParameterType
from kapi_sim.language.launchables.specialization import specialized, split_arguments
from kapi_sim.language.launchables.tuning import Candidate, Tuning, candidates_of
from kapi_sim.language.usm_protocol import is_usm_array, protocol_fields
from kapi_sim.short_repr import short_repr
from kapi_sim.tracebacks import shorten

__all__ = [
    "DEFAULT_LOCAL_SIZE",
    "BoundLaunch",
    "ConfiguredKernel",
    "Launchable",
    "decorate",
    "require_kernel",
    "require_kernel_function",
]


_MAX_SPECIALIZATIONS = 64


class _DefaultLocalSize:
    """Type of `DEFAULT_LOCAL_SIZE`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "DEFAULT_LOCAL_SIZE"


DEFAULT_LOCAL_SIZE = _DefaultLocalSize()
"""In ``kernel[n, DEFAULT_LOCAL_SIZE]``: no work-groups of the kernel's own, a `Range` launch."""


class Launchable(ABC):
    """A function that runs once for each work-item of an index space; a back end says how.

    Parameters
    ----------
    py_func : function
        A plain Python function whose first parameter is the work-item.
    options : KernelOptions, optional
        How it is compiled and what its launches must be.
    signatures : tuple of Signature
        The types that it is compiled for, where these are the only ones.

    Attributes
    ----------
    py_func : function
        The function as written.
    options : KernelOptions
        As given to `@kernel`.
    signatures : tuple of Signature
        The types that launches must have; empty for any.
    """

    py_func: Callable[..., None]
    options: KernelOptions
    signatures: tuple[Signature, ...]
    __name__: str

    def __init__(
        self,
        py_func: Callable[..., None],
        options: KernelOptions | None = None,
        signatures: tuple[Signature, ...] = (),
    ) -> None:
        functools.update_wrapper(self, py_func)
        self.py_func = py_func
        self.options = options or KernelOptions()
        self.signatures = signatures
        self._specializations: dict[Any, Any] = {}

    def compile(self, device: Any = None) -> None:
        """Compile for the types of each signature, ahead of launches.

        Raises
        ------
        DtypeError
            If a signature does not fit the parameters.
        """
        _require_fitting(self)

    def as_declared(self, space: Range | NdRange, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the arguments of a launch as the signature that fits them best has them."""
        if not self.signatures:
            return args
        return declared_arguments(self.py_func, self.signatures, space, args, self.array_parameter)

    def array_parameter(self, value: Any) -> ParameterType | None:
        """Return the type of an argument that is an array; None for others."""
        if isinstance(value, np.ndarray):
            flags = value.flags
            layout = "C" if flags.c_contiguous else "F" if flags.f_contiguous else "A"
            return array_parameter(value.dtype, value.ndim, layout, not flags.writeable)
        if not is_usm_array(value):
            return None
        fields = protocol_fields(value)
        return array_parameter(fields.dtype, len(fields.shape), fields.layout, fields.readonly)

    def specialized(self, args: tuple[Any, ...]) -> tuple[Self, tuple[Any, ...]]:
        """Return the kernel that the constants among the arguments of a launch choose, and the other arguments."""
        constants, others = split_arguments(self.py_func, args)
        if not constants:
            return self, args
        key, known = (self.py_func, self.py_func.__code__, constants), self._specializations
        made = known.get(key, ...)
        if made is ...:
            function = specialized(self.py_func, dict(constants))
            made = None if function is None else self._with_function(function)
            while len(known) >= _MAX_SPECIALIZATIONS:
                known.pop(next(iter(known)), None)  # which another thread may have taken
            known[key] = made
        return (self, args) if made is None else (made, others)

    def _with_function(self, function: Callable[..., None]) -> Self:
        """Return a kernel with the same options."""
        return type(self)(function, self.options)

    @abstractmethod
    def run(self, index_space: Range | NdRange, args: tuple[Any, ...]) -> None:
        """Launch over `index_space` with these arguments, and wait."""

    @abstractmethod
    def submit(
        self, space: Range | NdRange, dependent_events: Iterable[Any], given: tuple[Any, ...]
    ) -> tuple[Any, Any]:
        """Launch after these events, and return the events of `call_kernel_async`."""

    def placed(self, args: tuple[Any, ...], named: Mapping[str, Any]) -> tuple[Any, ...]:
        """Return the arguments by their places, where some were given by the names of the kernel's parameters.

        Raises
        ------
        KernelLaunchError
            If the kernel has no parameter of a name, or one is given twice, or one before a named one not at all.
        """
        code = self.py_func.__code__
        names = code.co_varnames[1 : code.co_argcount]
        for name in named:
            if name not in names:
                raise KernelLaunchError(
                    f"arguments of kernel `{self.__name__}` must be some of {', '.join(names)}, got {name}",
                    code="argument-unknown",
                )
            if name in names[: len(args)]:
                raise KernelLaunchError(
                    f"argument `{name}` of kernel `{self.__name__}` must be given once, got it by its place and by its "
                    "name",
                    code="argument-twice",
                )
        defaults = self.py_func.__defaults__ or ()
        known = {**dict(zip(names[len(names) - len(defaults) :], defaults, strict=True)), **named}
        missing = [name for name in names[len(args) :] if name not in known]
        if missing:
            raise KernelLaunchError(
                f"kernel `{self.__name__}` must be launched with all arguments that have no default, got none for "
                f"{', '.join(missing)}",
                code="argument-count",
            )
        return (*args, *(known[name] for name in names[len(args) :]))

    def bind(self, index_space: Range | NdRange, /, *args: Any, **named: Any) -> BoundLaunch:
        """Return a launch over `index_space` with these arguments, to be made by calling it, as often as wanted.

        Parameters
        ----------
        index_space : Range or NdRange
            The work-items.
        *args, **named
            As for `call_kernel`.

        Returns
        -------
        BoundLaunch
        """
        try:
            require_index_space(index_space)
            return BoundLaunch(self, index_space, self.placed(args, named) if named else args)
        except Exception as error:
            shorten(error, isinstance(error, KapiError))
            raise

    def tune(
        self,
        index_space: Range | NdRange,
        /,
        *args: Any,
        local_sizes: Iterable[Any] | None = None,
        constants: Mapping[str, Iterable[Any]] | None = None,
        renew: bool = False,
        **named: Any,
    ) -> Tuning:
        """Choose the fastest of several ways to launch, by their times on copies of the arguments.

        A launch changes by nothing but the index space and the arguments that it is given: pass those of the result.
        The choice is kept on disk, for the kernel, the device, the index space, the shapes and types of the arguments,
        and the candidates; the same call finds it there and takes no times, in later processes too.  The simulator runs
        each candidate with all its checks, takes no times, and chooses the first.

        Parameters
        ----------
        index_space : Range or NdRange
            The work-items; a `Range` for a kernel without work-groups, which has no local sizes to try.
        *args, **named
            As for `call_kernel`, without the constants.  They stay as they are; strided arrays of devices are copied to
            contiguous ones.
        local_sizes : iterable or mapping, optional
            Local ranges to try, integers or tuples; a mapping has for each the arguments that depend on it, by name,
            such as ``{64: {"tile": LocalAccessor(64, "float32")}}``.
        constants : mapping of str to iterable, optional
            Values to try of other arguments, by the names of the kernel's parameters; all combinations are tried.
        renew : bool
            Whether times are taken though a choice is known.

        Returns
        -------
        Tuning
            The choice, and what was tried.

        Raises
        ------
        KernelLaunchError
            If there are fewer than two candidates, none of them can be launched, or the kernel has no parameter of a
            name.
        """
        try:
            require_index_space(index_space)
            code = self.py_func.__code__
            candidates = candidates_of(code.co_varnames[1 : code.co_argcount], index_space, local_sizes, constants)
            return self._tuned(candidates, args, named, renew)
        except Exception as error:
            shorten(error, isinstance(error, KapiError))
            raise

    @abstractmethod
    def _tuned(
        self, candidates: tuple[Candidate, ...], args: tuple[Any, ...], named: dict[str, Any], renew: bool
    ) -> Tuning:
        """Choose a candidate."""

    def __getitem__(self, configuration: Any) -> ConfiguredKernel:
        """Return the kernel with an index space, to be called with the arguments.

        Parameters
        ----------
        configuration : Range or NdRange or int or tuple
            An index space; a global size; or a pair of global and local size, each an integer or a
            tuple of integers, the local size also `DEFAULT_LOCAL_SIZE`.  The global size counts work-items, not
            work-groups: CUDA's ``kernel[4, 64]`` is ``kernel[NdRange.from_groups(4, 64)]`` here.
        """
        try:
            return ConfiguredKernel(self, _index_space(configuration))
        except Exception as error:
            shorten(error, isinstance(error, KapiError))
            raise

    # Or Python would take `kernel[0]`, `kernel[1]` and so on for its elements, without end.
    __iter__ = None
    __contains__ = None

    def __call__(self, *args: object, **kwargs: object) -> None:
        """Say how a kernel is launched."""
        __tracebackhide__ = True  # pytest shows the user's line, not this
        raise KernelLaunchError(
            f"kernel `{self.__name__}` must be launched over an index space, got a plain call: "
            f"write call_kernel({self.__name__}, Range(n), ...) or {self.__name__}[Range(n)](...)",
            code="kernel-called",
        )

    def __repr__(self) -> str:
        return f"<kernel {self.__name__}>"


class ConfiguredKernel:
    """A kernel and its index space; calling it launches, and waits."""

    __slots__ = ("index_space", "kernel")

    def __init__(self, kernel: Launchable, index_space: Range | NdRange) -> None:
        self.kernel = kernel
        self.index_space = index_space

    def __call__(self, *args: Any, **named: Any) -> None:
        """Launch with these arguments, by place or by name, and wait."""
        try:
            self.kernel.run(self.index_space, self.kernel.placed(args, named) if named else args)
        except Exception as error:
            shorten(error, isinstance(error, KapiError))
            raise

    def __repr__(self) -> str:
        return f"<kernel {self.kernel.__name__} over {self.index_space!r}>"


class BoundLaunch:
    """A kernel with its index space and arguments, launched by calling it; `Launchable.bind` makes it.

    Attributes
    ----------
    kernel : Launchable
        What is launched.
    index_space : Range or NdRange
        The work-items.
    given : tuple
        The arguments, one for each parameter after the work-item.

    Raises
    ------
    KernelLaunchError
        If the arguments are too few or too many, or do not suit the index space.

    Examples
    --------
    >>> import numpy as np, kapi_sim as kapi
    >>> @kapi.kernel
    ... def add(item: kapi.Item, target, value):
    ...     target[item.get_id(0)] += value
    >>> target = np.zeros(3)
    >>> launch = add.bind(kapi.Range(3), target, 1.0)
    >>> events = launch()
    >>> launch.replace(value=10.0)
    >>> events = launch(events)
    >>> target
    array([11., 11., 11.])
    """

    __slots__ = ("_names", "given", "index_space", "kernel")

    def __init__(self, kernel: Any, index_space: Range | NdRange, args: tuple[Any, ...]) -> None:
        self.kernel = kernel
        self.index_space = index_space
        self._names = parameters_for_launch(kernel.py_func, index_space, args)
        defaults = kernel.py_func.__defaults__ or ()
        missing = len(self._names) - len(args)
        self.given = (*args, *defaults[len(defaults) - missing :]) if missing else args

    def replace(self, **arguments: Any) -> None:
        """Put other arguments in place of those of these names; the next launch uses them.

        Parameters
        ----------
        **arguments
            New arguments, by the names of the kernel's parameters.

        Raises
        ------
        KernelLaunchError
            If the kernel has no parameter of a name.
        """
        for name in arguments:
            if name not in self._names:
                raise KernelLaunchError(
                    f"arguments to replace must be parameters of the kernel ({', '.join(self._names)}), which is "
                    f"`{self.kernel.__name__}`, got {name}",
                    code="argument-unknown",
                )
        given = zip(self._names, self.given, strict=True)
        self.given = tuple(arguments.get(name, value) for name, value in given)

    def __call__(self, dependent_events: Iterable[Any] = ()) -> tuple[Any, Any]:
        """Launch after these events, and return the events of `call_kernel_async`."""
        try:
            events: tuple[Any, Any] = self.kernel.submit(self.index_space, dependent_events, self.given)
        except Exception as error:
            shorten(error, isinstance(error, KapiError))
            raise
        return events

    def __repr__(self) -> str:
        return f"<launch of kernel {self.kernel.__name__} over {self.index_space!r}>"


def _index_space(configuration: Any) -> Range | NdRange:
    if isinstance(configuration, (Range, NdRange)):
        return configuration
    if isinstance(configuration, tuple) and len(configuration) != 1:
        if len(configuration) != 2:
            raise KernelLaunchError(
                "kernel[...] must be given an index space or a global and a local size, "
                f"got {len(configuration)} values: {short_repr(configuration)}. The queue of the arrays runs the "
                "kernel; "
                "local memory is a LocalAccessor among the arguments",
                code="launch-configuration",
            )
        full, local = configuration
        if isinstance(local, _DefaultLocalSize):
            return as_range(full, "global size")
        return NdRange(full, local)
    # A tuple of one is the global size of one dimension, as an array's shape gives it.
    return as_range(configuration, "global size")


K = TypeVar("K", bound=Launchable)


def decorate(
    make: Callable[[Callable[..., None], KernelOptions], K],
    function: Any,
    given: dict[str, Any],
) -> K | Callable[[Callable[..., None]], K]:
    """The result of `@kernel` and `@kernel(option=...)`: a kernel, or a decorator that makes one.

    Parameters
    ----------
    make : callable
        The back end's kernel of a function and its options.
    function : function, signatures or None
        What is decorated; None where options come first, and signatures where these do.
    given : dict
        The options by name.

    Raises
    ------
    KernelCompilationError
        If an option is none that kernels have, or `function` none that can be a kernel.
    """
    options = KernelOptions.of(**given)
    signatures = declared_signatures(function) if is_signature(function) else ()

    def decorated(function: Callable[..., None]) -> K:
        require_kernel_function(function)
        made = make(function, options)
        if signatures:
            made.signatures = signatures
            made.compile()
        return made

    return decorated if function is None or signatures else decorated(function)


def _require_fitting(kernel: Launchable) -> None:
    """Raise DtypeError unless the signatures of a kernel have a type for each parameter, and no result."""
    code = kernel.py_func.__code__
    for each in kernel.signatures:
        if len(each.parameters) != code.co_argcount - 1 or (each.result is not None and each.result.kind != "none"):
            names = ", ".join(code.co_varnames[1 : code.co_argcount])
            raise DtypeError(
                f"signature of kernel `{kernel.__name__}` must have a type for each parameter after the work-item "
                f"({names}), and no result, got {each}",
                code="signature-count",
            )


def require_kernel_function(function: Any) -> None:
    """Raise KernelCompilationError unless `@kernel` can decorate `function`."""
    if isinstance(function, (Launchable, DeviceFunction)) or not hasattr(function, "__code__"):
        raise KernelCompilationError(
            f"a kernel must be a plain Python function, got {short_repr(function)}", code="kernel-form"
        )
    if function.__code__.co_flags & (inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
        raise KernelCompilationError(
            f"kernel `{function.__name__}` must be a plain function, got `async def`", code="kernel-form"
        )
    if function.__code__.co_argcount == 0:
        raise KernelCompilationError(
            f"kernel `{function.__name__}` must take the work-item as its first parameter, got no parameters: "
            "write `item: kapi.Item` or `nd_item: kapi.NdItem` first",
            code="kernel-without-item",
        )


def require_kernel(value: object, kind: type[Launchable]) -> None:
    """Raise KernelLaunchError unless `value` is a kernel of the back end whose kernels are of class `kind`."""
    if not isinstance(value, kind):
        module = kind.__module__.split(".", 1)[0]
        raise KernelLaunchError(
            f"the first argument of a launch must be a kernel made by {module}.kernel, got {short_repr(value)}: "
            "decorate the function with @kapi.kernel, from the module that launches it",
            code="no-kernel",
        )
