"""The contents of a trace: launches, their events, their arrays and the source that ran."""

from __future__ import annotations

import inspect
import linecache
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from kapi_sim.language.intrinsics.index_space import NdRange, Range

__all__ = ["Launch", "Source", "TracedArray", "TracedEvent", "TracedFailure", "plain"]

MOST_CELLS = 4096
"""Of an array of more elements, the first contents are not kept."""


class TracedEvent(NamedTuple):
    """One event of one work-item.

    Attributes
    ----------
    kind : str
        ``"line"``, ``"read"``, ``"write"``, ``"atomic"``; or, where it has come to one, ``"barrier"``,
        ``"algorithm"`` (of its group) or ``"sub-group"`` (a barrier or an algorithm).
    item : int
        Number of the work-item, group after group and by local linear id within one.
    phase : int
        How many barriers and algorithms its group had passed.
    site : int
        Index into `Launch.sites`.
    array : int
        Index into `Launch.arrays`; -1 where there is none.
    element : int
        Linear index, counted with the last axis the fastest; -1 where there is none.
    value : object
        What was read or written, or what an atomic left, as a Python number; of a convergence point its name.
    instruction : int
        Tells two accesses of one line apart.
    """

    kind: str
    item: int
    phase: int
    site: int
    array: int = -1
    element: int = -1
    value: Any = None
    instruction: int = 0


@dataclass(slots=True)
class TracedArray:
    """An array that a kernel sees.

    Attributes
    ----------
    name : str
        The kernel's name for it.
    space : str
        ``"global"``, ``"local"`` or ``"private"``.
    shape : tuple of int
        Extents.
    dtype : str
        Type of the elements.
    itemsize : int
        Bytes of one element.
    initial : list or None
        First contents, flat; `None` for local and private memory and for large arrays.
    """

    name: str
    space: str
    shape: tuple[int, ...]
    dtype: str
    itemsize: int
    initial: list[Any] | None

    def spell(self, element: int) -> str:
        """Return an element as a kernel writes it, such as ``tile[2, 0]``."""
        return f"{self.name}[{', '.join(map(str, self.slot(element))) or '()'}]"

    def slot(self, element: int) -> tuple[int, ...]:
        """Return the indices of an element."""
        index = []
        for extent in reversed(self.shape):
            element, i = divmod(element, extent)
            index.append(i)
        return tuple(reversed(index))


@dataclass(frozen=True, slots=True)
class TracedFailure:
    """The failure that ended a launch.

    Attributes
    ----------
    error : str
        Name of the error's class.
    report : str
        Its message and notes.
    event : int or None
        Number of the event that was refused; if the error is of no access, of the last one of its work-item.
    other : int or None
        Of a race, number of the event of the earlier access.
    barrier : tuple of (str, int, int, str), or None
        Where a barrier is missing: file, first line of the function, line, and whether it goes ``"before"`` or
        ``"after"`` the line, or ``"within"`` it, between its reads and its write.
    """

    error: str
    report: str
    event: int | None = None
    other: int | None = None
    barrier: tuple[str, int, int, str] | None = None

    @property
    def rings(self) -> tuple[int, ...]:
        """The events that conflict, the earlier one first; empty where none does."""
        return () if self.event is None or self.other is None else (self.other, self.event)


@dataclass(frozen=True, slots=True)
class Source:
    """The text of one function that ran.

    Attributes
    ----------
    file : str
        Path.
    first : int
        Number of its first line.
    lines : tuple of str
        Without line ends.
    """

    file: str
    first: int
    lines: tuple[str, ...]


@dataclass(slots=True)
class Launch:
    """One traced launch.

    Attributes
    ----------
    kernel : str
        The kernel's name.
    space : Range or NdRange
        The index space.
    describe : function
        Names a work-item by its number.
    limit : int
        Most events kept.
    sub_group_size : int
        How many neighbouring work-items the statistics take to run together.
    events : list of TracedEvent
        In the order in which they happened.
    dropped : int
        Events that were left out.
    sites : list of tuple of (str, int, int)
        File, first line of the function, line.
    arrays : list of TracedArray
        What the kernel saw.
    failure : TracedFailure or None
        The error that ended it.
    label : function
        Names a work-item in few letters.
    in_words : function
        Puts a text into the words of the dialect that the kernel is written in.
    spelled_space : str
        The index space in these words.
    """

    kernel: str
    space: Range | NdRange
    describe: Callable[[int], str]
    limit: int
    sub_group_size: int
    events: list[TracedEvent] = field(default_factory=list)
    dropped: int = 0
    sites: list[tuple[str, int, int]] = field(default_factory=list)
    arrays: list[TracedArray] = field(default_factory=list)
    failure: TracedFailure | None = None
    label: Callable[[int], str] = str
    in_words: Callable[[str], str] = str
    spelled_space: str = ""
    _site_numbers: dict[tuple[str, int, int], int] = field(default_factory=dict)

    @property
    def items(self) -> int:
        """Number of work-items."""
        return self.space.size if isinstance(self.space, Range) else self.space.global_range.size

    @property
    def group_size(self) -> int:
        """Work-items of a group; of a Range launch, 1."""
        return 1 if isinstance(self.space, Range) else self.space.local_range.size

    def site(self, file: str, function: int, line: int) -> int:
        """Return the number of a line."""
        key = (file, function, line)
        number = self._site_numbers.get(key)
        if number is None:
            number = self._site_numbers[key] = len(self.sites)
            self.sites.append(key)
        return number

    def add(self, event: TracedEvent) -> None:
        """Keep an event, or count it as left out."""
        if len(self.events) < self.limit:
            self.events.append(event)
        else:
            self.dropped += 1

    def sources(self) -> list[Source]:
        """Return the functions that ran, in the order in which they were called."""
        found: dict[tuple[str, int], Source] = {}
        for file, function, _ in self.sites:
            if (file, function) not in found:
                lines = linecache.getlines(file)[function - 1 :]
                block = inspect.getblock(lines) if lines else []
                found[file, function] = Source(file, function, tuple(line.rstrip("\n") for line in block))
        return list(found.values())


def plain(value: Any) -> Any:
    """Return a number as Python has it, a complex one as text."""
    number = value.item() if isinstance(value, np.generic) else value
    return str(number) if isinstance(number, complex) else number
