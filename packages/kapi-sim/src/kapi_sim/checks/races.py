"""Unordered accesses to one element, and the record of accesses by which they are found.

For each element that a launch touches, the latest write and the readers since are kept, by address:
memory grows with what is touched, and two views of one buffer alias.  Work-groups run one after the
other, so of the accesses of earlier groups one reader and the latest writer are enough.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Container, Iterator, Set
from types import CodeType, FrameType
from typing import Any, Final, NamedTuple, NoReturn, Protocol

from kapi_sim.checks.benign_races import is_same
from kapi_sim.checks.bounds import spell
from kapi_sim.checks.call_paths import called_at, path_of_frame, path_to
from kapi_sim.checks.hints import Barrier, Hint, race_hint
from kapi_sim.errors import BenignRaceWarning, DataRaceError
from kapi_sim.items.schedule_state import ScheduleState
from kapi_sim.language.source import SourceLocation, harmless_reason, source_location

__all__ = ["Access", "AccessedArray", "AccessRecord", "Race", "ShadowMemory", "VALUE", "WORK_ITEM"]


class AccessedArray(Protocol):
    """An array in a record of accesses: the name that the kernel has for it, and the type of its elements."""

    name: str
    kind: type[Any]
    starts_unwritten: bool

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        ...

    def peek(self, index: Any) -> Any:
        """Return what the element holds, without an access of a work-item."""
        ...


class Access(NamedTuple):
    """A recorded access.

    Of a group's writes, the latest is kept and one more: of the same epoch by another work-item, which has stored the
    same, or one that has stored something else. Two differing writes suffice: any later write conflicts with at least
    one of them, and who reads what two have written races one of them.

    - `work_item`, `epoch`: who accessed, and when.
    - `code`, `instruction`: the source location.
    - `array`, `index`: the element.
    - `same_group`, `other_group`: two earlier accesses that can still race: one of the running group, and one of an
      earlier group.
    - `release`: how often the work-item had released before; 0 where no atomics order memory.
    - `value`: the value that a write stored.
    """

    work_item: int
    epoch: int
    code: CodeType
    instruction: int
    array: AccessedArray
    index: Any
    same_group: AccessRecord | None
    other_group: AccessRecord | None
    release: int
    value: Any


AccessRecord = tuple[
    int, int, CodeType, int, AccessedArray, Any, "AccessRecord | None", "AccessRecord | None", int, Any
]
"""The fields of an `Access` in a plain tuple, which is made faster: one is made for each access of a kernel."""

# Places of fields in a record, where one alone is read.
WORK_ITEM: Final = 0
_EPOCH: Final = 1
_ARRAY: Final = 4
_SAME_GROUP: Final = 6
_OTHER_GROUP: Final = 7
VALUE: Final = 9


class Race(NamedTuple):
    """The parts of a race that a picture needs besides the report.

    - `earlier`: the access that was recorded.
    - `did`: ``"read"``, ``"wrote"`` or what an atomic operation did.
    - `array`, `index`: the element, as the later access names it.
    - `barrier`: where a barrier is missing.
    """

    earlier: Access
    did: str
    array: AccessedArray
    index: Any
    barrier: Barrier | None


class ShadowMemory:
    """The accesses to one memory: global memory for a launch, local memory for a group.

    - `clock`: knows which work-item runs, and in which epoch.
    - `space`: ``"global"`` or ``"local"``.
    - `finds_races`, `finds_unwritten`: what is searched for.
    - `disputed`: by address, the races of writes whose authors call them harmless: so they are while nobody reads the
      element.
    - `changes`: how often memory was changed, as far as that is known: a write of what is there already is no change.
    - `initialised`: addresses that were written before, whatever array they are of.
    - `is_silent`: whether benign races are not warned of, for they were before.
    - `marked`: of arrays that start unwritten, the addresses that do; `None` for all.
    """

    __slots__ = (
        "_tracks_unwritten",
        "changes",
        "clock",
        "disputed",
        "finds_races",
        "initialised",
        "is_silent",
        "marked",
        "notes",
        "reads",
        "space",
        "unwritten",
        "writes",
    )

    def __init__(self, clock: ScheduleState, space: str, finds_races: bool, finds_unwritten: bool) -> None:
        self.clock = clock
        self.space = space
        self.reads: dict[int, AccessRecord] = {}
        self.writes: dict[int, AccessRecord] = {}
        self.unwritten: dict[int, AccessRecord] = {}
        self.disputed: dict[int, DataRaceError] = {}
        self.changes = 0
        self.initialised: set[int] = set()
        self.marked: Container[int] | None = None
        self.is_silent = False
        self.notes: dict[tuple[SourceLocation, SourceLocation], str] = {}
        self.finds_races = finds_races
        self._tracks_unwritten = finds_unwritten

    def clear(self) -> None:
        """Forget all accesses: the memory is fresh."""
        self.reads.clear()
        self.writes.clear()
        self.disputed.clear()
        self.unwritten.clear()

    def set_aside(self) -> object:
        """Start anew and in silence, and return what `resume` takes."""
        kept = self.reads, self.writes
        self.reads, self.writes, self.disputed = {}, {}, {}
        self.is_silent = True
        return kept

    def resume(self, kept: Any) -> None:
        """Go back to what was set aside."""
        self.reads, self.writes = kept
        self.is_silent = False

    @property
    def touched(self) -> int:
        """Distinct elements whose accesses were recorded."""
        return len(self.reads.keys() | self.writes.keys())

    def written_addresses(self) -> Set[int]:
        """Return the addresses of the elements that were written."""
        return self.writes.keys()

    def read_addresses(self) -> Set[int]:
        """Return the addresses of the elements that were read, and not written afterwards."""
        return self.reads.keys()

    def atomic_addresses(self) -> Set[int]:
        """Return the addresses of the elements that only atomics have changed."""
        return frozenset()

    def recorded_reads(self) -> Iterator[tuple[int, AccessRecord]]:
        """Yield the reads that are kept, each with its address."""
        for address, read in self.reads.items():
            yield address, read
            second = read[_SAME_GROUP]
            if second is not None:
                yield address, second

    def _note_unwritten(self, address: int, array: AccessedArray, index: Any, frame: FrameType) -> None:
        if address in self.unwritten or address in self.initialised:
            return
        if self.marked is None or address in self.marked:
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
                None,
            )

    def note_read(self, address: int, array: AccessedArray, index: Any, frame: FrameType) -> None:
        """Record a read by the running work-item.

        Raises `DataRaceError` if an unordered write was recorded.
        """
        clock = self.clock
        uid = clock.uid
        epoch = clock.epoch
        start = clock.group_start
        write = self.writes.get(address)
        if write is None:
            if array.starts_unwritten and self._tracks_unwritten:
                self._note_unwritten(address, array, index, frame)
            if address not in self.reads and self.finds_races:
                self.reads[address] = (uid, epoch, frame.f_code, frame.f_lasti, array, index, None, None, 0, None)
                return
        elif self.finds_races:
            # Unpacking is faster than attributes, and this is done for each access of a kernel.
            writer, written, _, _, _, _, same_group, other_group, _, _ = write
            if writer != uid and (written == epoch or written < start):
                self._fail(write, "wrote", "read", array, index, frame)
            if same_group is not None or other_group is not None:
                for other in (same_group, other_group):
                    if (
                        other is not None
                        and other[WORK_ITEM] != uid
                        and (other[_EPOCH] == epoch or other[_EPOCH] < start)
                    ):
                        self._fail(other, "wrote", "read", array, index, frame)
            if self.disputed:
                self._require_undisputed(address, frame)
        if not self.finds_races:
            return
        known = self.reads.get(address)
        same_group = other_group = None
        if known is not None:
            reader, when, _, _, _, _, same_group, other_group, _, _ = known
            if when == epoch:
                if reader != uid and same_group is None:
                    second = (uid, epoch, frame.f_code, frame.f_lasti, array, index, None, None, 0, None)
                    self.reads[address] = (*known[:6], second, other_group, 0, None)
                return
            other_group = other_group or (known if when < start else None)
        self.reads[address] = (uid, epoch, frame.f_code, frame.f_lasti, array, index, None, other_group, 0, None)

    def note_write(
        self, address: int, array: AccessedArray, index: Any, frame: FrameType, value: Any
    ) -> AccessRecord | None:
        """Record a write of `value` by the running work-item, and return an unordered one of the same value.

        Raises `DataRaceError` if an unordered read was recorded, or an unordered write of another value.
        """
        clock = self.clock
        uid = clock.uid
        epoch = clock.epoch
        write = self.writes.get(address)
        if write is None or (write[VALUE] is not value and write[VALUE] != value):
            self.changes += 1
        second: AccessRecord | None = None
        foreign: AccessRecord | None = None
        benign: AccessRecord | None = None
        if self.finds_races:
            read = self.reads.get(address)
            if read is not None:
                reader, when, _, _, _, _, other, other_group, _, _ = read
                if reader != uid and (when == epoch or when < clock.group_start):
                    self._fail(read, "read", "wrote", array, index, frame)
                if other is not None and other[WORK_ITEM] != uid and when == epoch:
                    self._fail(other, "read", "wrote", array, index, frame)
                if other_group is not None:
                    self._fail(other_group, "read", "wrote", array, index, frame)
            if write is not None:
                if self.disputed:
                    self.disputed.pop(address, None)
                second, foreign, benign = self._still_counting(write, address, array, index, frame, value)
        self.writes[address] = (uid, epoch, frame.f_code, frame.f_lasti, array, index, second, foreign, 0, value)
        return benign

    def _still_counting(
        self, write: AccessRecord, address: int, array: AccessedArray, index: Any, frame: FrameType, value: Any
    ) -> tuple[AccessRecord | None, AccessRecord | None, AccessRecord | None]:
        """Return what counts of earlier writes with a new one: of the group, of earlier groups, and unordered."""
        clock = self.clock
        uid, epoch = clock.uid, clock.epoch
        writer, written, _, _, its_array, _, other, foreign, _, stored = write
        if writer == uid and foreign is None and (other is None or other[WORK_ITEM] == uid):
            # Nobody else has written, as far as is known: most elements are one work-item's own.
            if array is its_array and value.__class__ is array.kind and value != stored and value == value:
                return (write if other is None else (*write[:6], None, None, 0, stored)), None, None
            return (other if is_same(array, value, its_array, stored) else _alone(write)), None, None
        second: AccessRecord | None = None
        unordered: list[AccessRecord] = []
        if written < clock.group_start:
            # What its own group knows of still earlier ones has stored the same.
            foreign = foreign or write
        elif written < epoch:
            # Ordered for this group; later groups, which local memory does not have, may race both.
            if self.space != "local":
                if other is not None and other[_EPOCH] == written and other[WORK_ITEM] != writer:
                    other = other[_SAME_GROUP]
                second = other if is_same(array, value, its_array, stored) else _alone(write)
        elif writer == uid:
            if other is not None and other[_EPOCH] == epoch and other[WORK_ITEM] != uid:
                unordered.append(other)
                second = other
            else:
                second = other if is_same(array, value, its_array, stored) else _alone(write)
        else:
            # Another work-item's of this phase, and whoever else it stands for.
            unordered.append(write)
            second = write
            if other is not None and other[_EPOCH] == epoch:
                if other[WORK_ITEM] != uid:
                    unordered.append(other)
                second = (*write[:6], other[_SAME_GROUP], None, 0, write[VALUE])
        earlier = foreign
        while earlier is not None:
            unordered.append(earlier)
            earlier = earlier[_SAME_GROUP]
        for each in unordered:
            if not is_same(array, value, each[_ARRAY], each[VALUE]):
                self._fail_unless_harmless(each, address, array, index, frame)
        return second, foreign, unordered[0] if unordered else None

    def note_benign(self, earlier: AccessRecord, array: AccessedArray, index: Any, frame: FrameType) -> None:
        """Warn of two unordered writes of equal values, once for each pair of lines; note those called harmless."""
        access = Access(*earlier)
        first, second = source_location(access.code, access.instruction), source_location(frame.f_code, frame.f_lasti)
        if self.is_silent or (first, second) in self.notes:
            return
        reason = _reason(earlier, frame)
        if reason:
            element = f"{spell(array.name, index)} ({self.space} memory) at {second.short}"
            text = f"harmless race on {element}, as the program says: {reason}"
            self.notes[first, second] = self.clock.in_words(text)
            return
        text = (
            f"benign race on {spell(array.name, index)} ({self.space} memory): work-items that nothing "
            "orders "
            f"wrote equal values\n  {self.clock.describe(access.work_item)} at {first}"
            f"\n  {self.clock.describe()} at {second}"
            "\n  let one work-item write it, or say why it is harmless in a comment at the line, "
            "`# kapi: harmless, ...`; or silence all such notes with warnings.filterwarnings('ignore', "
            "category=kapi_sim.errors.BenignRaceWarning)"
        )
        text = self.clock.in_words(text)
        self.notes[first, second] = text
        warnings.warn(text, BenignRaceWarning, stacklevel=2)

    def _fail_unless_harmless(
        self, record: AccessRecord, address: int, array: AccessedArray, index: Any, frame: FrameType
    ) -> None:
        """Raise for two unordered writes of different values, or keep the error for who reads what they wrote."""
        error = self._race(record, "wrote", "wrote", array, index, frame)
        if not _reason(record, frame):
            raise error
        self.disputed[address] = error

    def _require_undisputed(self, address: int, frame: FrameType) -> None:
        error = self.disputed.get(address)
        if error is not None:
            location = source_location(frame.f_code, frame.f_lasti)
            error.add_note(f"which is not harmless: {self.clock.describe()} reads the element at {location}")
            raise error

    def _fail(
        self,
        record: AccessRecord,
        did: str,
        does: str,
        array: AccessedArray,
        index: Any,
        frame: FrameType,
        hint: str | None = None,
    ) -> NoReturn:
        raise self._race(record, did, does, array, index, frame, hint)

    def _race(
        self,
        record: AccessRecord,
        did: str,
        does: str,
        array: AccessedArray,
        index: Any,
        frame: FrameType,
        hint: str | None = None,
    ) -> DataRaceError:
        earlier = Access(*record)
        first, second = source_location(earlier.code, earlier.instruction), source_location(frame.f_code, frame.f_lasti)
        what = "written twice, with different values," if did == does == "wrote" else "read and written"
        if did.endswith("atomically") and does.endswith("atomically"):
            is_one_width = array.itemsize == earlier.array.itemsize
            what = "used in too narrow a scope" if is_one_width else "used in two widths"
        elif did.endswith("atomically") or does.endswith("atomically"):
            what = "used atomically and plainly"
        calls = called_at(path_to(frame, earlier.code, earlier.instruction)), called_at(path_of_frame(frame))
        found = self._hint(earlier, frame, did == does) if hint is None else Hint(hint)
        names = [re.split(r"\W", each.name)[0] for each in (earlier.array, array)]
        if hint is None and names[0] != names[1] and self.space == "global":
            alias = f"`{names[0]}` and `{names[1]}` share memory: pass arrays that do not overlap, or a copy of one"
            found = Hint(alias if found.barrier is None else f"{alias}; or {found.text}", found.barrier)
        error = DataRaceError(
            f"data race on {spell(array.name, index)} ({self.space} memory): "
            f"the element is {what} by work-items that nothing orders\n"
            f"  {self.clock.describe(earlier.work_item)} {did} {spell(earlier.array.name, earlier.index)} at "
            f"{first}{calls[0]}\n"
            f"  {self.clock.describe()} {does} {spell(array.name, index)} at {second}{calls[1]}\n"
            f"  {found.text}",
            code="data-race",
        )
        error.race = Race(earlier, did, array, index, found.barrier)
        return error

    def _hint(self, earlier: Access, frame: FrameType, both_write: bool) -> Hint:
        is_of_group = earlier.epoch >= self.clock.group_start
        return race_hint(
            self.clock, (earlier.code, earlier.instruction), frame, is_of_group, both_write, self.space == "local"
        )


def _reason(earlier: AccessRecord, frame: FrameType) -> str:
    """Return why the author calls a race of two writes harmless; empty if neither line says so."""
    return harmless_reason(earlier[2], earlier[3]) or harmless_reason(frame.f_code, frame.f_lasti)


def _alone(write: AccessRecord) -> AccessRecord:
    """A write without those that it was recorded with."""
    if write[_SAME_GROUP] is None and write[_OTHER_GROUP] is None:
        return write
    return (*write[:_SAME_GROUP], None, None, *write[_OTHER_GROUP + 1 :])
