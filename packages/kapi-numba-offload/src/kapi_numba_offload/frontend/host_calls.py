"""Calls of njit functions with NumPy arrays inside `kapi_runtime.device_context`: offloaded, copied at the edges only.

Numba's dispatcher finds compiled code for NumPy arrays without asking Python. While a context is open, its class has a
`__call__` of ours, which every dispatcher's calls go through; outside of contexts it is Numba's own.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from kapi_numba_offload._numba_compat import NumbaError, flags_of, inferred_return_type, numba_call, types
from kapi_numba_offload.elements.statements import StatementLocation
from kapi_numba_offload.frontend.device_copies import DeviceCopies
from kapi_numba_offload.frontend.function import OffloadedFunction
from kapi_numba_offload.libraries.arrays import is_device_array
from kapi_numba_offload.libraries.installed import library_named, library_of_queue
from kapi_numba_offload.loops.parallel_loop import ParallelLoop
from kapi_numba_offload.run.diagnostics import remember
from kapi_numba_offload.run.options import options_of
from kapi_numba_offload.run.reasons import Refusal, fall_back
from kapi_runtime.launch.host_arrays import device_array_target, on_device_context
from kapi_sim.errors import ExecutionPlacementError, KernelCompilationError
from kapi_sim.forks import reinit_after_fork
from kapi_types import DeviceArrayType, UsmArrayType, is_usm_array

__all__ = ["listen", "offload_calls"]

_VARIADIC = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS
_NUMBA_REFUSES = "Numba's own"
"""The reason of `_make` for a function that Numba refuses, too, in Numba's words."""

_lock = reinit_after_fork(threading.Lock())
_open = 0
_patch: Any = None
_made: WeakKeyDictionary[Any, dict[tuple[Any, ...], Any]] = WeakKeyDictionary()
_state = threading.local()
"""Whether the thread is inside of a call whose arrays were copied to the device, as `is_within`."""


def offload_calls(patch: Any) -> None:
    """Have njit calls in each `device_context` offloaded.

    Parameters
    ----------
    patch : Patch
        That of dispatchers' calls, which the hooks have: they import this package, which must not import them.
    """
    global _patch
    _patch = patch
    listen()


def listen() -> None:
    """Have kapi-runtime tell of each `device_context`. It calls this itself, once it has imported the package."""
    on_device_context(_context_changes)


def _context_changes(begins: bool) -> None:
    global _open
    with _lock:
        # A context that began before this module was imported ends without having been counted.
        _open = max(0, _open + (1 if begins else -1))
        if _open:
            _patch.apply(_call)
        else:
            _patch.undo()


@dataclass(frozen=True, slots=True)
class _BoundArguments:
    """The arguments of a call.

    Attributes
    ----------
    values : tuple
        One for each parameter; for `*args` a tuple, as Numba has it.
    args, keywords : tuple, dict
        As an `OffloadedFunction` takes them.
    """

    values: tuple[Any, ...]
    args: tuple[Any, ...]
    keywords: dict[str, Any]


def _call(dispatcher: Any, *args: Any, **keywords: Any) -> Any:
    host_target = None if _is_of_numba(dispatcher) else device_array_target()
    given = None if host_target is None else _bound(dispatcher, args, keywords)
    if host_target is None or given is None:
        return numba_call(dispatcher, *args, **keywords)
    if any(map(_has_usm, given.values)):
        within = _inner_function(dispatcher, given.values) if getattr(_state, "is_within", False) else None
        return numba_call(dispatcher, *args, **keywords) if within is None else within(*given.args, **given.keywords)
    found = _unlike_the_devices(dispatcher, given.values) or _offloaded(
        dispatcher, given.values, library_of_queue(host_target.queue).name
    )
    if isinstance(found, _HostCall):
        return found(host_target.queue, given)
    if found != _NUMBA_REFUSES:
        _warn(dispatcher, found)
    return numba_call(dispatcher, *args, **keywords)


def _is_of_numba(dispatcher: Any) -> bool:
    """Whether a function is Numba's own, such as what its typed containers call for each access."""
    return str(dispatcher.py_func.__module__).partition(".")[0] == "numba"


def _bound(dispatcher: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> _BoundArguments | None:
    """The arguments with defaults; None for a call that Numba refuses."""
    code = dispatcher.py_func.__code__
    if not keywords and len(args) == code.co_argcount and not code.co_kwonlyargcount and not code.co_flags & _VARIADIC:
        return _BoundArguments(args, args, {})
    try:
        bound = inspect.signature(dispatcher.py_func).bind(*args, **keywords)
    except TypeError:
        return None
    bound.apply_defaults()
    values = tuple(bound.arguments.values())
    if code.co_flags & _VARIADIC:
        return None if code.co_flags & inspect.CO_VARKEYWORDS else _BoundArguments(values, bound.args, bound.kwargs)
    return _BoundArguments(values, values, {})


def _warn(dispatcher: Any, why: str) -> None:
    """Warn that a function runs on the host, or raise if that is not wanted."""
    function = dispatcher.py_func
    code = function.__code__
    location = StatementLocation(code.co_filename, code.co_firstlineno, function.__name__, f"def {function.__name__}")
    refusal = Refusal("host-call", location.line, function.__name__, why)
    fall_back(location, refusal, options_of(function).may_fall_back, "Numba runs it on the host.")


class _HostCall:
    """A function whose NumPy arrays are copied to a device and back."""

    def __init__(self, function: OffloadedFunction, returned: types.Type | None) -> None:
        self._function, self._returned = function, returned

    def __call__(self, queue: Any, given: _BoundArguments) -> Any:
        copies = DeviceCopies(_host_arrays(given.values), queue, may_change=self._function.may_store)
        before, _state.is_within = getattr(_state, "is_within", False), True
        try:
            words = {name: copies.on_device(each) for name, each in given.keywords.items()}
            result = self._function(*map(copies.on_device, given.args), **words)
        finally:
            _state.is_within = before
            copies.copy_back()  # what was stored before an exception stays stored
            self._function.moved = copies.moved
        return copies.on_host(result, self._returned)


def _host_arrays(values: Iterable[Any]) -> Iterator[Any]:
    for each in values:
        if isinstance(each, np.ndarray):
            yield each
        elif isinstance(each, tuple):
            yield from _host_arrays(each)


def _has_usm(value: Any) -> bool:
    return any(map(_has_usm, value)) if isinstance(value, tuple) else is_device_array(value) or is_usm_array(value)


def _unlike_the_devices(dispatcher: Any, values: tuple[Any, ...]) -> str:
    """The reason why an array cannot lie on the device as it does on the host; empty if each can."""
    for name, value in zip(_parameters(dispatcher), values, strict=True):
        for each in _host_arrays((value,)):
            steps = [step for step, length in zip(each.strides, each.shape, strict=True) if length > 1]
            is_simple = each.dtype.names is None and each.itemsize > 0
            if is_simple and each.size and (not each.flags.aligned or any(step % each.itemsize for step in steps)):
                return f"the elements of its argument `{name}` are not at multiples of their size"
    return ""


def _parameters(dispatcher: Any) -> tuple[str, ...]:
    return tuple(inspect.signature(dispatcher.py_func).parameters)


def _offloaded(dispatcher: Any, values: tuple[Any, ...], library: str) -> _HostCall | str:
    """The function for copies in arrays of a library, or why nothing of it would run on a device."""
    known = _made.setdefault(dispatcher, {})
    try:
        key = tuple(map(dispatcher.typeof_pyval, values))
    except (ValueError, TypeError):  # which the call raises again
        return _NUMBA_REFUSES
    if (library, key) not in known:
        known[library, key] = _make(dispatcher, key, library)
    found: _HostCall | str = known[library, key]
    return found


def _inner_function(dispatcher: Any, values: tuple[Any, ...]) -> OffloadedFunction | None:
    """The function for arrays of the device that another one calls in a context, with Numba's types as that has them.

    None if it cannot be offloaded: Numba's compiler is asked then, and says why.
    """
    known = _made.setdefault(dispatcher, {})
    key = tuple(map(dispatcher.typeof_pyval, values))
    if key not in known:
        try:
            known[key] = _function(dispatcher, key)
        except (KernelCompilationError, ExecutionPlacementError):
            known[key] = None
    found: OffloadedFunction | None = known[key]
    return found


def _function(dispatcher: Any, key: tuple[types.Type, ...]) -> OffloadedFunction:
    options = options_of(dispatcher.py_func).with_flags(flags_of(dispatcher))
    function = OffloadedFunction(dispatcher.py_func, key, numba_types=True, options=options)
    remember(dispatcher, function)
    return function


def _on_device(type_: types.Type, library: str) -> types.Type:
    if isinstance(type_, types.Array):
        made = UsmArrayType if library == "dpnp" else partial(DeviceArrayType, library)
        return made(type_.dtype, type_.ndim, type_.layout, readonly=not type_.mutable)
    return _with_items(type_, partial(_on_device, library=library))


def _as_writable(type_: types.Type) -> types.Type:
    return type_.copy(readonly=False) if isinstance(type_, types.Array) else _with_items(type_, _as_writable)


def _with_items(type_: types.Type, change: Callable[[types.Type], types.Type]) -> types.Type:
    if isinstance(type_, types.BaseTuple):
        return types.BaseTuple.from_types(tuple(map(change, type_)), getattr(type_, "instance_class", None))
    return type_


def _make(dispatcher: Any, key: tuple[types.Type, ...], library: str) -> _HostCall | str:
    for name, type_ in zip(_parameters(dispatcher), key, strict=True):
        obstacle = _obstacle(type_)
        if obstacle:
            return obstacle if obstacle == _NUMBA_REFUSES else f"its argument `{name}` {obstacle}"
    if inspect.isgeneratorfunction(dispatcher.py_func):
        return "it is a generator, which goes on after its arrays have been copied back"
    if dispatcher.locals:  # types of its own for variables, which Numba knows
        return "it has types of its own for variables"
    try:
        function = _function(dispatcher, tuple(_on_device(each, library) for each in key))
    except (KernelCompilationError, ExecutionPlacementError, TypeError) as error:
        return _NUMBA_REFUSES if isinstance(_inferred(dispatcher, key), NumbaError) else str(error)
    partition = function.partition
    if partition.needs_host is not None:
        return f"line {partition.needs_host.line} has a loop that Numba compiles with the whole function only"
    if not partition.regions and not any(type(each) is ParallelLoop for each in partition.loops):
        return "it has neither an expression of arrays nor a `prange` loop"
    returned = _inferred(dispatcher, key)
    writable = tuple(map(_as_writable, key))
    if isinstance(returned, Exception) and writable != key:
        refused, returned = returned, _inferred(dispatcher, writable)
        if isinstance(refused, NumbaError) and not isinstance(returned, Exception):
            return _NUMBA_REFUSES  # it stores into an array that is read-only
    read_only = [name for name, type_ in zip(_parameters(dispatcher), key, strict=True) if _as_writable(type_) != type_]
    if function.may_store and read_only and not library_named(library).has_read_only_arrays:
        return f"its argument `{read_only[0]}` is read-only, which no array of {library} is, and it stores into arrays"
    if isinstance(returned, (types.DictType, types.ListType)):
        return "it returns a container of Numba's"
    return _HostCall(function, None if isinstance(returned, Exception) else returned)


def _inferred(dispatcher: Any, key: tuple[types.Type, ...]) -> types.Type | Exception:
    """The type that Numba infers for what the function returns, or why it does not."""
    try:
        return inferred_return_type(dispatcher.py_func, key)
    except (NumbaError, AttributeError, TypeError) as error:
        return error


def _obstacle(type_: types.Type) -> str:
    """Obstacle to arguments of a type on the device; empty for none."""
    if type_ == types.pyobject or (isinstance(type_, types.Array) and type_.dtype == types.pyobject):
        return _NUMBA_REFUSES
    if isinstance(type_, types.Array):
        is_number = isinstance(type_.dtype, (types.Number, types.Boolean))
        return "" if is_number else f"has elements of type {type_.dtype}, and not numbers"
    if isinstance(type_, types.BaseTuple):
        return next(filter(None, map(_obstacle, type_)), "")
    return "holds arrays in another container than a tuple" if any(map(_holds_arrays, _parts(type_))) else ""


def _holds_arrays(type_: types.Type) -> bool:
    return isinstance(type_, types.Array) or any(map(_holds_arrays, _parts(type_)))


def _parts(type_: types.Type) -> Iterator[types.Type]:
    """The types of what values of a type hold."""
    if isinstance(type_, types.BaseTuple):
        yield from type_
    fields = getattr(type_, "struct", None) or getattr(type_, "field_dict", None)
    if isinstance(fields, dict):
        yield from fields.values()
    for name in ("dtype", "key_type", "value_type", "item_type"):
        part = getattr(type_, name, None)
        if isinstance(part, types.Type):
            yield part
