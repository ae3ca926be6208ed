"""Device arrays as the host has them: their own memory if it reaches that, else copies that lie as the arrays do."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from typing import Any

import numpy as np

from kapi_numba_offload.libraries.arrays import library, like, numpy_arrays_among, queue_of
from kapi_numba_offload.libraries.host_array import as_host_arrays
from kapi_numba_offload.libraries.host_memory import ALIGNMENT, host_address, host_bounds, sharing
from kapi_numba_offload.libraries.installed import library_of_queue

__all__ = ["HostCopies", "is_reachable"]


def is_reachable(array: Any) -> bool:
    """Whether the host can read and write a device array's memory where it lies."""
    return library(array).is_reachable(array)


class _Block:
    """A range of bytes of a device's memory on the host."""

    def __init__(self, arrays: list[Any], is_copy: bool) -> None:
        bounds = [library(each).byte_bounds(each) for each in arrays]
        self.owner = max(arrays, key=lambda each: library(each).block_of(each)[1])
        self.library = library(self.owner)
        start, _ = self.library.block_of(self.owner)
        low = min(low for low, _ in bounds)
        self.low = max(start, low - low % ALIGNMENT)
        self.high = max(high for _, high in bounds)
        self.is_copy = is_copy or not is_reachable(self.owner)
        reached = self.library.host_bytes(self.owner, self.low, self.high)
        self.bytes = reached.copy() if is_copy else reached


class HostCopies:
    """NumPy arrays instead of device arrays; the arrays themselves where they are views of NumPy's.

    - `always`: whether memory that the host reaches is copied, too.
    - `size`: bytes that were copied to the host.
    """

    def __init__(self, arrays: Iterable[Any], *, always: bool = False) -> None:
        self._always = always
        self._copies: dict[int, tuple[Any, Any]] = {}
        self._blocks: list[_Block] = []
        self._copied: set[int] = set()
        self._lists: dict[int, tuple[list[Any], list[Any]]] = {}
        distinct = {id(each): each for each in arrays}
        self._first = next(iter(distinct.values()), None)
        self._has_views = self._first is not None and library(self._first).is_host and not always
        self.size = 0
        if self._has_views:
            return
        for together in sharing(list(distinct.values()), lambda each: library(each).byte_bounds(each)):
            self._copy(together)
        self.size = sum(block.high - block.low for block in self._blocks if block.is_copy)

    def _copy(self, arrays: list[Any]) -> None:
        block = _Block(arrays, self._always)
        self._blocks.append(block)
        for each in arrays:
            fields = block.library.fields(each)
            strides = tuple(stride * fields.dtype.itemsize for stride in fields.strides)
            copy = np.ndarray(fields.shape, fields.dtype, block.bytes, fields.pointer - block.low, strides)
            copy.flags.writeable = not fields.readonly
            self._copies[id(each)] = each, copy
            if block.is_copy:
                self._copied.add(id(each))

    def on_host(self, value: Any) -> Any:
        """A value with copies for its arrays; a list that has none is itself."""
        if self._has_views:
            if isinstance(value, list):
                self._lists[id(value)] = value, value
            return value
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
        if id(value) not in self._copied or not library(value).is_writable(value) or not value.size:
            return 0
        library(value).store_elements(value, self._copies[id(value)][1])
        return int(value.nbytes)

    def on_device(self, value: Any) -> Any:
        """A value that came of copies: its arrays are those that were copied, or views of them, or new.

        New ones that share memory share it on the device, too. The lists that `on_host` was given then hold what the
        host's hold.
        """
        if self._first is None:
            return value
        if self._has_views:
            for own, _ in self._lists.values():
                as_host_arrays(own)
            return as_host_arrays(value)
        known: dict[int, Any] = {}
        new = []
        for each in numpy_arrays_among([value, *(host for _, host in self._lists.values())]):
            if id(each) not in known:
                known[id(each)] = self._of_given(each)
                if known[id(each)] is None:
                    new.append(each)
        for together in sharing(new, host_bounds):
            known |= _new_together(together, queue_of(self._first))
        given = {id(host): own for own, host in self._lists.values()}
        for own, host in self._lists.values():
            own[:] = [_replaced(each, known, given) for each in host]
        return _replaced(value, known, given)

    def _of_given(self, array: np.ndarray[Any, Any]) -> Any:
        """The device array that lies where `array` lies in a copy; None if it lies in none."""
        for given, copy in self._copies.values():
            if copy is array:
                return given
        for block in self._blocks:
            if np.may_share_memory(array, block.bytes):
                address = block.low + host_address(array) - host_address(block.bytes)
                return block.library.view_of(block.owner, address, array, writable=array.flags.writeable)
        return None


def _replaced(value: Any, arrays: dict[int, Any], lists: dict[int, list[Any]]) -> Any:
    """A value with other arrays instead of NumPy's, and other lists instead of known ones, by identity."""
    if id(value) in lists:
        return lists[id(value)]
    if isinstance(value, (tuple, list)):
        return like(value, [_replaced(each, arrays, lists) for each in value])
    return arrays[id(value)] if isinstance(value, np.ndarray) else value


def _new_together(arrays: list[np.ndarray[Any, Any]], queue: Any) -> dict[int, Any]:
    """New device arrays for NumPy arrays that share memory, by the identity of those; equal views are one array."""
    layouts = {id(each): (host_address(each), each.shape, each.strides, each.dtype) for each in arrays}
    makes = library_of_queue(queue)
    of_layout = {layouts[id(each)]: each for each in arrays}
    if len(of_layout) == 1:
        made = {layout: makes.from_host(each, queue) for layout, each in of_layout.items()}
    else:
        low = min(host_bounds(each)[0] for each in arrays)
        high = max(host_bounds(each)[1] for each in arrays)
        before = low % ALIGNMENT
        held = np.zeros(before + high - low, np.uint8)
        held[before:] = (ctypes.c_ubyte * (high - low)).from_address(low)
        owner = makes.from_host(held, queue)
        start = makes.block_of(owner)[0] + before - low
        made = {layout: makes.view_of(owner, start + host_address(each), each) for layout, each in of_layout.items()}
    return {each: made[layout] for each, layout in layouts.items()}
