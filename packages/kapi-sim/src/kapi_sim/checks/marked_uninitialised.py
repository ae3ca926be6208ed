"""Arrays that the host left uninitialised, as the user marks them."""

from __future__ import annotations

from collections.abc import Container, Iterable, Set
from typing import Any

import numpy as np

from kapi_sim.errors import KernelLaunchError
from kapi_sim.items.usm import HostCopy, element_addresses, is_usm_array, memory_span
from kapi_sim.language.usm_protocol import protocol_fields
from kapi_sim.short_repr import short_repr

__all__ = ["Marks", "Uninitialised", "addresses_of", "marked_arrays"]


class Marks:
    """The bytes of some arrays in one memory, each of which may be a part of a larger one.

    - `arrays`: for each, the address of each element and the bytes of one.
    """

    __slots__ = ("_parts",)

    def __init__(self, arrays: Iterable[tuple[np.ndarray[Any, Any], int]]) -> None:
        self._parts: list[tuple[int, np.ndarray[Any, Any]]] = []
        for addresses, itemsize in arrays:
            if not addresses.size:
                continue
            low = int(addresses.min())
            is_marked = np.zeros(int(addresses.max()) - low + itemsize, bool)
            for byte in range(itemsize):
                is_marked[addresses - low + byte] = True
            self._parts.append((low, is_marked))

    def __contains__(self, address: Any) -> bool:
        return any(0 <= address - low < len(is_marked) and is_marked[address - low] for low, is_marked in self._parts)


class Uninitialised:
    """Memory that holds nothing until a kernel writes it.

    - `arrays`: whole arrays, or views.
    - `usm`: the same in unified shared memory, of which each launch works on a copy.
    - `written`: addresses of elements that kernels have written.
    """

    __slots__ = ("_arrays", "_marks", "_spans", "_usm_marks", "_written_usm", "written")

    def __init__(self, arrays: list[np.ndarray[Any, Any]], usm: list[Any]) -> None:
        self._arrays = arrays
        self._marks = Marks((addresses_of(array), array.itemsize) for array in arrays)
        self._spans = [memory_span(array) for array in usm]
        self._usm_marks = Marks((np.array(element_addresses(a)), protocol_fields(a).dtype.itemsize) for a in usm)
        self._written_usm: set[int] = set()
        self.written: set[int] = set()

    def holds(self, array: np.ndarray[Any, Any]) -> bool:
        """Return whether some of `array` may be marked; `marked_in` says which elements are."""
        return any(np.may_share_memory(array, marked) for marked in self._arrays)

    def marked_in(self, copies: Iterable[HostCopy]) -> Container[int]:
        """Return the addresses that hold nothing at first, those of a launch's copies for what they are copies of."""
        return _Marked(
            self._marks, {host for copy in copies for host, device in self._pairs(copy) if device in self._usm_marks}
        )

    def holds_usm(self, array: Any) -> bool:
        """Return whether an array in unified shared memory shares some with what was marked."""
        low, high = memory_span(array) if self._spans else (0, 0)
        return any(low < end and start < high for start, end in self._spans)

    def written_before(self, copies: Iterable[HostCopy]) -> set[int]:
        """Return the addresses that earlier kernels wrote, those of a launch's copies for what they are copies of."""
        known = [host for copy in copies for host, device in self._pairs(copy) if device in self._written_usm]
        return self.written.union(known) if known else self.written

    def note_written(self, addresses: Set[int], copies: Iterable[HostCopy]) -> None:
        """Take note of what a launch wrote.

        - `addresses`: of NumPy arrays, and of the copies.
        - `copies`: the launch's copies of unified shared memory.
        """
        own: set[int] = set()
        for copy in copies:
            start = copy.host.__array_interface__["data"][0]
            own.update(address for address in addresses if start <= address < start + copy.host.nbytes)
            self._written_usm.update(device for host, device in self._pairs(copy) if host in addresses)
        self.written |= addresses - own

    def _pairs(self, copy: HostCopy) -> Iterable[tuple[int, int]]:
        """The address of each element of a marked array's copy, and of the element itself."""
        if not self.holds_usm(copy.array):
            return ()
        start = copy.host.__array_interface__["data"][0]
        steps = range(start, start + copy.host.nbytes, copy.host.itemsize)
        return zip(steps, element_addresses(copy.array), strict=True)


class _Marked:
    """Addresses in NumPy arrays that are marked, and in copies of others."""

    __slots__ = ("_in_copies", "_marks")

    def __init__(self, marks: Marks, in_copies: set[int]) -> None:
        self._marks = marks
        self._in_copies = in_copies

    def __contains__(self, address: Any) -> bool:
        return address in self._in_copies or address in self._marks


def addresses_of(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the address of each element."""
    addresses = np.full(array.shape, array.__array_interface__["data"][0], np.int64)
    for axis, (extent, stride) in enumerate(zip(array.shape, array.strides, strict=True)):
        addresses += (np.arange(extent) * stride).reshape(-1, *[1] * (array.ndim - axis - 1))
    return addresses.reshape(-1)


def marked_arrays(arrays: Iterable[Any]) -> Uninitialised | None:
    """Return the memory of these arrays, or `None` if there are none.

    Raises `KernelLaunchError` if one is no array.
    """
    given = [arrays] if isinstance(arrays, np.ndarray) or is_usm_array(arrays) else list(arrays)
    usm = [array for array in given if is_usm_array(array)]
    for array in given:
        if not (isinstance(array, np.ndarray) or is_usm_array(array)):
            raise KernelLaunchError(
                f"uninitialised must name arrays, got {short_repr(array)} of type {type(array).__name__}: "
                "pass the arrays that the kernel gets",
                code="unwritten-no-array",
            )
    return Uninitialised([array for array in given if isinstance(array, np.ndarray)], usm) if given else None
