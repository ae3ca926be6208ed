"""Host memory that a device reaches as well: pinned, mapped and managed arrays, whose use by the host is checked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kapi_sim.checks.marked_uninitialised import addresses_of
from kapi_sim.numba_cuda.host.stream_order import order

__all__ = ["MappedArray", "PinnedArray", "WatchedArray", "plain"]


class WatchedArray(np.ndarray[Any, np.dtype[Any]]):
    """An array whose elements the host must not use while a stream may still work on them.

    Indices, ufuncs, NumPy's functions and the array's methods are seen.  What goes by the memory itself is not:
    ``np.asarray(array)`` gives a plain array.
    """

    def __getitem__(self, index: Any) -> Any:
        found = super().__getitem__(index)
        if not order.is_idle and not (isinstance(found, np.ndarray) and np.may_share_memory(plain(found), plain(self))):
            _use(self, index, False)
        return found

    def __setitem__(self, index: Any, value: Any) -> None:
        if not order.is_idle:
            _use(self, index, True)
        super().__setitem__(index, plain(value))

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: tuple[Any, ...] = (), **named: Any) -> Any:
        for i, value in enumerate(inputs):
            _use(value, ..., method == "at" and i == 0)
        for value in out:
            _use(value, ..., True)
        if out:
            named["out"] = tuple(map(plain, out))
        result = getattr(ufunc, method)(*map(plain, inputs), **named)
        return out[0] if len(out) == 1 else out or result

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if func in _UNREADING:
            return func(*map(plain, args), **{name: plain(value) for name, value in kwargs.items()})
        out = kwargs.get("out")
        written = [args[0]] if func in _FILLING and args else []
        for value in (*written, *(out if isinstance(out, tuple) else (out,))):
            _use(value, ..., True)
        return func(*map(_read, args), **{name: plain(v) if v is out else _read(v) for name, v in kwargs.items()})

    def __str__(self) -> str:
        return str(_read(self))

    def __repr__(self) -> str:
        return repr(_read(self))


_FILLING = (np.copyto, np.put, np.place, np.putmask, np.put_along_axis, np.fill_diagonal)
"""NumPy's functions that write to their first argument."""
_UNREADING = (
    *(np.may_share_memory, np.shares_memory, np.shape, np.ndim, np.size, np.result_type, np.can_cast),
    *(np.empty_like, np.zeros_like, np.ones_like, np.full_like, np.iscomplexobj, np.isrealobj),
    *(np.broadcast_to, np.expand_dims, np.moveaxis, np.squeeze, np.swapaxes, np.transpose),
)
"""NumPy's functions that use no element."""
_READING = (
    *("argmax", "argmin", "argpartition", "argsort", "astype", "choose", "compress", "copy", "cumprod", "cumsum"),
    *("dot", "dump", "dumps", "flatten", "item", "nonzero", "repeat", "round", "searchsorted", "take", "tobytes"),
    *("tofile", "tolist", "trace"),
)
_WRITING = ("byteswap", "fill", "partition", "put", "sort")


def _method(name: str, writes: bool) -> Callable[..., Any]:
    of_numpy = getattr(np.ndarray, name)

    def method(self: WatchedArray, *args: Any, **named: Any) -> Any:
        _use(self, ..., writes)
        return of_numpy(plain(self), *args, **named)

    method.__name__ = name
    method.__doc__ = f"Do what `numpy.ndarray.{name}` does, if no stream still works on the elements."
    return method


for _names, _writes in ((_READING, False), (_WRITING, True)):
    for _name in _names:
        setattr(WatchedArray, _name, _method(_name, _writes))


class PinnedArray(WatchedArray):
    """An array in host memory that is never paged out, which streams copy to and from while the host goes on."""


class MappedArray(WatchedArray):
    """An array that the host and the device both reach."""


def plain(value: Any) -> Any:
    """Return the same memory as an array of NumPy's own class; other values as they are."""
    return value.view(np.ndarray) if isinstance(value, WatchedArray) else value


def _read(value: Any) -> Any:
    """Let the host read an array, or the arrays in a list or tuple, and return them as NumPy's own."""
    if isinstance(value, WatchedArray):
        _use(value, ..., False)
        return plain(value)
    if type(value) in (list, tuple):
        return type(value)(map(_read, value))
    return value


def _use(array: Any, index: Any, writes: bool) -> None:
    """Let the host read or write the elements at an index."""
    if order.is_idle or not isinstance(array, WatchedArray):
        return
    memory = plain(array)
    addresses = addresses_of(memory).reshape(memory.shape)
    fields = isinstance(index, str) or (isinstance(index, list) and any(isinstance(each, str) for each in index))
    order.use_on_host(memory, np.ravel(addresses if fields else addresses[index]), writes)
