"""Unordered accesses in kernels with atomics, fences or sub-groups: each access of each work-item counts.

Where only the barriers of work-groups order memory, two accesses of an element are enough to be kept
(`kapi_sim.checks.races`).  Here two work-items of one phase may or may not be ordered, so the latest
access of each kind by each work-item is.

A plain write that comes after all that is recorded of its element stands for that: who is ordered after
the write is ordered after the rest, and who is not, races the write.  Only a write of the same value is
forgiven, so what such a write would race is kept behind it.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import Any

from kapi_sim.checks.benign_races import is_same
from kapi_sim.checks.happens_before import HappensBefore
from kapi_sim.checks.hints import Hint
from kapi_sim.checks.races import VALUE, WORK_ITEM, Access, AccessedArray, ShadowMemory
from kapi_sim.items.schedule_state import ScheduleState
from kapi_sim.language.intrinsics.memory import MemoryOrder, MemoryScope
from kapi_sim.language.source import line_of

__all__ = ["CrossGroupReads", "HappensBeforeShadowMemory"]

CrossGroupReads = tuple[Access, Access]
"""An atomic read, and the write by a work-item of another group that it reads."""

_NO_GROUP = -1
_MIXED_WIDTHS = -1


@dataclass(slots=True)
class _Accesses:
    """The latest accesses of each work-item to one element.

    - `reads`, `writes`: plain ones, by work-item.
    - `atomics`: by work-item, scope, width and whether it writes: the access, whether it writes, and its scope.
    """

    reads: dict[int, Access] = field(default_factory=dict)
    writes: dict[int, Access] = field(default_factory=dict)
    atomics: dict[int, tuple[Access, bool, int]] = field(default_factory=dict)


class _Cell:
    """The earlier accesses to one element that a later one may race.

    - `now`: from the latest write on that came after all others.  The writes among them all store one value.
    - `behind`: those before it, but for writes of that value.
    - `latest`: one of the writes.
    - `group`, `epoch`: of all accesses, or `_NO_GROUP`; of the latest one.
    - `narrowest`, `width`: of the atomics, the narrowest scope; bytes of their elements, or `_MIXED_WIDTHS`.
    """

    __slots__ = ("behind", "epoch", "group", "latest", "narrowest", "now", "width")

    def __init__(self, group: int) -> None:
        self.group = group
        self.epoch = 0
        self.restart()

    def restart(self) -> None:
        """Forget all accesses."""
        self.now = _Accesses()
        self.behind: _Accesses | None = None
        self.latest: Access | None = None
        self.narrowest: int = MemoryScope.SYSTEM
        self.width = 0

    def begin(self, write: Access) -> None:
        """Let a write that came after all others stand for them."""
        now, behind, latest = self.now, self.behind, self.latest
        if latest is not None and behind is not None and is_same(write.array, write.value, latest.array, latest.value):
            behind.reads.update(now.reads)
            behind.atomics.update(now.atomics)
        elif now.reads or now.atomics or now.writes:
            if latest is not None and is_same(write.array, write.value, latest.array, latest.value):
                now.writes = {}
            self.behind = now
        self.now = _Accesses(writes={write.work_item: write})
        self.latest = write
        self.narrowest = MemoryScope.SYSTEM
        self.width = 0


class HappensBeforeShadowMemory(ShadowMemory):
    """The accesses to one memory, in a launch whose memory is not ordered by barriers alone.

    - `clock`: knows which work-item runs, and in which epoch.
    - `space`: ``"global"`` or ``"local"``.
    - `finds_races`, `finds_unwritten`: what is searched for.
    - `ordering`: what atomics, fences and sub-groups order.
    - `hears`: whether to take note of what work-items read of other groups.
    - `heard`: by group, and by code and instruction of the reads, the latest of these.
    """

    __slots__ = ("_cells", "_ordering", "_relaxed", "observed", "observes_others")

    def __init__(
        self, clock: ScheduleState, space: str, finds_races: bool, finds_unwritten: bool, ordering: HappensBefore
    ) -> None:
        super().__init__(clock, space, finds_races, finds_unwritten)
        self._cells: dict[int, _Cell] = {}
        self._ordering = ordering
        self._relaxed: dict[int, Access] = {}
        self.observes_others = False
        self.observed: dict[int, dict[tuple[CodeType, int], CrossGroupReads]] = {}

    def clear(self) -> None:
        super().clear()
        self._cells.clear()
        self.observed = {}

    def set_aside(self) -> object:
        kept = self._cells, super().set_aside()
        self._cells = {}
        return kept

    def resume(self, kept: Any) -> None:
        self._cells, others = kept
        super().resume(others)

    @property
    def touched(self) -> int:
        return len(self._cells)

    def read_addresses(self) -> Set[int]:
        return {address for address, cell in self._cells.items() if cell.now.reads}

    def atomic_addresses(self) -> Set[int]:
        return {
            address
            for address, cell in self._cells.items()
            if not cell.now.writes and any(writes for _, writes, _ in cell.now.atomics.values())
        }

    def recorded_reads(self) -> Iterator[tuple[int, Access]]:
        for address, cell in self._cells.items():
            for access in cell.now.reads.values():
                yield address, access
            for access, _, _ in cell.now.atomics.values():
                yield address, access

    def note_read(self, address: int, array: AccessedArray, index: Any, frame: FrameType) -> None:
        if array.starts_unwritten and self._tracks_unwritten and address not in self.writes:
            self._note_unwritten(address, array, index, frame)
        if not self.finds_races:
            return
        clock = self.clock
        uid, epoch = clock.uid, clock.epoch
        cell = self._cell(address)
        now = cell.now
        if not self._is_settled(cell):
            for write in now.writes.values():
                if self._is_unordered(write):
                    self._fail(write, "wrote", "read", array, index, frame)
            for access, writes, _ in now.atomics.values():
                if writes and self._is_unordered(access):
                    self._fail(access, _atomically(True), "read", array, index, frame, _MIXED)
        if self.disputed:
            self._require_undisputed(address, frame)
        tick = self._ordering.tick(uid)
        known = now.reads.get(uid)
        if known is None or known.epoch != epoch or known.release != tick:
            now.reads[uid] = Access(uid, epoch, frame.f_code, frame.f_lasti, array, index, None, None, tick, None)
        self._touch(cell)

    def note_write(self, address: int, array: AccessedArray, index: Any, frame: FrameType, value: Any) -> Access | None:
        clock = self.clock
        uid = clock.uid
        tick = self._ordering.tick(uid)
        access = Access(uid, clock.epoch, frame.f_code, frame.f_lasti, array, index, None, None, tick, value)
        latest = self.writes.get(address)
        if latest is None or (latest[VALUE] is not value and latest[VALUE] != value):
            self.changes += 1
        self.writes[address] = access
        if not self.finds_races:
            return None
        self.disputed.pop(address, None)
        cell = self._cell(address)
        equal: Access | None = None
        if self._is_settled(cell):
            if self.space == "local":
                cell.restart()
        else:
            self._check_write(cell.now, access, address, frame)
            for write in cell.now.writes.values():
                if self._is_unordered(write):
                    equal = write
                    break
        if equal is None:
            cell.begin(access)
        else:
            if cell.behind is not None:
                self._check_write(cell.behind, access, address, frame)
            cell.now.writes[uid] = cell.latest = access
        self._touch(cell)
        return equal

    def _check_write(self, accesses: _Accesses, write: Access, address: int, frame: FrameType) -> None:
        """Raise for what a plain write races."""
        array, index = write.array, write.index
        for read in accesses.reads.values():
            if self._is_unordered(read):
                self._fail(read, "read", "wrote", array, index, frame)
        for access, writes, _ in accesses.atomics.values():
            if self._is_unordered(access):
                self._fail(access, _atomically(writes), "wrote", array, index, frame, _MIXED)
        for other in accesses.writes.values():
            if self._is_unordered(other) and not is_same(array, write.value, other.array, other.value):
                self._fail_unless_harmless(other, address, array, index, frame)

    def note_atomic(
        self,
        address: int,
        array: AccessedArray,
        index: Any,
        frame: FrameType,
        reads: bool,
        writes: bool,
        changes: bool,
        order: int,
        scope: int,
    ) -> None:
        """Record an atomic operation of the running work-item.

        - `address`: of the element.
        - `index`: the element.
        - `frame`: where the kernel stands.
        - `reads`, `writes`: what the operation does.
        - `changes`: whether the element holds something else afterwards.
        - `order`: as the AtomicRef has it.
        - `scope`: as the AtomicRef has it.

        Raises `DataRaceError` if an unordered plain access was recorded, or an atomic one out of scope.
        """
        if reads and array.starts_unwritten and self._tracks_unwritten and address not in self.writes:
            self._note_unwritten(address, array, index, frame)
        clock = self.clock
        uid = clock.uid
        tick = self._ordering.tick(uid)
        access = Access(uid, clock.epoch, frame.f_code, frame.f_lasti, array, index, None, None, tick, None)
        if reads and self.observes_others:
            write = self.writes.get(address)
            group = clock.group_of(uid)
            if write is not None and clock.group_of(write[WORK_ITEM]) != group:
                self.observed.setdefault(group, {})[(access.code, access.instruction)] = access, Access(*write)
        self.changes += changes
        if writes:
            self.writes[address] = access
        if not self.finds_races:
            return
        if reads and self.disputed:
            self._require_undisputed(address, frame)
        does = _atomically(writes)
        cell = self._cell(address)
        now = cell.now
        if not self._is_settled(cell):
            for write in now.writes.values():
                if self._is_unordered(write):
                    self._fail(write, "wrote", does, array, index, frame, _MIXED)
            if writes:
                for read in now.reads.values():
                    if self._is_unordered(read):
                        self._fail(read, "read", does, array, index, frame, _MIXED)
            if cell.width not in (0, array.itemsize):
                self._check_widths(now, array, index, frame, writes)
            if min(scope, cell.narrowest) < MemoryScope.DEVICE and not self._are_of_one_group(cell, scope):
                self._check_scopes(now, array, index, frame, writes, scope)
        elif self.space == "local":
            cell.restart()
            now = cell.now
        # What a work-item does in another scope or width, or without a change, does not stand for this.
        now.atomics[((uid * 8 + scope) * 16 + array.itemsize) * 2 + writes] = access, writes, scope
        cell.narrowest = min(cell.narrowest, scope)
        cell.width = array.itemsize if cell.width in (0, array.itemsize) else _MIXED_WIDTHS
        if order == MemoryOrder.RELAXED:
            self._relaxed[uid] = access
        self._touch(cell)

    def _check_widths(self, now: _Accesses, array: AccessedArray, index: Any, frame: FrameType, writes: bool) -> None:
        for access, has_written, _ in now.atomics.values():
            width, other = array.itemsize, access.array.itemsize
            if width != other and (writes or has_written) and self._is_unordered(access):
                hint = f"atomics of {other} and of {width} bytes are not atomic for each other: use one dtype"
                self._fail(access, _atomically(has_written), _atomically(writes), array, index, frame, hint)

    def _check_scopes(
        self, now: _Accesses, array: AccessedArray, index: Any, frame: FrameType, writes: bool, scope: int
    ) -> None:
        uid = self.clock.uid
        for access, has_written, other in now.atomics.values():
            narrow = min(scope, other)
            if not (writes or has_written) or self._ordering.is_in_scope(uid, access.work_item, narrow):
                continue
            if self._is_unordered(access):
                name = MemoryScope(narrow).name
                hint = (
                    f"memory_scope {name} does not hold both work-items, so neither access is atomic for the other: "
                    "use MemoryScope.DEVICE" + (", or WORK_GROUP within a group" if name != "WORK_GROUP" else "")
                )
                self._fail(access, _atomically(has_written), _atomically(writes), array, index, frame, hint)

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
        """Return whether a barrier of the running group comes after all that is recorded."""
        clock = self.clock
        return cell.epoch < clock.epoch and cell.group == clock.group_of(clock.uid)

    def _are_of_one_group(self, cell: _Cell, scope: int) -> bool:
        is_wide = min(scope, cell.narrowest) >= MemoryScope.WORK_GROUP
        return is_wide and cell.group == self.clock.group_of(self.clock.uid)

    def _is_unordered(self, access: Access) -> bool:
        clock = self.clock
        if access.work_item == clock.uid or clock.group_start <= access.epoch < clock.epoch:
            return False
        return not self._ordering.is_known(access.work_item, access.release, access.epoch)

    def _hint(self, earlier: Access, frame: FrameType, both_write: bool) -> Hint:
        hint = super()._hint(earlier, frame, both_write)
        one, other = earlier.work_item, self.clock.uid
        if one not in self._relaxed or other not in self._relaxed:
            return hint
        first, second = (line_of(*self._relaxed[uid][2:4]) for uid in (one, other))
        ordering = self._ordering
        fences = [fence for fence in (ordering.released(one), ordering.acquired(other)) if fence is not None]
        narrow = [fence for fence in fences if not ordering.is_in_scope(one, other, fence.scope)]
        more = ""
        if narrow:
            more = (
                f"\n  the atomic_fence at line {narrow[0].line} has memory_scope {MemoryScope(narrow[0].scope).name}, "
                "which does not hold both work-items: make it MemoryScope.DEVICE"
            )
        elif len(fences) == 2 and earlier.release >= ordering.tick(one):
            more = (
                f"\n  the fences at lines {fences[0].line} and {fences[1].line} order what comes before the atomic at "
                f"line {first}, and line {line_of(earlier.code, earlier.instruction)} comes after it: move it "
                "before the fence"
            )
        elif len(fences) < 2:
            more = (
                f"\n  the RELAXED atomics at lines {first} and {second} order nothing but themselves: write with "
                "MemoryOrder.RELEASE and read with ACQUIRE, or put an atomic_fence before the one and after the other"
            )
        return hint._replace(text=hint.text + more)


_MIXED = (
    "an atomic access does not order plain ones: use an AtomicRef for both, or order them with a `group_barrier` "
    "within a group or two launches between groups"
)


def _atomically(writes: bool) -> str:
    """The operation of an atomic access, in the words of reports."""
    return "changed atomically" if writes else "read atomically"
