"""Unordered accesses to one element, and the record of accesses by which they are found.

For each element that a launch touches, the latest write and the readers since are kept, by address:
memory grows with what is touched, and two views of one buffer meet.  Work-groups run one after the
other, so of the accesses of earlier groups one reader and the latest writer are enough.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from types import CodeType, FrameType
from typing import Any, NoReturn, Protocol

from kapi_sim.checks.bounds import spell
from kapi_sim.checks.cures import cure_of_race
from kapi_sim.clock import Clock
from kapi_sim.errors import BenignRaceWarning, DataRaceError
from kapi_sim.source import Site, site_of

__all__ = ["Access", "AccessedArray", "Trail"]


class AccessedArray(Protocol):
    """What a record keeps of an array: the name that the kernel has for it."""

    name: str
    starts_unwritten: bool

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        ...

    def peek(self, index: Any) -> Any:
        """Return what the element holds, without an access of a work-item."""
        ...


# Work-item, epoch, code and instruction, array, index, and two earlier accesses that still count:
# one of the same epoch by another work-item, and one of an earlier group.  Last, how often the
# work-item had released before; 0 where no atomics order memory.
Access = tuple[int, int, CodeType, int, AccessedArray, Any, "Access | None", "Access | None", int]


class Trail:
    """The accesses to one memory: global memory for a launch, local memory for a group.

    Parameters
    ----------
    clock : Clock
        Tells which work-item runs, and in which epoch.
    space : str
        ``"global"`` or ``"local"``.
    finds_races, finds_unwritten : bool
        What to look for.

    Attributes
    ----------
    changes : int
        How many writes were recorded.
    finds_races : bool
        As given.
    initialised : set of int
        Addresses that were written before, whatever array they are of.
    """

    __slots__ = (
        "_is_silent",
        "_tracks_unwritten",
        "changes",
        "clock",
        "finds_races",
        "initialised",
        "notes",
        "reads",
        "space",
        "unwritten",
        "writes",
    )

    def __init__(self, clock: Clock, space: str, finds_races: bool, finds_unwritten: bool) -> None:
        self.clock = clock
        self.space = space
        self.reads: dict[int, Access] = {}
        self.writes: dict[int, Access] = {}
        self.unwritten: dict[int, Access] = {}
        self.changes = 0
        self.initialised: set[int] = set()
        self.notes: dict[tuple[Site, Site], str] = {}
        self.finds_races = finds_races
        self._tracks_unwritten = finds_unwritten

    def clear(self) -> None:
        """Forget all accesses: the memory is fresh."""
        self.reads.clear()
        self.writes.clear()
        self.unwritten.clear()

    @property
    def touched(self) -> int:
        """Distinct elements whose accesses were recorded."""
        return len(self.reads.keys() | self.writes.keys())

    def recorded_reads(self) -> Iterator[tuple[int, Access]]:
        """Yield the reads that are kept, each with its address."""
        for address, read in self.reads.items():
            yield address, read
            if read[6] is not None:
                yield address, read[6]

    def _note_unwritten(self, address: int, array: AccessedArray, index: Any, frame: FrameType) -> None:
        if address in self.unwritten or address in self.initialised:
            return
        if array.starts_unwritten:
            clock = self.clock
            self.unwritten[address] = (
                clock.uid,
                clock.epoch,
                frame.f_code,
                frame.f_lasti,
                array,
                index,
                None,
                None,
                0,
            )

    def note_read(self, address: int, array: AccessedArray, index: Any, frame: FrameType) -> None:
        """Record a read by the running work-item.

        Raises
        ------
        DataRaceError
            If an unordered write was recorded.
        """
        clock = self.clock
        uid = clock.uid
        epoch = clock.epoch
        start = clock.group_start
        write = self.writes.get(address)
        if write is None:
            if self._tracks_unwritten:
                self._note_unwritten(address, array, index, frame)
        elif self.finds_races:
            if write[0] != uid and (write[1] == epoch or write[1] < start):
                self._fail(write, "wrote", "read", array, index, frame)
            for other in write[6:8]:
                if other is not None and other[0] != uid and (other[1] == epoch or other[1] < start):
                    self._fail(other, "wrote", "read", array, index, frame)
        if not self.finds_races:
            return
        read = self.reads.get(address)
        if read is None:
            self.reads[address] = (uid, epoch, frame.f_code, frame.f_lasti, array, index, None, None, 0)
        elif read[1] == epoch:
            if read[0] != uid and read[6] is None:
                second = (uid, epoch, frame.f_code, frame.f_lasti, array, index, None, None, 0)
                self.reads[address] = (*read[:6], second, read[7], 0)
        else:
            foreign = read[7] or (read if read[1] < start else None)
            self.reads[address] = (uid, epoch, frame.f_code, frame.f_lasti, array, index, None, foreign, 0)

    def note_write(self, address: int, array: AccessedArray, index: Any, frame: FrameType) -> Access | None:
        """Record a write by the running work-item, and return an unordered write to judge by value.

        Raises
        ------
        DataRaceError
            If an unordered read was recorded.
        """
        self.changes += 1
        clock = self.clock
        uid = clock.uid
        epoch = clock.epoch
        start = clock.group_start
        conflict: Access | None = None
        if self.finds_races:
            read = self.reads.get(address)
            if read is not None:
                if read[0] != uid and (read[1] == epoch or read[1] < start):
                    self._fail(read, "read", "wrote", array, index, frame)
                second = read[6]
                if second is not None and second[0] != uid and read[1] == epoch:
                    self._fail(second, "read", "wrote", array, index, frame)
                if read[7] is not None:
                    self._fail(read[7], "read", "wrote", array, index, frame)
            write = self.writes.get(address)
            if write is not None:
                if write[0] != uid and (write[1] == epoch or write[1] < start):
                    conflict = write
                else:
                    # What an earlier writer of equal values left still counts for later readers.
                    conflict = next(
                        (w for w in write[6:8] if w is not None and w[0] != uid and (w[1] == epoch or w[1] < start)),
                        None,
                    )
        kept = None if conflict is None else (*conflict[:6], None, None, 0)
        self.writes[address] = (uid, epoch, frame.f_code, frame.f_lasti, array, index, kept, None, 0)
        return conflict

    def fail_write(self, earlier: Access, array: AccessedArray, index: Any, frame: FrameType) -> NoReturn:
        """Raise for two unordered writes of different values."""
        self._fail(earlier, "wrote", "wrote", array, index, frame)

    def note_benign(self, earlier: Access, array: AccessedArray, index: Any, frame: FrameType) -> None:
        """Warn of two unordered writes of equal values, once for each pair of lines."""
        first, second = site_of(earlier[2], earlier[3]), site_of(frame.f_code, frame.f_lasti)
        if (first, second) in self.notes:
            return
        text = (
            f"benign race on {spell(array.name, index)} ({self.space} memory): work-items that nothing "
            "orders "
            f"wrote equal values\n  {self.clock.describe(earlier[0])} at {first}"
            f"\n  {self.clock.describe()} at {second}"
            "\n  let one work-item write it, or silence the note with warnings.filterwarnings('ignore', "
            "category=kapi_sim.errors.BenignRaceWarning)"
        )
        self.notes[first, second] = text
        warnings.warn(text, BenignRaceWarning, stacklevel=2)

    def _fail(
        self,
        earlier: Access,
        did: str,
        does: str,
        array: AccessedArray,
        index: Any,
        frame: FrameType,
        cure: str | None = None,
    ) -> NoReturn:
        first, second = site_of(earlier[2], earlier[3]), site_of(frame.f_code, frame.f_lasti)
        what = "written twice, with different values," if did == does == "wrote" else "read and written"
        if did.endswith("atomically") and does.endswith("atomically"):
            is_one_width = array.itemsize == earlier[4].itemsize
            what = "used in too narrow a scope" if is_one_width else "used in two widths"
        elif did.endswith("atomically") or does.endswith("atomically"):
            what = "used atomically and plainly"
        raise DataRaceError(
            f"data race on {spell(array.name, index)} ({self.space} memory): "
            f"the element is {what} by work-items that nothing orders\n"
            f"  {self.clock.describe(earlier[0])} {did} {spell(earlier[4].name, earlier[5])} at {first}\n"
            f"  {self.clock.describe()} {does} {spell(array.name, index)} at {second}\n"
            f"  {cure or self._cure(earlier, (frame.f_code, frame.f_lasti), did == does)}"
        )

    def _cure(self, earlier: Access, later: tuple[CodeType, int], both_write: bool) -> str:
        is_of_group = earlier[1] >= self.clock.group_start
        return cure_of_race(self.clock, earlier[2:4], later, is_of_group, both_write)
