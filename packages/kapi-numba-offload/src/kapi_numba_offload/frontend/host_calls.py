"""Calls of njit functions with NumPy arrays inside `kapi_runtime.device_context`: offloaded, copied at the edges only.

Numba's dispatcher finds compiled code for NumPy arrays without asking Python. While a context is open, its class has a
`__call__` of ours, which every dispatcher's calls go through; outside of contexts it is Numba's own.
"""

from __future__ import annotations

import ast
import threading
from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

import dpnp
import numpy as np
from dpnp.dpnp_array import dpnp_array

from _kapi_numba_hooks import (
    NumbaError,
    flags_of,
    inferred_return_type,
    numbas_call,
    patch_calls,
    restore_calls,
    types,
)
from kapi_numba_offload.frontend.function import OffloadedFunction
from kapi_numba_offload.loops.parallel_loop import ParallelLoop
from kapi_numba_offload.run.options import options_of
from kapi_runtime.launch.host_arrays import on_device_context, place_of_host_arrays
from kapi_sim.errors import ExecutionPlacementError, KernelCompilationError
from kapi_types import UsmArrayType, is_usm_array

__all__ = ["listen"]

_lock = threading.Lock()
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
    if place is None or keywords or not any(isinstance(each, np.ndarray) for each in args):
        return numbas_call(dispatcher, *args, **keywords)
    if any(is_usm_array(each) for each in args) or len(args) != dispatcher.py_func.__code__.co_argcount:
        return numbas_call(dispatcher, *args)
    function = _offloaded(dispatcher, args)
    if function is None or _share_memory(args):
        return numbas_call(dispatcher, *args)
    return function(place.queue, args)


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
        copies = {id(each): dpnp.asarray(each, sycl_queue=queue) for each in args if isinstance(each, np.ndarray)}
        given = [copies.get(id(each), each) for each in args]
        result = self._function(*given)
        back = {id(copies[id(each)]): each for each in args if id(each) in copies}
        for each in args:
            if id(each) in copies and self._may_write and each.flags.writeable:
                each[...] = copies[id(each)].asnumpy()
        return _on_host(result, back, self._returned)


def _offloaded(dispatcher: Any, args: Sequence[Any]) -> _HostCall | None:
    """The function for arguments of these types; None if nothing of it would run on a device."""
    known = _made.setdefault(dispatcher, {})
    key = tuple(dispatcher.typeof_pyval(each) for each in args)
    if key not in known:
        known[key] = _make(dispatcher, key)
    found: _HostCall | None = known[key]
    return found


def _make(dispatcher: Any, key: tuple[types.Type, ...]) -> _HostCall | None:
    arguments = [
        UsmArrayType(each.dtype, each.ndim, each.layout) if isinstance(each, types.Array) else each for each in key
    ]
    if dispatcher.locals:  # types of its own for variables, which Numba knows
        return None
    options = options_of(dispatcher.py_func).with_numbas(flags_of(dispatcher))
    try:
        function = OffloadedFunction(dispatcher.py_func, arguments, numba_types=True, options=options)
    except (KernelCompilationError, ExecutionPlacementError, TypeError):
        return None
    partition = function.partition
    if not partition.regions and not any(isinstance(each, ParallelLoop) for each in partition.loops):
        return None
    try:
        returned = inferred_return_type(dispatcher.py_func, key)
    except (NumbaError, AttributeError, TypeError):
        returned = None
    return _HostCall(function, returned)


def _on_host(value: Any, back: dict[int, Any], type_: types.Type | None) -> Any:
    """A result as Numba would give it: NumPy arrays and Python's numbers, of the types that it infers."""
    if isinstance(value, tuple):
        inner = list(type_) if isinstance(type_, types.BaseTuple) else [None] * len(value)
        return tuple(_on_host(each, back, own) for each, own in zip(value, inner, strict=True))
    if id(value) in back:
        return back[id(value)]
    if isinstance(value, dpnp_array):
        array = value.asnumpy()
        if isinstance(type_, types.Array):
            return array.astype(str(type_.dtype), copy=False)
        return array.item() if array.ndim == 0 else array
    if isinstance(value, np.generic):
        number = value.item()
        return float(number) if isinstance(type_, types.Float) else number
    return value


def _share_memory(args: Sequence[Any]) -> bool:
    arrays = [each for each in args if isinstance(each, np.ndarray)]
    return any(
        np.may_share_memory(one, other) and one is not other
        for number, one in enumerate(arrays)
        for other in arrays[number + 1 :]
    )
