"""Calls of njit functions with NumPy arrays in the context of the CPU: offloaded to it, in the memory of the arrays."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from kapi_numba_offload._numba_compat import (
    CPUDispatcher,
    NumbaError,
    fingerprint,
    flags_of,
    is_generic,
    numba_call,
    types,
)
from kapi_numba_offload.frontend.context_arguments import (
    NUMBA_REFUSES,
    BoundArguments,
    HostWarning,
    bound_arguments,
    check_byte_order,
    host_arrays,
    inferred,
    is_of_numba,
    obstacle_among,
    on_device_type,
    unlike_the_devices,
)
from kapi_numba_offload.frontend.host_function import HostFunction, host_function
from kapi_numba_offload.frontend.offloaded_function import OffloadedFunction, holds_usm, is_inside
from kapi_numba_offload.frontend.small_calls import SmallCalls, by_dispatcher, share_memory
from kapi_numba_offload.libraries.arrays import library, like
from kapi_numba_offload.libraries.host_array import HostArray
from kapi_numba_offload.libraries.installed import library_named
from kapi_numba_offload.loops.host.worked_axes import most_elements
from kapi_numba_offload.run.bounded_cache import BoundedCache
from kapi_numba_offload.run.fallback import REASONS
from kapi_numba_offload.run.offload_report import remember
from kapi_numba_offload.run.options import options_of
from kapi_numba_offload.run.timing import is_timed
from kapi_sim.errors import ExecutionPlacementError, KernelCompilationError
from kapi_sim.language.array_memory import overlaps_itself

__all__ = ["call_in_place"]

_ATTRIBUTE = "_kapi_calls_in_place"
_APART = object()
"""The result of a call whose arrays have elements that are not at multiples of their size."""


def call_in_place(dispatcher: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """Call an njit function in the context of the CPU.

    - `args`, `keywords`: the arguments of the call.
    """
    try:
        calls = dispatcher.__dict__[_ATTRIBUTE]
    except KeyError:
        calls = dispatcher.__dict__[_ATTRIBUTE] = None if is_of_numba(dispatcher) else _Calls(dispatcher)
    return numba_call(dispatcher, *args, **keywords) if calls is None else calls(args, keywords)


class _Calls:
    """The calls of one function, by the types of their arguments."""

    def __init__(self, dispatcher: Any) -> None:
        self._dispatcher = dispatcher
        self._known: dict[tuple[Any, ...], _InPlaceCall | str] = {}
        self._warnings: dict[str, HostWarning] = {}
        self._decided: BoundedCache[tuple[Any, ...], _Decision] = BoundedCache()
        code = dispatcher.py_func.__code__
        is_plain = not code.co_kwonlyargcount and not code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS)
        self._count = code.co_argcount if is_plain else -1

    def __call__(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        key = None if keywords else _shapes(args)
        if key is not None:
            try:
                found = self._decided[key]
            except KeyError:
                return self._decide(args, keywords, key)
            if isinstance(found, _InPlaceCall):
                return found(args)  # its arrays are aligned
            if isinstance(found, SmallCalls):
                if share_memory(args):
                    return self._decide(args, keywords, None)
                found = found.dispatcher_for(args)
            if not (is_timed() or is_inside()):
                if isinstance(found, HostWarning):
                    found()
                    found = self._dispatcher
                return numba_call(found, *args)
        return self._decide(args, keywords, None)

    def _decide(self, args: tuple[Any, ...], keywords: dict[str, Any], shapes: tuple[Any, ...] | None) -> Any:
        """Decide whose a call is, and make it; it is noted where types and shapes alone decide."""
        given = None
        values: tuple[Any, ...] = args
        if keywords or len(args) != self._count:
            given = bound_arguments(self._dispatcher, args, keywords)
            if given is None:
                return self._by_numba(args, keywords)
            values = given.values
        try:
            key = tuple([_type_key(each) for each in values])
        except NotImplementedError:
            found_key = self._slow_key(values)
            if found_key is None:
                return self._by_numba(args, keywords)
            key = found_key
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._made(values)
        if isinstance(found, str):
            if found not in ("", NUMBA_REFUSES):
                self._warn(found)
                self._note(shapes, self._warnings[found])
            return self._by_numba(args, keywords)
        small = found.small
        if (
            small is not None
            and small.suits(values)
            and not (found.strided and any(_overlaps_itself(values[number]) for number in found.strided))
        ):
            dispatcher = small.dispatcher_for(values)
            if dispatcher is not None:
                if not found.strided:
                    self._note(shapes, small if small.requires_disjoint and found.has_several else dispatcher)
                return small(dispatcher, args, keywords)
            small = found.small = None
        if (
            given is None
            and not found.may_be_apart
            and (small is None or not small.requires_disjoint or not small.is_little(values))
        ):
            self._note(shapes, found)
        result = found(given or args)
        if result is _APART:
            self._warn(unlike_the_devices(self._dispatcher, values))
            return self._by_numba(args, keywords)
        return result

    def _warn(self, why: str) -> None:
        """Warn that Numba has a call, each time, as `warnings` may be told to show or raise each."""
        if why not in self._warnings:
            self._warnings[why] = HostWarning(self._dispatcher, why)
        self._warnings[why]()

    def _note(self, shapes: tuple[Any, ...] | None, found: _Decision) -> None:
        if shapes is not None:
            self._decided[shapes] = found

    def _slow_key(self, values: tuple[Any, ...]) -> tuple[Any, ...] | None:
        """The types of arguments of which some have no fingerprint; None for a call that Numba refuses."""
        try:
            return tuple([_type_key(each, self._dispatcher.typeof_pyval) for each in values])
        except (ValueError, TypeError):
            return None

    def _by_numba(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        return by_dispatcher(self._dispatcher, args, keywords)

    def _made(self, values: tuple[Any, ...]) -> _InPlaceCall | str:
        """The function for such arguments, or why Numba has the call; empty where it is offloaded by Numba's types."""
        dispatcher = self._dispatcher
        check_byte_order(dispatcher, values)
        try:
            given = tuple(map(dispatcher.typeof_pyval, values))
        except (ValueError, TypeError, NumbaError):  # which the call raises again
            return NUMBA_REFUSES
        if holds_usm(given):
            return ""
        why = obstacle_among(dispatcher, given)
        if why:
            return why
        if inspect.isgeneratorfunction(dispatcher.py_func):
            return "it is a generator"
        if dispatcher.locals:  # types of its own for variables, which Numba knows
            return "it has types of its own for variables"
        options = options_of(dispatcher.py_func).with_flags(flags_of(dispatcher))
        try:
            function = OffloadedFunction(
                dispatcher.py_func,
                tuple(on_device_type(each, "numpy") for each in given),
                options=options,
                library=library_named("numpy"),
            )
        except (KernelCompilationError, ExecutionPlacementError, TypeError) as error:
            return NUMBA_REFUSES if isinstance(inferred(dispatcher, given), NumbaError) else str(error)
        host = host_function(function, options)
        if host is not None:
            remember(dispatcher, host)
            return _InPlaceCall(host, given, values, None)
        partition = function.partition
        if not partition.has_device_work(with_plain_loops=True) and (
            partition.loops or not isinstance(inferred(dispatcher, given), NumbaError)
        ):
            return _why_no_kernel(function)
        remember(dispatcher, function)
        small = None
        if function.work is not None and is_generic(dispatcher) and options.may_fall_back and most_elements():
            small = SmallCalls(dispatcher, function)
            remember(dispatcher, small)
        return _InPlaceCall(function, given, values, small)


class _InPlaceCall:
    """A function that is offloaded for arguments of some types; a call gives `_APART` where Numba has it.

    - `arrays`, `strided`: the positions of its arrays, and of those that are not contiguous.
    - `has_several`: whether it may have several arrays, which may share memory.
    - `may_be_apart`: whether arrays of these types may have elements that are not at multiples of their size.
    - `small`: its calls that are too small for kernels, if such are known.
    """

    def __init__(
        self,
        function: OffloadedFunction | HostFunction,
        arguments: Sequence[types.Type],
        values: Sequence[Any],
        small: SmallCalls | None,
    ) -> None:
        self._function = function
        self.arrays = [number for number, each in enumerate(arguments) if isinstance(each, types.Array)]
        self._tuples = [number for number, each in enumerate(arguments) if isinstance(each, types.BaseTuple)]
        self.has_several = len(self.arrays) > 1 or bool(self._tuples)
        # The steps of an array that is aligned may be parts of an element; Numba's types do not tell what is aligned.
        self.strided = [number for number in self.arrays if arguments[number].layout == "A"]
        is_aligned = all(values[number].flags.aligned for number in self.arrays)
        self.may_be_apart = bool(self._tuples or self.strided) or not is_aligned
        self.small = small

    def __call__(self, given: tuple[Any, ...] | BoundArguments) -> Any:
        if isinstance(given, BoundArguments):
            seen: dict[int, Any] = {}
            if not all(map(_is_regular, host_arrays(given.values))):
                return _APART
            args = [_view(each, seen) for each in given.args]
            words = {name: _view(each, seen) for name, each in given.keywords.items()}
            result = self._function(*args, **words)
        else:
            seen, args = {}, list(given)
            if self.may_be_apart and not all(map(_is_regular, host_arrays(given))):
                return _APART
            for number in self.arrays:
                array = args[number]
                if array.__class__ is not HostArray:
                    view = args[number] = array.view(HostArray)
                    seen[id(view)] = array
            for number in self._tuples:
                args[number] = _view(args[number], seen)
            result = self._function(*args)
        return result if is_inside() else _given_back(result, seen)


_Decision: TypeAlias = _InPlaceCall | SmallCalls | HostWarning | CPUDispatcher
"""The owner of a call, of those with its types and shapes; `SmallCalls` where its arrays share no memory."""


def _why_no_kernel(function: OffloadedFunction) -> str:
    """The reason why no part of a function is a kernel: that of its first loop, if it has one."""
    refusal = next((each.refusal for each in function.partition.loops if getattr(each, "refusal", None)), None)
    if refusal is None:
        return "it has neither an expression of arrays nor a `prange` loop"
    detail = f": {refusal.detail}" if refusal.detail else ""
    return f"line {refusal.line}: {REASONS[refusal.reason].text}{detail}"


def _shapes(args: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """The key of a call: types, shapes and integers; None for arguments of other types than these."""
    key: list[Any] = []
    for each in args:
        kind = each.__class__
        if kind is np.ndarray or kind is HostArray:
            key.append((each.dtype, each.shape, each.flags.num))
        elif kind is int:  # no other part of a key equals one
            key.append(each)
        elif kind is float or kind is np.float64 or each is None:
            key.append(kind)
        elif kind is tuple:
            within = _shapes(each)
            if within is None:
                return None
            key.append((kind, *within))
        elif isinstance(each, CPUDispatcher):
            key.append(each)
        elif isinstance(each, (bool, np.bool_, np.integer)):
            key.append((kind, each))
        elif isinstance(each, (complex, np.inexact)):
            key.append(kind)
        else:
            return None
    return tuple(key)


def _type_key(value: Any, otherwise: Callable[[Any], Any] | None = None) -> Any:
    """The part of a call's key that an argument's type is; `otherwise` gives that of one without a fingerprint."""
    # Numba's fingerprints of arrays tell neither their alignment nor the order of bytes, those of tuples included.
    if isinstance(value, np.ndarray):
        return value.dtype, value.ndim, value.flags.num
    if isinstance(value, tuple):
        return value.__class__, *[_type_key(each, otherwise) for each in value]
    if isinstance(value, np.void):
        return value.dtype
    try:
        return fingerprint(value)
    except NotImplementedError:
        if otherwise is None:
            raise
        return otherwise(value)


def _is_regular(array: Any) -> bool:
    """Whether each element of an array is at a multiple of its size from the first."""
    if not array.size:
        return True
    size = array.itemsize
    steps = zip(array.shape, array.strides, strict=True)
    return bool(array.flags.aligned) and all(length == 1 or stride % size == 0 for length, stride in steps)


def _overlaps_itself(array: Any) -> bool:
    """Whether a store to one element of an array changes another one: statements of Numba's read what they stored."""
    return bool(array.flags.writeable) and overlaps_itself(array.shape, array.strides, array.itemsize)


def _view(value: Any, seen: dict[int, Any]) -> Any:
    """A value with views for its NumPy arrays, those in tuples included."""
    if isinstance(value, np.ndarray):
        if value.__class__ is HostArray:
            return value
        view = value.view(HostArray)
        seen[id(view)] = value
        return view
    return like(value, [_view(each, seen) for each in value]) if isinstance(value, tuple) else value


def _given_back(value: Any, seen: dict[int, Any]) -> Any:
    """A result with NumPy's arrays: the ones that the function was given, or those that its views are of."""
    if value.__class__ is HostArray:
        if id(value) in seen:
            return seen[id(value)]
        base = value.base
        if base.__class__ is np.ndarray and base.flags.writeable and library(value).is_same_view(base, value):
            return base  # which was made for it
        return value.view(np.ndarray)
    if isinstance(value, (tuple, list)):
        items = [_given_back(each, seen) for each in value]
        if isinstance(value, tuple):
            return like(value, items)
        value[:] = items
        return value
    if value.__class__ is dict:
        value.update({key: _given_back(each, seen) for key, each in value.items()})
    return value
