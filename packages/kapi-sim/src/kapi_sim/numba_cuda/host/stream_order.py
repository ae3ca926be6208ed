"""The order of work on streams: which launch or copy happens before which, and who uses what without an order.

Here all work is done when the call that asks for it returns.  On a GPU a stream does its work later, beside the work of
other streams and beside the host, and only these order it: the stream itself, the default stream, events, and the host
when it waits.  Each stream has a vector clock.  Of each allocation, the latest operation of each stream is kept by
element, as long as something may still be unordered with it.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from threading import RLock
from typing import Any, NamedTuple

import numpy as np

from kapi_sim.checks.bounds import spell
from kapi_sim.checks.marked_uninitialised import addresses_of
from kapi_sim.errors import DataRaceError
from kapi_sim.language.source import SourceLocation, source_location
from kapi_sim.settings.simulation_settings import current_settings
from kapi_sim.tracebacks import users_frame

__all__ = ["DEFAULT", "Accesses", "Clock", "Key", "order", "root_of"]

Key = int | tuple[str, int]
"""A stream, as clocks know it."""
DEFAULT: Key = 0
"""The key of the default stream, which waits for all others, and for which all others wait."""
_HOST: Key = -1
"""The key of the host, whose accesses come after all that it has waited for."""

Clock = dict[Key, int]
"""By stream, the number of its latest operation that came before."""

_Positions = np.ndarray[Any, np.dtype[np.int64]]
_NOTHING: _Positions = np.empty(0, np.int64)
_CONFLICTS = {"reads": ("writes", "atomics"), "writes": ("writes", "reads", "atomics"), "atomics": ("writes", "reads")}
_DONE = {"reads": "read it", "writes": "wrote it", "atomics": "changed it atomically"}
_DOES = {"reads": "reads it", "writes": "writes it", "atomics": "changes it atomically"}


class Accesses(NamedTuple):
    """The elements of device memory that an operation uses, by address.

    Attributes
    ----------
    arrays : mapping of str to numpy.ndarray
        The memory, by the names that the program has for it.
    reads, writes, atomics : numpy.ndarray
        Addresses of elements.
    """

    arrays: Mapping[str, np.ndarray[Any, Any]]
    reads: _Positions = _NOTHING
    writes: _Positions = _NOTHING
    atomics: _Positions = _NOTHING

    @classmethod
    def of_copy(
        cls, reads: Sequence[np.ndarray[Any, Any]] = (), writes: Sequence[np.ndarray[Any, Any]] = ()
    ) -> Accesses:
        """Return the accesses of a copy, which uses all elements of its arrays."""
        held = (*reads, *writes)
        found = (np.concatenate([_NOTHING, *map(addresses_of, part)]) for part in (reads, writes))
        return cls({"array" if i == 0 else f"array {i + 1}": array for i, array in enumerate(held)}, *found)

    def spelled(self, address: int) -> str:
        """Return the name of an element."""
        for name, array in self.arrays.items():
            position = np.flatnonzero(addresses_of(array) == address)
            if position.size:
                return spell(name, tuple(int(i) for i in np.unravel_index(int(position[0]), array.shape)))
        return "the element"


class _Operation(NamedTuple):
    """A launch, a copy or an access of the host: in words, and where the program asks for it."""

    what: str
    location: SourceLocation


class _Memory:
    """An allocation, and by stream and kind of access the number of the latest operation on each element."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self.start = int(array.__array_interface__["data"][0])
        self.grain = max(array.itemsize, 1)
        self.size = array.nbytes // self.grain
        self.latest: dict[Key, dict[str, np.ndarray[Any, np.dtype[np.int32]]]] = {}

    def positions(self, addresses: _Positions) -> _Positions:
        """Return which elements of the allocation are at these addresses, where they are in it."""
        found = (addresses - self.start) // self.grain
        return found[(found >= 0) & (found < self.size)]

    def note(self, key: Key, kind: str, positions: _Positions, number: int) -> None:
        """Keep the number of an operation."""
        held = self.latest.setdefault(key, {})
        if kind not in held:
            held[kind] = np.zeros(self.size, np.int32)
        held[kind][positions] = number


class StreamOrder:
    """The clocks of all streams and of the host, and the latest operations on each allocation."""

    def __init__(self) -> None:
        self._lock = RLock()
        self._clocks: dict[Key, Clock] = {DEFAULT: {}}
        self._host: Clock = {}
        self._counts: Clock = {}
        self._operations: dict[tuple[Key, int], _Operation] = {}
        self._memories: dict[int, tuple[weakref.ref[Any], _Memory]] = {}

    @property
    def is_idle(self) -> bool:
        """Whether the host has waited for all operations whose accesses are kept."""
        return not self._memories

    def follows(self, key: Key, is_shared: bool) -> bool:
        """Return whether the accesses of an operation decide anything.

        Parameters
        ----------
        key : int or tuple
            Of its stream.
        is_shared : bool
            Whether the host reaches some of the memory as well.
        """
        return (is_shared or key != DEFAULT) and "races" in current_settings().checks

    def put(self, key: Key, what: str, accesses: Accesses | None = None) -> None:
        """Put an operation into a stream.

        Parameters
        ----------
        key : int or tuple
            Of the stream.
        what : str
            The operation and its stream, in words.
        accesses : Accesses, optional
            What it uses, where that `follows`.

        Raises
        ------
        DataRaceError
            If an operation that nothing orders before this one uses an element, and one of the two writes it.
        """
        with self._lock:
            clock = self._clock(key)
            if accesses is None:
                return
            operation = _Operation(what, _location())
            parts = [
                (memory, kind, memory.positions(getattr(accesses, kind)))
                for memory in self._memories_of(accesses.arrays.values())
                for kind in _CONFLICTS
            ]
            for memory, kind, positions in parts:
                self._require_ordered(key, clock, memory, kind, positions, operation, accesses)
            self._counts[key] = number = self._counts.get(key, 0) + 1
            clock[key] = number
            self._operations[key, number] = operation
            for memory, kind, positions in parts:
                if positions.size:
                    memory.note(key, kind, positions, number)

    def use_on_host(self, array: np.ndarray[Any, Any], addresses: _Positions, writes: bool) -> None:
        """Let the host read or write memory that a device reaches as well.

        Parameters
        ----------
        array : numpy.ndarray
            The memory.
        addresses : numpy.ndarray
            Of the elements that are used.
        writes : bool
            Whether they are written.

        Raises
        ------
        DataRaceError
            If an operation that the host has not waited for uses an element, and one of the two writes it.
        """
        known = self._memories.get(id(root_of(array)))
        if known is None or "races" not in current_settings().checks:
            return
        with self._lock:
            kind = "writes" if writes else "reads"
            positions = known[1].positions(addresses)
            accesses = Accesses({"array": array})
            self._require_ordered(
                _HOST, self._host, known[1], kind, positions, _Operation("the host", _location()), accesses
            )

    def wait_for_stream(self, key: Key) -> None:
        """Let the host wait for all work of a stream."""
        with self._lock:
            _join(self._host, self._clock(key))
            self._forget_settled()

    def wait_for_all(self) -> None:
        """Let the host wait for all work."""
        with self._lock:
            for clock in self._clocks.values():
                _join(self._host, clock)
            self._forget_settled()

    def recorded(self, key: Key) -> Clock:
        """Return what an event that is recorded in a stream now comes after."""
        with self._lock:
            return dict(self._clock(key))

    def let_wait(self, key: Key, clock: Clock) -> None:
        """Let a stream's later work wait for an event."""
        with self._lock:
            _join(self._clock(key), clock)

    def wait_for_event(self, clock: Clock) -> None:
        """Let the host wait for an event."""
        with self._lock:
            _join(self._host, clock)
            self._forget_settled()

    def _clock(self, key: Key) -> Clock:
        """Return a stream's clock with all that comes before what the host puts into it now."""
        clock = self._clocks.setdefault(key, {})
        _join(clock, self._host)
        for other in self._clocks.values() if key == DEFAULT else (self._clocks[DEFAULT],):
            if other is not clock:
                _join(clock, other)
        return clock

    def _forget_settled(self) -> None:
        """Forget all operations if the host has waited for each."""
        if all(self._host.get(key, 0) >= count for key, count in self._counts.items()):
            self._operations.clear()
            self._memories.clear()

    def _memories_of(self, arrays: Iterable[np.ndarray[Any, Any]]) -> list[_Memory]:
        found = {}
        for array in arrays:
            root = root_of(array)
            known = self._memories.get(id(root))
            if known is None:
                # Another allocation may get the same address, and the same `id`.
                reference = weakref.ref(root, partial(_drop, self._memories, id(root)))
                known = self._memories[id(root)] = reference, _Memory(root)
            found[id(root)] = known[1]
        return list(found.values())

    def _require_ordered(
        self,
        key: Key,
        clock: Clock,
        memory: _Memory,
        kind: str,
        positions: _Positions,
        operation: _Operation,
        accesses: Accesses,
    ) -> None:
        for other, held in memory.latest.items() if positions.size else ():
            if other == key:
                continue
            for earlier in _CONFLICTS[kind]:
                if earlier not in held:
                    continue
                numbers = held[earlier][positions]
                unordered = np.flatnonzero(numbers > clock.get(other, 0))
                if unordered.size:
                    first = int(unordered[0])
                    element = accesses.spelled(memory.start + int(positions[first]) * memory.grain)
                    raise _race(self._operations[other, int(numbers[first])], earlier, operation, kind, element)


def _race(earlier: _Operation, did: str, later: _Operation, does: str, element: str) -> DataRaceError:
    if later.what == "the host":
        between = "the host and a stream"
        hint = "wait before the host uses the array, by `stream.synchronize()` or `cuda.synchronize()`"
    else:
        between = "two streams"
        hint = (
            "let the second stream wait for an event of the first one, `event.record(first)` and `event.wait(second)`; "
            "or use one stream for both"
        )
    error = DataRaceError(
        f"data race on {element} (global memory): {between} use the element, and nothing orders them\n"
        f"  {earlier.what} {_DONE[did]}, at {earlier.location}\n"
        f"  {later.what} {_DOES[does]}, at {later.location}\n"
        f"  {hint}",
        code="stream-race",
    )
    report = current_settings().report
    if report is not None:
        report.note_fault("", error)
    return error


def _location() -> SourceLocation:
    frame = users_frame(sys._getframe(1))
    return source_location(frame.f_code, frame.f_lasti)


def _join(clock: Clock, other: Mapping[Key, int]) -> None:
    for key, number in other.items():
        if clock.get(key, 0) < number:
            clock[key] = number


def _drop(memories: dict[int, tuple[weakref.ref[Any], _Memory]], key: int, dead: weakref.ref[Any]) -> None:
    known = memories.get(key)
    if known is not None and known[0] is dead:
        del memories[key]


def root_of(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the array that holds an array's memory."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


order = StreamOrder()
"""The order of all streams of the process."""
