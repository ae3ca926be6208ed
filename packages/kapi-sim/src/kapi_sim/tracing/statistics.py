"""The cost of each line: accesses, bytes, how they coalesce, and the work-items that take part.

The simulator runs work-items one after the other.  A device runs neighbours, a sub-group, in step; what they
would do together is put together here: the k-th access that each makes at one place of the source is one access
of the sub-group.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from kapi_sim.errors import KernelLaunchError
from kapi_sim.language.source import SourceLocation
from kapi_sim.short_repr import short_repr
from kapi_sim.tracing.record import Launch, TracedEvent

__all__ = ["BANKS", "BANK_BYTES", "LineStatistics", "accesses", "bank_conflict", "line_statistics", "segments"]

BANKS = 32
"""Banks of local memory, as most GPUs have them."""
BANK_BYTES = 4
"""Bytes in a row that one bank holds."""
_ACCESSES = ("read", "write", "atomic")
_SPACES = ("global", "local", "private")


@dataclass(frozen=True, slots=True)
class LineStatistics:
    """The accesses of one line of a kernel in one launch.

    Attributes
    ----------
    site : SourceLocation
        File and line.
    executions : int
        How often a work-item ran it.
    active : float
        Part of a sub-group's work-items, from 0 to 1, that ran it when any did; less than 1 is divergence.
    reads, writes : int
        Elements.
    atomics : int
        Atomic operations.
    bytes : int
        Of all reads, writes and atomics.
    segments : float
        Contiguous stretches of global memory that one access of a sub-group falls into, on average; 1 is best,
        0 where the line has no such access.
    bank_conflict : float
        How many cycles local memory needs for one access of a sub-group, on average, with 32 banks of 4 bytes; 1 is
        best, 0 where the line has no such access.
    contention : float
        How many work-items of a sub-group use the same element at once in an atomic operation, at the element that
        most use, on average; 1 is best, 0 where the line has no atomic.
    """

    site: SourceLocation
    executions: int
    active: float
    reads: int
    writes: int
    atomics: int
    bytes: int
    segments: float
    bank_conflict: float
    contention: float


def segments(elements: Iterable[int]) -> int:
    """Return into how many contiguous stretches linear indices fall.

    Examples
    --------
    >>> segments([3, 4, 5, 5]), segments([0, 8, 16])
    (1, 3)
    """
    ordered = sorted(set(elements))
    return sum(1 for i, element in enumerate(ordered) if i == 0 or element != ordered[i - 1] + 1)


def bank_conflict(elements: Iterable[int], itemsize: int) -> int:
    """Return the most words that these elements need from one bank: as many cycles does the access take.

    Work-items that need the same word get it in one cycle.

    Examples
    --------
    >>> bank_conflict([0, 1, 2, 3], 4), bank_conflict([0, 32, 64], 4), bank_conflict([7, 7], 4)
    (1, 3, 1)
    """
    # What is wider than a bank is fetched in as many passes, each a word of every element.
    passes = max(itemsize // BANK_BYTES, 1)
    banks: dict[int, set[int]] = defaultdict(set)
    for element in elements:
        word = element * itemsize // BANK_BYTES // passes
        banks[word % BANKS].add(word)
    return max((len(words) for words in banks.values()), default=0)


def accesses(launch: Launch, kind: str, space: str) -> list[int]:
    """Return how many elements each work-item accessed; see `Trace.accesses`."""
    for name, given, known in (("kind", kind, _ACCESSES), ("space", space, _SPACES)):
        if given not in known:
            raise KernelLaunchError(
                f"{name} must be {', '.join(known)}, got {short_repr(given)}", code="trace-accesses"
            )
    if launch.dropped:
        raise KernelLaunchError(
            f"a trace must hold all events to count accesses, got {launch.dropped} left out: "
            f"give trace() a limit above {launch.limit}",
            code="trace-cut",
        )
    counts = [0] * launch.items
    for event in launch.events:
        if event.kind == kind and launch.arrays[event.array].space == space:
            counts[event.item] += 1
    return counts


def line_statistics(launch: Launch) -> list[LineStatistics]:
    """Return the statistics of each line that ran, in the order of the source."""
    executions: dict[int, int] = defaultdict(int)
    counts: dict[str, dict[int, int]] = {kind: defaultdict(int) for kind in _ACCESSES}
    sizes: dict[int, int] = defaultdict(int)
    for event in launch.events:
        if event.kind == "line":
            executions[event.site] += 1
        elif event.kind in _ACCESSES:
            counts[event.kind][event.site] += 1
            sizes[event.site] += launch.arrays[event.array].itemsize
    active = _active(launch)
    stretches, iterations, together = _together(launch)
    order = sorted(range(len(launch.sites)), key=lambda number: launch.sites[number])
    return [
        LineStatistics(
            SourceLocation(launch.sites[n][0], launch.sites[n][2]),
            executions[n],
            active.get(n, 1.0),
            counts["read"][n],
            counts["write"][n],
            counts["atomic"][n],
            sizes[n],
            _mean(stretches.get(n, [])),
            _mean(iterations.get(n, [])),
            _mean(together.get(n, [])),
        )
        for n in order
    ]


def _mean(values: list[int]) -> float:
    return sum(values) / len(values) if values else 0.0


def _sub_group(launch: Launch, item: int) -> tuple[int, int]:
    """Return number and size of a work-item's sub-group."""
    size = launch.sub_group_size
    # The work-items of a Range launch have no groups of their own, so neighbours are taken together.
    full = launch.group_size if launch.group_size > 1 else launch.items
    group, local = divmod(item, full)
    start = local // size * size
    return group * full + start, min(size, full - start)


def _active(launch: Launch) -> dict[int, float]:
    """The mean part of a sub-group that runs a line together, by line."""
    seen: dict[tuple[int, int], int] = defaultdict(int)
    members: dict[tuple[int, int, int], int] = defaultdict(int)
    for event in launch.events:
        if event.kind == "line":
            occurrence = seen[event.site, event.item] = seen[event.site, event.item] + 1
            members[event.site, _sub_group(launch, event.item)[0], occurrence] += 1
    ran: dict[int, int] = defaultdict(int)
    could: dict[int, int] = defaultdict(int)
    for (site, first, _), count in members.items():
        ran[site] += count
        could[site] += _sub_group(launch, first)[1]
    return {site: ran[site] / could[site] for site in ran}


def _together(launch: Launch) -> tuple[dict[int, list[int]], dict[int, list[int]], dict[int, list[int]]]:
    """Costs of a sub-group's accesses, by line: segments of global memory, bank cycles, users of one element."""
    seen: dict[tuple[int, int], int] = defaultdict(int)
    accesses: dict[tuple[int, int, int, int], list[TracedEvent]] = defaultdict(list)
    for event in launch.events:
        if event.kind in _ACCESSES:
            occurrence = seen[event.instruction, event.item] = seen[event.instruction, event.item] + 1
            accesses[event.instruction, _sub_group(launch, event.item)[0], occurrence, event.array].append(event)
    stretches: dict[int, list[int]] = defaultdict(list)
    iterations: dict[int, list[int]] = defaultdict(list)
    together: dict[int, list[int]] = defaultdict(list)
    for events in accesses.values():
        array = launch.arrays[events[0].array]
        elements = [event.element for event in events]
        if events[0].kind == "atomic":
            together[events[0].site].append(max(Counter(elements).values()))
        elif array.space == "global":
            stretches[events[0].site].append(segments(elements))
        elif array.space == "local":
            iterations[events[0].site].append(bank_conflict(elements, array.itemsize))
    return stretches, iterations, together
