"""dpnp arrays as the host has them: their own memory if it reaches that, else copies that lie as the arrays do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from kapi_numba_offload.run.usm import DpnpArray, as_dpnp_array, host_bytes, is_reachable, like, view_of

__all__ = ["HostCopies", "arrays_among"]

_ALIGNMENT = 64  # of a block's first byte, so that elements are aligned as they are on the device


def arrays_among(values: Iterable[Any]) -> Iterator[Any]:
    """The dpnp arrays among values, those in tuples and lists included."""
    for each in values:
        if isinstance(each, DpnpArray):
            yield each
        elif isinstance(each, (tuple, list)):
            yield from arrays_among(each)


class _Block:
    """A range of bytes of USM on the host."""

    def __init__(self, arrays: list[Any]) -> None:
        bounds = [each._array_obj._byte_bounds for each in arrays]
        self.owner = max(arrays, key=lambda each: each._array_obj.usm_data.nbytes)
        memory = self.owner._array_obj.usm_data
        low = min(low for low, _ in bounds)
        self.low = max(memory._pointer, low - low % _ALIGNMENT)
        self.high = max(high for _, high in bounds)
        self.is_copy = not is_reachable(self.owner)
        self.bytes = host_bytes(self.owner, self.low, self.high)


class HostCopies:
    """NumPy arrays in the place of dpnp arrays.

    Parameters
    ----------
    arrays : iterable of dpnp.ndarray
        What is copied.

    Attributes
    ----------
    size : int
        Bytes that were copied to the host.
    """

    def __init__(self, arrays: Iterable[Any]) -> None:
        self._copies: dict[int, tuple[Any, Any]] = {}
        self._blocks: list[_Block] = []
        self._copied: set[int] = set()
        distinct = {id(each): each for each in arrays}
        self._first = next(iter(distinct.values()), None)
        for together in _sharing(list(distinct.values())):
            self._copy(together)
        self.size = sum(block.high - block.low for block in self._blocks if block.is_copy)

    def _copy(self, arrays: list[Any]) -> None:
        block = _Block(arrays)
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
        """A value with copies for its arrays."""
        if isinstance(value, (tuple, list)):
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
        """A value that came of copies: its arrays are those that were copied, or views of them, or new."""
        if isinstance(value, (tuple, list)):
            return like(value, map(self.on_device, value))
        if not isinstance(value, np.ndarray) or self._first is None:
            return value
        for array, copy in self._copies.values():
            if copy is value:
                return array
        for block in self._blocks:
            if np.may_share_memory(value, block.bytes):
                address = value.__array_interface__["data"][0] - block.bytes.__array_interface__["data"][0]
                return view_of(block.owner, block.low + address, value)
        return as_dpnp_array(value, self._first.sycl_queue)


def _sharing(arrays: list[Any]) -> list[list[Any]]:
    """The arrays, those whose bytes overlap in one list."""
    groups: list[list[Any]] = []
    end = 0
    for each in sorted(arrays, key=lambda array: array._array_obj._byte_bounds[0]):
        low, high = each._array_obj._byte_bounds
        if groups and low < end:
            groups[-1].append(each)
        else:
            groups.append([each])
        end = max(end, high)
    return groups
