"""Unordered accesses in kernels with atomics, fences or sub-groups: each access of each work-item counts.

Where only the barriers of work-groups order memory, two accesses of an element are enough to be kept
(`kapi_sim.checks.races`).  Here two work-items of one phase may or may not be ordered, so the latest
access of each is.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import CodeType, FrameType
from typing import Any

from kapi_sim.checks.ordering import Ordering
from kapi_sim.checks.races import Access, AccessedArray, Trail
from kapi_sim.clock import Clock
from kapi_sim.source import line_of
from kapi_sim.spec.memory import MemoryOrder, MemoryScope

__all__ = ["OrderedTrail"]

_NO_GROUP = -1


class _Cell:
    """The accesses to one element that a later one may race."""

    __slots__ = ("atomics", "epoch", "equal", "group", "narrowest", "reads", "write")

    def __init__(self, group: int) -> None:
        self.reads: dict[int, Access] = {}
        self.atomics: dict[int, tuple[Access, bool, int, int]] = {}
        self.write: Access | None = None
        self.equal: Access | None = None
        self.group = group
        self.epoch = 0
        self.narrowest: int = MemoryScope.SYSTEM


class OrderedTrail(Trail):
    """The accesses to one memory, in a launch whose memory is not ordered by barriers alone.

    Parameters
    ----------
    clock : Clock
        Tells which work-item runs, and in which epoch.
    space : str
        ``"global"`` or ``"local"``.
    finds_races, finds_unwritten : bool
        What to look for.
    ordering : Ordering
        What atomics, fences and sub-groups order.
    """

    __slots__ = ("_cells", "_loads", "_ordering", "_relaxed")

    def __init__(self, clock: Clock, space: str, finds_races: bool, finds_unwritten: bool, ordering: Ordering) -> None:
        super().__init__(clock, space, finds_races, finds_unwritten)
        self._cells: dict[int, _Cell] = {}
        self._ordering = ordering
        self._relaxed: dict[int, Access] = {}
        self._loads: dict[int, tuple[int, Access]] = {}

    def clear(self) -> None:
        super().clear()
        self._cells.clear()
        self._loads.clear()

    def latest_load(self) -> tuple[Access, Access | None] | None:
        """Return the running work-item's latest atomic load, and what wrote the element last in this launch."""
        found = self._loads.get(self.clock.uid)
        return None if found is None else (found[1], self.writes.get(found[0]))

    @property
    def touched(self) -> int:
        return len(self._cells)

    def recorded_reads(self) -> Iterator[tuple[int, Access]]:
        for address, cell in self._cells.items():
            for access in cell.reads.values():
                yield address, access
            for access, _, _, _ in cell.atomics.values():
                yield address, access

    def note_read(self, address: int, array: AccessedArray, index: Any, frame: FrameType) -> None:
        if self._tracks_unwritten and address not in self.writes:
            self._note_unwritten(address, array, index, frame)
        if not self.finds_races:
            return
        clock = self.clock
        uid, epoch = clock.uid, clock.epoch
        cell = self._cell(address)
        if not self._is_settled(cell):
            for write in (cell.write, cell.equal):
                if write is not None and self._is_unordered(write):
                    self._fail(write, "wrote", "read", array, index, frame)
            for access, writes, _, _ in cell.atomics.values():
                if writes and self._is_unordered(access):
                    self._fail(access, "changed atomically", "read", array, index, frame, _MIXED)
        tick = self._ordering.tick(uid)
        known = cell.reads.get(uid)
        if known is None or known[1] != epoch or known[8] != tick:
            cell.reads[uid] = (uid, epoch, frame.f_code, frame.f_lasti, array, index, None, None, tick)
        self._touch(cell)

    def note_write(self, address: int, array: AccessedArray, index: Any, frame: FrameType) -> Access | None:
        self.changes += 1
        clock = self.clock
        uid = clock.uid
        access = (uid, clock.epoch, frame.f_code, frame.f_lasti, array, index, None, None, self._ordering.tick(uid))
        self.writes[address] = access
        if not self.finds_races:
            return None
        cell = self._cell(address)
        conflict: Access | None = None
        if not self._is_settled(cell):
            for read in cell.reads.values():
                if self._is_unordered(read):
                    self._fail(read, "read", "wrote", array, index, frame)
            for other, writes, _, _ in cell.atomics.values():
                if self._is_unordered(other):
                    did = _atomically(writes)
                    self._fail(other, did, "wrote", array, index, frame, _MIXED)
            for write in (cell.write, cell.equal):
                if write is not None and self._is_unordered(write):
                    conflict = write
        cell.reads.clear()
        cell.atomics.clear()
        cell.narrowest = MemoryScope.SYSTEM
        cell.equal = conflict
        cell.write = access
        self._touch(cell)
        return conflict

    def note_atomic(
        self,
        address: int,
        array: AccessedArray,
        index: Any,
        frame: FrameType,
        reads: bool,
        writes: bool,
        order: int,
        scope: int,
    ) -> None:
        """Record an atomic operation of the running work-item.

        Parameters
        ----------
        address : int
            Of the element.
        array : AccessedArray
            The array.
        index : object
            The element.
        frame : frame
            Where the kernel stands.
        reads, writes : bool
            What the operation does.
        order : MemoryOrder
            As the AtomicRef has it.
        scope : MemoryScope
            As the AtomicRef has it.

        Raises
        ------
        DataRaceError
            If an unordered plain access was recorded, or an atomic one out of scope.
        """
        if reads and self._tracks_unwritten and address not in self.writes:
            self._note_unwritten(address, array, index, frame)
        clock = self.clock
        uid = clock.uid
        tick = self._ordering.tick(uid)
        access = (uid, clock.epoch, frame.f_code, frame.f_lasti, array, index, None, None, tick)
        if writes:
            self.changes += 1
            self.writes[address] = access
        else:
            self._loads[uid] = address, access
        if not self.finds_races:
            return
        does = _atomically(writes)
        cell = self._cell(address)
        if not self._is_settled(cell):
            for write in (cell.write, cell.equal):
                if write is not None and self._is_unordered(write):
                    self._fail(write, "wrote", does, array, index, frame, _MIXED)
            if writes:
                for read in cell.reads.values():
                    if self._is_unordered(read):
                        self._fail(read, "read", does, array, index, frame, _MIXED)
            self._check_widths(cell, array, index, frame, writes)
            if min(scope, cell.narrowest) < MemoryScope.DEVICE and not self._are_of_one_group(cell, scope):
                self._check_scopes(cell, array, index, frame, writes, scope)
        known = cell.atomics.get(uid)
        has_written = writes or (known is not None and known[1])
        # A narrow load conflicts with the others' writes alone, so the writes' scope is kept apart.
        narrowest, of_writes = (scope, MemoryScope.SYSTEM) if known is None else (min(scope, known[2]), known[3])
        cell.atomics[uid] = access, has_written, narrowest, min(scope, of_writes) if writes else of_writes
        cell.narrowest = min(cell.narrowest, scope)
        if order == MemoryOrder.RELAXED:
            self._relaxed[uid] = access
        self._touch(cell)

    def _check_widths(self, cell: _Cell, array: AccessedArray, index: Any, frame: FrameType, writes: bool) -> None:
        for access, has_written, _, _ in cell.atomics.values():
            width, other = array.itemsize, access[4].itemsize
            if width != other and (writes or has_written) and self._is_unordered(access):
                cure = f"atomics of {other} and of {width} bytes are not atomic for each other: use one dtype"
                self._fail(access, _atomically(has_written), _atomically(writes), array, index, frame, cure)

    def _check_scopes(
        self, cell: _Cell, array: AccessedArray, index: Any, frame: FrameType, writes: bool, scope: int
    ) -> None:
        uid = self.clock.uid
        for access, has_written, narrowest, of_writes in cell.atomics.values():
            narrow = min(scope, narrowest if writes else of_writes)
            if not (writes or has_written) or self._ordering.meets(uid, access[0], narrow):
                continue
            if self._is_unordered(access):
                name = MemoryScope(narrow).name
                cure = (
                    f"memory_scope {name} does not hold both work-items, so neither access is atomic for the other: "
                    "use MemoryScope.DEVICE" + (", or WORK_GROUP within a group" if name != "WORK_GROUP" else "")
                )
                self._fail(access, _atomically(has_written), _atomically(writes), array, index, frame, cure)

    def _cell(self, address: int) -> _Cell:
        cell = self._cells.get(address)
        if cell is None:
            cell = self._cells[address] = _Cell(self.clock.group_of(self.clock.uid))
        return cell

    def _touch(self, cell: _Cell) -> None:
        clock = self.clock
        if cell.group != clock.group_of(clock.uid):
            cell.group = _NO_GROUP
        cell.epoch = clock.epoch

    def _is_settled(self, cell: _Cell) -> bool:
        """Tell whether a barrier of the running group comes after all that is recorded."""
        clock = self.clock
        return cell.epoch < clock.epoch and cell.group == clock.group_of(clock.uid)

    def _are_of_one_group(self, cell: _Cell, scope: int) -> bool:
        is_wide = min(scope, cell.narrowest) >= MemoryScope.WORK_GROUP
        return is_wide and cell.group == self.clock.group_of(self.clock.uid)

    def _is_unordered(self, access: Access) -> bool:
        clock = self.clock
        if access[0] == clock.uid or clock.group_start <= access[1] < clock.epoch:
            return False
        return not self._ordering.is_known(access[0], access[8], access[1])

    def _cure(self, earlier: Access, later: tuple[CodeType, int], both_write: bool) -> str:
        cure = super()._cure(earlier, later, both_write)
        both = [self._relaxed[uid] for uid in (earlier[0], self.clock.uid) if uid in self._relaxed]
        if len(both) == 2:
            lines = [line_of(access[2], access[3]) for access in both]
            cure += (
                f"\n  the RELAXED atomics at lines {lines[0]} and {lines[1]} order nothing but themselves: write with "
                "MemoryOrder.RELEASE and read with ACQUIRE, or put an atomic_fence before the one and after the other"
            )
        return cure


_MIXED = (
    "an atomic access does not order plain ones: use an AtomicRef for both, or order them with a `group_barrier` "
    "within a group or two launches between groups"
)


def _atomically(writes: bool) -> str:
    """What an atomic access does, in the words of reports."""
    return "changed atomically" if writes else "read atomically"
