"""Calls of njit functions with NumPy arrays inside `kapi_runtime.device_context`: offloaded, copied at the edges only.

In the context of the CPU nothing is copied: see `in_place_calls`.

Numba's dispatcher finds compiled code for NumPy arrays without asking Python. While a context is open, its class has a
`__call__` of ours, which every dispatcher's calls go through; outside of contexts it is Numba's own.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

from kapi_numba_offload._numba_compat import NumbaError, flags_of, numba_call, types
from kapi_numba_offload.frontend.context_arguments import (
    NUMBA_REFUSES,
    BoundArguments,
    bound_arguments,
    check_byte_order,
    host_arrays,
    inferred,
    is_of_numba,
    obstacle_among,
    on_device_type,
    parameters_of,
    unlike_the_devices,
    warn_of_host,
    with_items,
)
from kapi_numba_offload.frontend.device_copies import DeviceCopies
from kapi_numba_offload.frontend.offloaded_function import OffloadedFunction
from kapi_numba_offload.libraries.arrays import is_device_array
from kapi_numba_offload.libraries.installed import library_named, library_of_queue
from kapi_numba_offload.run.offload_report import remember
from kapi_numba_offload.run.options import options_of
from kapi_runtime.launch.device_context import on_device_context
from kapi_runtime.platform.current import host_array_target
from kapi_sim.errors import ExecutionPlacementError, KernelCompilationError
from kapi_sim.forks import reinit_after_fork
from kapi_types import is_usm_array

__all__ = ["listen", "offload_calls"]

_lock = reinit_after_fork(threading.Lock())
_open = 0
_patch: Any = None
_made: WeakKeyDictionary[Any, dict[tuple[Any, ...], Any]] = WeakKeyDictionary()
_call_in_place: Callable[..., Any] | None = None
_state = threading.local()
"""Whether the thread is inside of a call whose arrays were copied to the device, as `is_within`."""


def offload_calls(patch: Any) -> None:
    """Have njit calls in each `device_context` offloaded.

    - `patch`: that of dispatchers' calls, which the hooks have: they import this package, which must not import them.
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


def _call(dispatcher: Any, *args: Any, **keywords: Any) -> Any:
    target = host_array_target.get()
    if target is not None and target.platform.is_host:
        return (_call_in_place or _load())(dispatcher, args, keywords)
    host_target = None if is_of_numba(dispatcher) else target
    given = None if host_target is None else bound_arguments(dispatcher, args, keywords)
    if host_target is None or given is None:
        return numba_call(dispatcher, *args, **keywords)
    check_byte_order(dispatcher, given.values)
    if any(map(_has_usm, given.values)):
        within = _inner_function(dispatcher, given.values) if getattr(_state, "is_within", False) else None
        return numba_call(dispatcher, *args, **keywords) if within is None else within(*given.args, **given.keywords)
    found = unlike_the_devices(dispatcher, given.values) or _offloaded(
        dispatcher, given.values, library_of_queue(host_target.queue).name
    )
    if isinstance(found, _HostCall):
        return found(host_target.queue, given)
    if found != NUMBA_REFUSES:
        warn_of_host(dispatcher, found)
    return numba_call(dispatcher, *args, **keywords)


def _load() -> Callable[..., Any]:
    global _call_in_place
    from kapi_numba_offload.frontend.cpu_context_calls import call_in_place  # which brings the platform of the CPU

    _call_in_place = call_in_place
    return call_in_place


class _HostCall:
    """A function whose NumPy arrays are copied to a device and back."""

    def __init__(self, function: OffloadedFunction, returned: types.Type | None) -> None:
        self._function, self._returned = function, returned

    def __call__(self, queue: Any, given: BoundArguments) -> Any:
        copies = DeviceCopies(host_arrays(given.values), queue, may_change=self._function.may_store)
        before, _state.is_within = getattr(_state, "is_within", False), True
        try:
            words = {name: copies.on_device(each) for name, each in given.keywords.items()}
            result = self._function(*map(copies.on_device, given.args), **words)
        finally:
            _state.is_within = before
            copies.copy_back()  # what was stored before an exception stays stored
            self._function.moved = copies.moved
        return copies.on_host(result, self._returned)


def _has_usm(value: Any) -> bool:
    return any(map(_has_usm, value)) if isinstance(value, tuple) else is_device_array(value) or is_usm_array(value)


def _offloaded(dispatcher: Any, values: tuple[Any, ...], library: str) -> _HostCall | str:
    """The function for copies in arrays of a library, or why nothing of it would run on a device."""
    known = _made.setdefault(dispatcher, {})
    try:
        key = tuple(map(dispatcher.typeof_pyval, values))
    except (ValueError, TypeError):  # which the call raises again
        return NUMBA_REFUSES
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


def _as_writable(type_: types.Type) -> types.Type:
    return type_.copy(readonly=False) if isinstance(type_, types.Array) else with_items(type_, _as_writable)


def _make(dispatcher: Any, key: tuple[types.Type, ...], library: str) -> _HostCall | str:
    obstacle = obstacle_among(dispatcher, key)
    if obstacle:
        return obstacle
    if inspect.isgeneratorfunction(dispatcher.py_func):
        return "it is a generator, which goes on after its arrays have been copied back"
    if dispatcher.locals:  # types of its own for variables, which Numba knows
        return "it has types of its own for variables"
    try:
        function = _function(dispatcher, tuple(on_device_type(each, library) for each in key))
    except (KernelCompilationError, ExecutionPlacementError, TypeError) as error:
        return NUMBA_REFUSES if isinstance(inferred(dispatcher, key), NumbaError) else str(error)
    partition = function.partition
    if partition.needs_host is not None:
        return f"line {partition.needs_host.line} has a loop that Numba compiles with the whole function only"
    if not partition.has_device_work(with_plain_loops=False):
        return "it has neither an expression of arrays nor a `prange` loop"
    returned = inferred(dispatcher, key)
    writable = tuple(map(_as_writable, key))
    if isinstance(returned, Exception) and writable != key:
        refused, returned = returned, inferred(dispatcher, writable)
        if isinstance(refused, NumbaError) and not isinstance(returned, Exception):
            return NUMBA_REFUSES  # it stores into an array that is read-only
    read_only = [
        name for name, type_ in zip(parameters_of(dispatcher), key, strict=True) if _as_writable(type_) != type_
    ]
    if function.may_store and read_only and not library_named(library).has_read_only_arrays:
        return f"its argument `{read_only[0]}` is read-only, which no array of {library} is, and it stores into arrays"
    if isinstance(returned, (types.DictType, types.ListType)):
        return "it returns a container of Numba's"
    return _HostCall(function, None if isinstance(returned, Exception) else returned)
