"""Calls of njit functions with NumPy arrays inside `kapi_runtime.device_context`: offloaded, copied at the edges only.

Numba's dispatcher finds compiled code for NumPy arrays without asking Python. While a context is open, its class has a
`__call__` of ours, which every dispatcher's calls go through; outside of contexts it is Numba's own.
"""

from __future__ import annotations

import ast
import inspect
import threading
from collections.abc import Iterable, Iterator, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from _kapi_numba_hooks import (
    NumbaError,
    flags_of,
    inferred_return_type,
    numbas_call,
    patch_calls,
    restore_calls,
    types,
)
from kapi_numba_offload.elements.statements import Place
from kapi_numba_offload.frontend.function import OffloadedFunction
from kapi_numba_offload.loops.parallel_loop import ParallelLoop
from kapi_numba_offload.run.diagnostics import remember
from kapi_numba_offload.run.options import options_of
from kapi_numba_offload.run.reasons import Refusal, fall_back
from kapi_numba_offload.run.usm import DpnpArray, as_dpnp_array, host_copy, like
from kapi_runtime.launch.host_arrays import on_device_context, place_of_host_arrays
from kapi_sim.errors import ExecutionPlacementError, KernelCompilationError
from kapi_sim.forks import free_in_children
from kapi_types import UsmArrayType, is_usm_array

__all__ = ["listen"]

_VARIADIC = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS
_lock = free_in_children(threading.Lock())
_open = 0
_made: WeakKeyDictionary[Any, dict[tuple[Any, ...], Any]] = WeakKeyDictionary()


def listen() -> None:
    """Have njit calls in each `device_context` offloaded."""
    on_device_context(_context_changes)


def _context_changes(begins: bool) -> None:
    global _open
    with _lock:
        # A context that began before this module was imported ends without having been counted.
        _open = max(0, _open + (1 if begins else -1))
        if _open:
            patch_calls(_call)
        else:
            restore_calls()


def _call(dispatcher: Any, *args: Any, **keywords: Any) -> Any:
    place = place_of_host_arrays()
    given = None if place is None else _bound(dispatcher, args, keywords)
    if place is None or given is None or any(map(_has_usm, given)):
        return numbas_call(dispatcher, *args, **keywords)
    found = "its arrays share memory" if _share_memory(given) else _offloaded(dispatcher, given)
    if isinstance(found, _HostCall):
        return found(place.queue, given)
    if any(map(_has_host, given)):
        _tell(dispatcher, found)
    return numbas_call(dispatcher, *args, **keywords)


def _bound(dispatcher: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[Any, ...] | None:
    """All arguments by position, defaults included; None for a call that Numba refuses or passes in another way."""
    code = dispatcher.py_func.__code__
    if not keywords and len(args) == code.co_argcount and not code.co_kwonlyargcount and not code.co_flags & _VARIADIC:
        return args
    if code.co_kwonlyargcount or code.co_flags & _VARIADIC:
        return None
    try:
        bound = inspect.signature(dispatcher.py_func).bind(*args, **keywords)
    except TypeError:
        return None
    bound.apply_defaults()
    return bound.args


def _tell(dispatcher: Any, why: str) -> None:
    """Warn that a function runs on the host, or raise if that is not wanted."""
    function = dispatcher.py_func
    code = function.__code__
    place = Place(code.co_filename, code.co_firstlineno, function.__name__, f"def {function.__name__}")
    refusal = Refusal("host-call", place.line, function.__name__, why)
    fall_back(place, refusal, options_of(function).may_fall_back, "Numba runs it on the host.")


class _HostCall:
    """A function whose NumPy arrays are copied to a device and back."""

    def __init__(self, function: OffloadedFunction, returned: types.Type | None) -> None:
        self._function, self._returned = function, returned
        nodes = list(ast.walk(function.partition.definition))
        self._may_write = any(
            isinstance(each, (ast.AugAssign, ast.Call))
            or (isinstance(each, ast.Subscript) and not isinstance(each.ctx, ast.Load))
            for each in nodes
        )

    def __call__(self, queue: Any, args: Sequence[Any]) -> Any:
        arrays = {id(each): each for each in _host_arrays(args)}
        copies = {key: as_dpnp_array(each, queue) for key, each in arrays.items()}
        result = self._function(*(_replaced(each, copies) for each in args))
        moved = sum(each.nbytes for each in arrays.values())
        for key, each in arrays.items():
            if self._may_write and each.flags.writeable:
                each[...] = host_copy(copies[key])
                moved += each.nbytes
        self._function.moved = moved
        back = {id(copies[key]): each for key, each in arrays.items()}
        return _on_host(result, back, self._returned)


def _host_arrays(values: Iterable[Any]) -> Iterator[Any]:
    for each in values:
        if isinstance(each, np.ndarray):
            yield each
        elif isinstance(each, tuple):
            yield from _host_arrays(each)


def _replaced(value: Any, copies: dict[int, Any]) -> Any:
    if isinstance(value, tuple):
        return like(value, [_replaced(each, copies) for each in value])
    return copies.get(id(value), value)


def _has_host(value: Any) -> bool:
    return any(True for _ in _host_arrays((value,)))


def _has_usm(value: Any) -> bool:
    return any(map(_has_usm, value)) if isinstance(value, tuple) else is_usm_array(value)


def _offloaded(dispatcher: Any, args: Sequence[Any]) -> _HostCall | str:
    """The function for arguments of these types, or why nothing of it would run on a device."""
    known = _made.setdefault(dispatcher, {})
    try:
        key = tuple(dispatcher.typeof_pyval(each) for each in args)
    except (ValueError, TypeError) as error:
        return str(error)
    if key not in known:
        known[key] = _make(dispatcher, key)
    found: _HostCall | str = known[key]
    return found


def _as_usm(type_: types.Type) -> types.Type:
    if isinstance(type_, types.Array):
        return UsmArrayType(type_.dtype, type_.ndim, type_.layout)
    if isinstance(type_, types.BaseTuple) and not isinstance(type_, types.BaseNamedTuple):
        return types.Tuple(tuple(map(_as_usm, type_)))
    return type_


def _make(dispatcher: Any, key: tuple[types.Type, ...]) -> _HostCall | str:
    arguments = list(map(_as_usm, key))
    if dispatcher.locals:  # types of its own for variables, which Numba knows
        return "it has types of its own for variables"
    options = options_of(dispatcher.py_func).with_numbas(flags_of(dispatcher))
    try:
        function = OffloadedFunction(dispatcher.py_func, arguments, numba_types=True, options=options)
    except (KernelCompilationError, ExecutionPlacementError, TypeError) as error:
        return str(error)
    partition = function.partition
    if partition.needs_host is not None:
        return f"line {partition.needs_host.line} has a loop that Numba compiles with the whole function only"
    if not partition.regions and not any(isinstance(each, ParallelLoop) for each in partition.loops):
        return "it has neither an expression of arrays nor a `prange` loop"
    try:
        returned = inferred_return_type(dispatcher.py_func, key)
    except (NumbaError, AttributeError, TypeError):
        returned = None
    remember(dispatcher, function)
    return _HostCall(function, returned)


def _on_host(value: Any, back: dict[int, Any], type_: types.Type | None) -> Any:
    """A result as Numba would give it: NumPy arrays and Python's numbers, of the types that it infers."""
    if isinstance(value, tuple):
        inner = list(type_) if isinstance(type_, types.BaseTuple) else [None] * len(value)
        return tuple(_on_host(each, back, own) for each, own in zip(value, inner, strict=True))
    if id(value) in back:
        return back[id(value)]
    if isinstance(value, DpnpArray):
        array = host_copy(value)
        if isinstance(type_, types.Array):
            return array.astype(str(type_.dtype), copy=False)
        return array.item() if array.ndim == 0 else array
    if isinstance(value, np.generic):
        number = value.item()
        return float(number) if isinstance(type_, types.Float) else number
    return value


def _share_memory(args: Sequence[Any]) -> bool:
    arrays = list(_host_arrays(args))
    return any(
        np.may_share_memory(one, other) and one is not other
        for number, one in enumerate(arrays)
        for other in arrays[number + 1 :]
    )
