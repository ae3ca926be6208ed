"""Memory of the device that nothing was written to yet, element by element."""

from __future__ import annotations

from collections.abc import Container, Iterable, Set
from typing import Any

import numpy as np

from kapi_sim.checks.marked_uninitialised import Uninitialised

__all__ = ["Fresh", "FreshArguments", "bounds_of"]


class Fresh:
    """Memory that nothing has been written to since it was allocated, element by element.

    Parameters
    ----------
    array : numpy.ndarray
        All of it.
    """

    __slots__ = ("array", "is_written", "start")

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self.array = array
        self.start: int = array.__array_interface__["data"][0]
        self.is_written = np.zeros(max(array.nbytes, 1), bool)

    def note_all(self, part: np.ndarray[Any, Any]) -> None:
        """Take note that the host has written a part; of one that is a copy, all."""
        low, high = bounds_of(part)
        if not np.may_share_memory(part, self.array):
            self.is_written[:] = True
            return
        if part.flags.c_contiguous or part.flags.f_contiguous:
            self.is_written[low - self.start : high - self.start] = True
            return
        for offset in _offsets(part):
            self.is_written[offset + part.__array_interface__["data"][0] - self.start] = True


def bounds_of(array: np.ndarray[Any, Any]) -> tuple[int, int]:
    """Return the first byte of an array's memory and the one behind its last."""
    low = high = int(array.__array_interface__["data"][0])
    if array.size == 0:
        return low, low
    for extent, stride in zip(array.shape, array.strides, strict=True):
        reach = (extent - 1) * stride
        low, high = low + min(reach, 0), high + max(reach, 0)
    return low, high + array.itemsize


def _offsets(part: np.ndarray[Any, Any]) -> Iterable[int]:
    for index in np.ndindex(*part.shape):
        yield sum(i * step for i, step in zip(index, part.strides, strict=True))


class FreshArguments(Uninitialised):
    """The memory of a launch's arguments that may hold nothing, and what the user has marked.

    Parameters
    ----------
    fresh : list of Fresh
        Of device arrays.
    given : Uninitialised or None
        The user's.
    """

    __slots__ = ("_fresh", "_given")

    def __init__(self, fresh: list[Fresh], given: Uninitialised | None) -> None:
        super().__init__([], [])
        self._fresh = fresh
        self._given = given

    def holds(self, array: np.ndarray[Any, Any]) -> bool:
        if any(np.may_share_memory(array, each.array) for each in self._fresh):
            return True
        return self._given is not None and self._given.holds(array)

    def marked_in(self, copies: Any) -> Container[int]:
        return _Unwritten(self._fresh, None if self._given is None else self._given.marked_in(copies))

    def written_before(self, copies: Any) -> set[int]:
        return set() if self._given is None else self._given.written_before(copies)

    def note_written(self, addresses: Set[int], copies: Any) -> None:
        if self._given is not None:
            self._given.note_written(addresses, copies)
        written = np.fromiter(addresses, np.int64, len(addresses))
        for each in self._fresh:
            offsets = written - each.start
            each.is_written[offsets[(offsets >= 0) & (offsets < len(each.is_written))]] = True


class _Unwritten:
    __slots__ = ("_fresh", "_marked")

    def __init__(self, fresh: list[Fresh], marked: Container[int] | None) -> None:
        self._fresh = fresh
        self._marked = marked

    def __contains__(self, address: Any) -> bool:
        for each in self._fresh:
            if 0 <= address - each.start < len(each.is_written):
                return not each.is_written[address - each.start]
        return self._marked is not None and address in self._marked
