"""NumPy arrays as the device has them: copies that lie as the arrays do, and views of those as views of the arrays."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kapi_numba_offload._numba_compat import as_dtype, types
from kapi_numba_offload.libraries.arrays import allocate, arrays_among, host_copy, library, like
from kapi_numba_offload.libraries.host_memory import ALIGNMENT, as_numpy, host_address, host_bounds, sharing
from kapi_numba_offload.loops.host.host_copies import HostCopies
from kapi_numba_offload.run.python_numbers import as_number
from kapi_runtime.launch.device_context import bits

__all__ = ["DeviceCopies"]

_BYTE = np.dtype(np.uint8)


@dataclass(frozen=True, slots=True)
class _CopiedMemory:
    """NumPy arrays that share memory, and where the device has that.

    - `low`, `high`: the addresses of their lowest byte, and of the one after their highest.
    - `shift`: what is added to an address for that on the device.
    """

    arrays: list[np.ndarray[Any, Any]]
    low: int
    high: int
    shift: int


class DeviceCopies:
    """Device arrays instead of NumPy arrays, for one call.

    Arrays that share memory share it on the device. Each has the strides that it has on the host, so that a view or a
    copy is one on the device where it is one on the host.

    - `may_change`: whether the call may store into them.
    - `moved`: bytes that were copied, to the device and back.
    """

    def __init__(self, arrays: Iterable[np.ndarray[Any, Any]], queue: Any, *, may_change: bool) -> None:
        self._blocks: list[_CopiedMemory] = []
        self._copies: dict[int, tuple[np.ndarray[Any, Any], Any]] = {}
        distinct = {id(each): each for each in arrays}
        # The device gets what is compared with later: what another thread stores meanwhile is not overwritten.
        changing = [key for key, each in distinct.items() if may_change and each.flags.writeable and each.size]
        self._before = {key: np.array(distinct[key]) for key in changing}
        for together in sharing(list(distinct.values()), host_bounds):
            self._copy(together, queue)
        self.moved = sum(each.nbytes for each in distinct.values())

    def _copy(self, arrays: list[np.ndarray[Any, Any]], queue: Any) -> None:
        bounds = list(map(host_bounds, arrays))
        low, high = min(low for low, _ in bounds), max(high for _, high in bounds)
        start = low % ALIGNMENT
        memory = allocate((start + high - low,), _BYTE, "device", queue)
        made = library(memory)
        block = _CopiedMemory(arrays, low, high, made.block_of(memory)[0] + start - low)
        self._blocks.append(block)
        for each in arrays:
            copy = made.view_of(memory, host_address(each) + block.shift, each)
            made.store_elements(copy, self._before.get(id(each), each))
            made.set_writable(copy, each.flags.writeable)
            self._copies[id(each)] = each, copy

    def on_device(self, value: Any) -> Any:
        """A value with copies for its arrays, those in tuples included."""
        if isinstance(value, tuple):
            return like(value, map(self.on_device, value))
        return self._copies[id(value)][1] if id(value) in self._copies else value

    def copy_back(self) -> None:
        """Store what was changed in the copies in the arrays that they are copies of."""
        for key, before in self._before.items():
            array, copy = self._copies[key]
            now = host_copy(copy)
            np.copyto(array, now, where=bits(now) != bits(before))
            self.moved += array.nbytes

    def on_host(self, value: Any, type_: types.Type | None) -> Any:
        """A result as Numba would give it: NumPy arrays and Python's numbers, of the types that it infers.

        Arrays are those that were copied, or views of them, or new; new ones that share memory share it on the host.

        - `value`: what a function returned for the copies.
        - `type_`: Numba's type of it, if known.
        """
        if type(value) is dict:
            return {key: self.on_host(each, None) for key, each in value.items()}
        arrays = {id(each): self._of_given(each) for each in arrays_among((value,))}
        new = HostCopies((each for each in arrays_among((value,)) if arrays[id(each)] is None), always=True)
        return _typed(value, {key: each for key, each in arrays.items() if each is not None}, new, type_)

    def _of_given(self, array: Any) -> np.ndarray[Any, Any] | None:
        """The NumPy array that lies where `array` lies in a copy; None if it lies in none."""
        for given, copy in self._copies.values():
            if copy is array:
                return given
        if not array.size:
            return None
        for block in self._blocks:
            address = library(array).fields(array).pointer - block.shift
            if block.low <= address < block.high:
                return _view(block, address, array)
        return None


def _view(block: _CopiedMemory, address: int, array: Any) -> np.ndarray[Any, Any]:
    own_library = library(array)
    low, high = own_library.byte_bounds(array)
    own = low - block.shift, high - block.shift
    holders = [each for each in block.arrays if host_bounds(each)[0] <= own[0] and own[1] <= host_bounds(each)[1]]
    holders = holders or block.arrays
    fields = replace(own_library.fields(array), pointer=address)
    may_write = own_library.is_writable(array) and any(each.flags.writeable for each in holders)
    view = as_numpy(holders[0], fields, is_writeable=may_write)
    for each in holders:  # as under Numba, where such a view is the array itself
        if host_address(each) == address and (each.shape, each.strides, each.dtype) == (
            view.shape, view.strides, view.dtype,
        ):  # fmt: skip
            return each
    return view


def _typed(value: Any, known: dict[int, Any], new: HostCopies, type_: types.Type | None) -> Any:
    if isinstance(value, (tuple, list)):
        own = list(type_) if isinstance(type_, types.BaseTuple) else [getattr(type_, "dtype", None)] * len(value)
        items = [_typed(each, known, new, its) for each, its in zip(value, own, strict=True)]
        if isinstance(value, tuple):
            return like(value, items)
        value[:] = items  # it may be an argument
        return value
    if id(value) in known:
        return known[id(value)]
    made = as_number(new.on_host(value)) if getattr(type_, "ndim", None) != 0 else np.asarray(new.on_host(value))
    if isinstance(made, np.ndarray):
        if isinstance(type_, types.Array):
            return made.astype(as_dtype(type_.dtype), copy=False)
        return made.item() if made.ndim == 0 else made
    is_other = isinstance(type_, (types.Float, types.Complex)) or isinstance(made, bool)
    if isinstance(type_, types.Number) and is_other and isinstance(made, (bool, int, float, complex)):
        return as_dtype(type_).type(made).item()
    return made
