"""Ownership of elements: a proof, cheaper than a record of each access, that a launch has no race.

While each element is read and written by one work-item alone, or only read, nothing can race, whatever the order.
Four bytes an element hold that.  A launch that breaks the rule is not wrong yet: it runs again, with records of its
accesses, which tell a race from what a barrier orders, and name its lines.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Set
from types import FrameType
from typing import Any, Final, NamedTuple

import numpy as np

from kapi_sim.checks.races import AccessedArray, AccessRecord, ShadowMemory
from kapi_sim.items.schedule_state import ScheduleState

__all__ = ["SHARED", "UNTOUCHED", "OwnershipMemory", "Owners", "UnprovenError", "owners_of"]

UNTOUCHED: Final = -1
"""The state of an element that no work-item has accessed.  Of one that the work-item `uid` alone has read it is `uid`,
and of one that it has written, ``-2 - uid``."""
SHARED: Final = 2**31 - 1
"""The state of an element that several work-items have read, and none has written."""


class UnprovenError(Exception):
    """Ends a run that cannot prove that it has no race; no user sees it."""


class Owners(NamedTuple):
    """The states of the elements in one stretch of memory.

    - `low`, `high`: address of the first byte, and of the one behind the last.
    - `itemsize`: bytes of an element.
    - `states`: one for each element.
    """

    low: int
    high: int
    itemsize: int
    states: array[int]


def owners_of(spans: Iterable[tuple[int, int, int]], most: int) -> list[Owners] | None:
    """Return the states of the memory of some arrays; `None` if they are more than `most`.

    - `spans`: of each array the address of the first byte and of the one behind the last, and the bytes of an element.
      Arrays that share memory have elements of one size.
    - `most`: how many elements there may be.
    """
    stretches: list[tuple[int, int, int]] = []
    for low, high, itemsize in sorted(spans):
        if stretches and low < stretches[-1][1]:
            start, end, _ = stretches[-1]
            stretches[-1] = start, max(end, high), itemsize
        elif low < high:
            stretches.append((low, high, itemsize))
    if sum((high - low) // itemsize for low, high, itemsize in stretches) > most:
        return None
    return [Owners(*each, _untouched((each[1] - each[0]) // each[2])) for each in stretches]


class OwnershipMemory(ShadowMemory):
    """The owners of the elements of one memory.

    - `clock`: knows which work-item runs.
    - `space`: ``"global"`` or ``"local"``.
    - `finds_unwritten`: whether a read of what nobody wrote is looked for.
    - `owners`: of the memory that is followed; the run ends at an access to other memory.
    """

    __slots__ = ("owners",)

    def __init__(self, clock: ScheduleState, space: str, finds_unwritten: bool, owners: list[Owners]) -> None:
        super().__init__(clock, space, True, finds_unwritten)
        self.owners = owners

    def clear(self) -> None:
        for each in self.owners:
            each.states[:] = _untouched(len(each.states))

    def owners_at(self, address: int, itemsize: int) -> Owners | None:
        """Return the owners of the elements around an address, if they are of this size."""
        for each in self.owners:
            if each.low <= address < each.high and each.itemsize == itemsize:
                return each
        return None

    @property
    def touched(self) -> int:
        return sum(int(np.count_nonzero(_numbers(each) != UNTOUCHED)) for each in self.owners)

    def written_addresses(self) -> Set[int]:
        return self._addresses(lambda states: states < UNTOUCHED)

    def read_addresses(self) -> Set[int]:
        return self._addresses(lambda states: states > UNTOUCHED)

    def _addresses(self, are_wanted: Callable[[np.ndarray[Any, Any]], np.ndarray[Any, Any]]) -> Set[int]:
        found: set[int] = set()
        for each in self.owners:
            positions = np.flatnonzero(are_wanted(_numbers(each)))
            found.update((positions * each.itemsize + each.low).tolist())
        return found

    def note_read(self, address: int, array: AccessedArray, index: Any, frame: FrameType) -> None:
        states, position = self._state(address, array)
        state, uid = states[position], self.clock.uid
        if state == uid or state == -2 - uid or state == SHARED:
            return
        if state < UNTOUCHED or (array.starts_unwritten and self._may_be_unwritten(address)):
            raise UnprovenError
        states[position] = uid if state == UNTOUCHED else SHARED

    def note_write(
        self, address: int, array: AccessedArray, index: Any, frame: FrameType, value: Any
    ) -> AccessRecord | None:
        states, position = self._state(address, array)
        state, uid = states[position], self.clock.uid
        if state not in (UNTOUCHED, uid, -2 - uid):
            raise UnprovenError
        states[position] = -2 - uid
        return None

    def _state(self, address: int, array: AccessedArray) -> tuple[array[int], int]:
        owners = self.owners_at(address, array.itemsize)
        if owners is None:
            raise UnprovenError
        return owners.states, (address - owners.low) // owners.itemsize

    def _may_be_unwritten(self, address: int) -> bool:
        if not self._tracks_unwritten or address in self.initialised:
            return False
        return self.marked is None or address in self.marked


def _untouched(count: int) -> array[int]:
    return array("i", b"\xff\xff\xff\xff" * count)


def _numbers(owners: Owners) -> np.ndarray[Any, np.dtype[np.int32]]:
    return np.frombuffer(owners.states, np.int32)
