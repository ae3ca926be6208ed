"""dpnp arrays as the host has them: their own memory if it reaches that, else copies that lie as the arrays do."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from kapi_numba_offload.run.byte_bounds import ALIGNMENT, device_bounds, host_address, host_bounds, sharing
from kapi_numba_offload.run.usm import DpnpArray, as_dpnp_array, host_bytes, is_reachable, like, view_of

__all__ = ["HostCopies", "arrays_among"]


def arrays_among(values: Iterable[Any], kind: type[Any] = DpnpArray) -> Iterator[Any]:
    """The arrays of a class among values, those in tuples and lists included."""
    for each in values:
        if isinstance(each, kind):
            yield each
        elif isinstance(each, (tuple, list)):
            yield from arrays_among(each, kind)


class _Block:
    """A range of bytes of USM on the host."""

    def __init__(self, arrays: list[Any], is_copy: bool) -> None:
        bounds = [device_bounds(each) for each in arrays]
        self.owner = max(arrays, key=lambda each: each._array_obj.usm_data.nbytes)
        memory = self.owner._array_obj.usm_data
        low = min(low for low, _ in bounds)
        self.low = max(memory._pointer, low - low % ALIGNMENT)
        self.high = max(high for _, high in bounds)
        self.is_copy = is_copy or not is_reachable(self.owner)
        reached = host_bytes(self.owner, self.low, self.high)
        self.bytes = reached.copy() if is_copy else reached


class HostCopies:
    """NumPy arrays instead of dpnp arrays.

    Parameters
    ----------
    arrays : iterable of dpnp.ndarray
        What is copied.
    always : bool
        Whether memory that the host reaches is copied, too.

    Attributes
    ----------
    size : int
        Bytes that were copied to the host.
    """

    def __init__(self, arrays: Iterable[Any], *, always: bool = False) -> None:
        self._always = always
        self._copies: dict[int, tuple[Any, Any]] = {}
        self._blocks: list[_Block] = []
        self._copied: set[int] = set()
        self._lists: dict[int, tuple[list[Any], list[Any]]] = {}
        distinct = {id(each): each for each in arrays}
        self._first = next(iter(distinct.values()), None)
        for together in sharing(list(distinct.values()), device_bounds):
            self._copy(together)
        self.size = sum(block.high - block.low for block in self._blocks if block.is_copy)

    def _copy(self, arrays: list[Any]) -> None:
        block = _Block(arrays, self._always)
        self._blocks.append(block)
        for each in arrays:
            inner = each._array_obj
            strides = tuple(stride * inner.itemsize for stride in inner.strides)
            copy = np.ndarray(inner.shape, inner.dtype, block.bytes, inner._pointer - block.low, strides)
            copy.flags.writeable = inner.flags.writable
            self._copies[id(each)] = each, copy
            if block.is_copy:
                self._copied.add(id(each))

    def on_host(self, value: Any) -> Any:
        """A value with copies for its arrays; a list that has none is itself."""
        if isinstance(value, list):
            if id(value) not in self._lists:
                made = list(map(self.on_host, value))
                has_same = all(one is other for one, other in zip(made, value, strict=True))
                self._lists[id(value)] = value, value if has_same else made
            return self._lists[id(value)][1]
        if isinstance(value, tuple):
            return like(value, map(self.on_host, value))
        return self._copies[id(value)][1] if id(value) in self._copies else value

    def copy_back(self, value: Any) -> int:
        """Copy what was stored to the copies of a value's arrays back to them; the bytes that it took."""
        if isinstance(value, (tuple, list)):
            return sum(map(self.copy_back, value))
        if id(value) not in self._copied or not value.get_array().flags.writable or not value.size:
            return 0
        value[...] = self._copies[id(value)][1]
        return int(value.nbytes)

    def on_device(self, value: Any) -> Any:
        """A value that came of copies: its arrays are those that were copied, or views of them, or new.

        New ones that share memory share it on the device, too. The lists that `on_host` was given then hold what the
        host's hold.
        """
        if self._first is None:
            return value
        known: dict[int, Any] = {}
        new = []
        for each in arrays_among([value, *(host for _, host in self._lists.values())], np.ndarray):
            if id(each) not in known:
                known[id(each)] = self._of_given(each)
                if known[id(each)] is None:
                    new.append(each)
        for together in sharing(new, host_bounds):
            known |= _new_together(together, self._first.sycl_queue)
        given = {id(host): own for own, host in self._lists.values()}
        for own, host in self._lists.values():
            own[:] = [_replaced(each, known, given) for each in host]
        return _replaced(value, known, given)

    def _of_given(self, array: np.ndarray[Any, Any]) -> Any:
        """The dpnp array that lies where `array` lies in a copy; None if it lies in none."""
        for given, copy in self._copies.values():
            if copy is array:
                return given
        for block in self._blocks:
            if np.may_share_memory(array, block.bytes):
                address = block.low + host_address(array) - host_address(block.bytes)
                return view_of(block.owner, address, array, writable=array.flags.writeable)
        return None


def _replaced(value: Any, arrays: dict[int, Any], lists: dict[int, list[Any]]) -> Any:
    """A value with other arrays instead of NumPy's, and other lists instead of known ones, by identity."""
    if id(value) in lists:
        return lists[id(value)]
    if isinstance(value, (tuple, list)):
        return like(value, [_replaced(each, arrays, lists) for each in value])
    return arrays[id(value)] if isinstance(value, np.ndarray) else value


def _new_together(arrays: list[np.ndarray[Any, Any]], queue: Any) -> dict[int, Any]:
    """New dpnp arrays for NumPy arrays that share memory, by the identity of those; equal views are one array."""
    layouts = {id(each): (host_address(each), each.shape, each.strides, each.dtype) for each in arrays}
    of_layout = {layouts[id(each)]: each for each in arrays}
    if len(of_layout) == 1:
        made = {layout: as_dpnp_array(each, queue) for layout, each in of_layout.items()}
    else:
        low = min(host_bounds(each)[0] for each in arrays)
        high = max(host_bounds(each)[1] for each in arrays)
        before = low % ALIGNMENT
        held = np.zeros(before + high - low, np.uint8)
        held[before:] = (ctypes.c_ubyte * (high - low)).from_address(low)
        owner = as_dpnp_array(held, queue)
        start = owner._array_obj._pointer + before - low
        made = {layout: view_of(owner, start + host_address(each), each) for layout, each in of_layout.items()}
    return {each: made[layout] for each, layout in layouts.items()}
