"""Reads of memory that nobody wrote."""

from __future__ import annotations

from types import FrameType
from typing import Any

from kapi_sim.checks.bounds import spell
from kapi_sim.checks.races import AccessedArray, AccessRecord, ShadowMemory
from kapi_sim.errors import UninitializedReadError
from kapi_sim.items.schedule_state import ScheduleState
from kapi_sim.language.source import located_at, source_location

__all__ = ["PrivateShadowMemory", "unwritten_read"]


class PrivateShadowMemory:
    """Shadow memory of one private array of one work-item, which nobody else can race."""

    __slots__ = ("_clock", "_written")

    def __init__(self, clock: ScheduleState) -> None:
        self._clock = clock
        self._written: set[int] = set()

    def note_read(self, address: int, array: AccessedArray, index: Any, frame: FrameType) -> None:
        """Raise for an element that was not written.

        Raises `UninitializedReadError` if it was not.
        """
        if address not in self._written:
            raise UninitializedReadError(
                f"{spell(array.name, index)} (private memory) is read, and was never written\n"
                f"  {self._clock.describe()} read it at {source_location(frame.f_code, frame.f_lasti)}\n"
                "  write each element first, or make the array with fill_zeros=True",
                code="read-before-write",
            )

    def note_write(
        self, address: int, array: AccessedArray, index: Any, frame: FrameType, value: Any
    ) -> AccessRecord | None:
        """Record that the element is written, which no other write is unordered with."""
        self._written.add(address)
        return None


def unwritten_read(shadow: ShadowMemory) -> Exception | None:
    """Return the error for the first read, in the phase that ends, of a cell that nobody wrote in it.

    A cell that another work-item wrote after the read is a race, which the write reports: only at the
    end of a phase is it known which of the two it is.

    - `shadow`: accesses to a group's local memory, or to global memory; what was read too early is forgotten.
    """
    found: Exception | None = None
    for address, (uid, epoch, code, instruction, array, index, *_) in shadow.unwritten.items():
        write = shadow.writes.get(address)
        # Where races are looked for, a write that raced the read was reported; one that did not came after it.
        if not shadow.finds_races and write is not None and write[0] != uid and write[1] == epoch:
            continue
        if shadow.space == "local":
            hint = "write each cell first, with a `group_barrier` between if another work-item writes it"
        else:
            hint = "fill the array before the launch, or write each element in the kernel before it is read"
        error = UninitializedReadError(
            f"{spell(array.name, index)} ({shadow.space} memory) is read, and no work-item has written it\n"
            f"  {shadow.clock.describe(uid)} read it at {source_location(code, instruction)}\n"
            f"  {hint}",
            code="read-before-write",
        )
        found = located_at(error, code, instruction)
        break
    shadow.unwritten.clear()
    return found
