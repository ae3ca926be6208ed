"""Barriers that a part of a group reaches, or that differ in one phase."""

from __future__ import annotations

from typing import Any, NamedTuple

from kapi_sim.clock import Clock
from kapi_sim.errors import BarrierDivergenceError
from kapi_sim.source import Site

__all__ = ["Arrival", "Yielded", "call_sites", "check_arrivals", "describe_arrivals"]

_MOST_NAMED = 4

Yielded = tuple[tuple[str, int, int], object, int]
"""What a kernel yields at a barrier: site (file, line, column), group, fence scope."""


class Arrival(NamedTuple):
    """Where a work-item waits.

    Attributes
    ----------
    site : tuple of (str, int, int)
        File, line and column of the barrier.
    calls : tuple of (str, int, int)
        File, line and instruction of the calls that lead to it, the outermost first: a device
        function's barrier is another one at each place that calls the function.
    scope : int
        The fence scope.
    """

    site: tuple[str, int, int]
    calls: tuple[tuple[str, int, int], ...]
    scope: int


def call_sites(generator: Any) -> tuple[tuple[str, int, int], ...]:
    """Return where the calls stand by which a waiting work-item came to its barrier."""
    on_thread = getattr(generator, "calls", None)
    if on_thread is not None:
        return tuple(on_thread)
    calls = []
    while (inner := getattr(generator, "gi_yieldfrom", None)) is not None:
        frame = generator.gi_frame
        calls.append((frame.f_code.co_filename, frame.f_lineno, frame.f_lasti))
        generator = inner
    return tuple(calls)


def check_arrivals(clock: Clock, base: int, arrivals: dict[int, Arrival], left: list[int]) -> None:
    """Raise unless all work-items of the running group arrived at one barrier.

    Parameters
    ----------
    clock : Clock
        Names the work-items.
    base : int
        Number of the group's first work-item.
    arrivals : dict of int to Arrival
        By local linear id, where each work-item waits.
    left : list of int
        Local linear ids of those that have left the kernel.
    """
    places = _places(arrivals)
    if len(places) == 1 and not left:
        return
    lines = describe_arrivals(clock, base, arrivals, left)
    sites = {arrival.site for arrival in places}
    if len(sites) > 1:
        numbers = sorted({site[1] for site in sites})
        cure = (
            f"all work-items of a group must meet the same barrier: use one barrier after the branch "
            f"in place of those at lines {_listed(numbers)}"
        )
    elif len({arrival.calls for arrival in places}) > 1:
        numbers = sorted({call[1] for arrival in places for call in arrival.calls})
        cure = (
            "all work-items of a group must meet the same barrier, which is another one at each call of the function "
            f"that holds it: call it once, after the branch, in place of the calls at lines {_listed(numbers)}"
        )
    elif len(places) > 1:
        cure = "all work-items of a group must give one fence_scope"
    else:
        line = next(iter(sites))[1]
        cure = (
            f"move the barrier at line {line} out of the branch or loop that not all work-items run, "
            "and guard the work rather than the barrier"
        )
    raise BarrierDivergenceError(
        f"a barrier must be reached by all {clock.group_size} work-items of the group, "
        f"got {max(len(members) for members in places.values())} at one barrier\n"
        + "\n".join(f"  {line}" for line in (*lines, cure))
    )


def describe_arrivals(clock: Clock, base: int, arrivals: dict[int, Arrival], left: list[int]) -> list[str]:
    """Say who waits where and who has left the kernel, a line for each barrier."""
    lines = []
    for (site, calls, _), members in sorted(_places(arrivals).items(), key=lambda entry: entry[0][0][1]):
        by = "".join(f", called at {Site(call[0], call[1])}" for call in reversed(calls))
        lines.append(f"{_name(clock, base, members)} wait{'s' * (len(members) == 1)} at {Site(site[0], site[1])}{by}")
    if left:
        lines.append(f"{_name(clock, base, left)} left the kernel without it")
    return lines


def _places(arrivals: dict[int, Arrival]) -> dict[Arrival, list[int]]:
    places: dict[Arrival, list[int]] = {}
    for local, arrival in arrivals.items():
        places.setdefault(arrival, []).append(local)
    return places


def _listed(numbers: list[int]) -> str:
    return ", ".join(map(str, numbers))


def _name(clock: Clock, base: int, members: list[int]) -> str:
    members = sorted(members)
    first = clock.describe(base + members[0])
    if len(members) == 1:
        return first
    others = ", ".join(
        clock.describe(base + m).partition(", ")[2].partition(", group")[0] for m in members[1:_MOST_NAMED]
    )
    more = f" and {len(members) - _MOST_NAMED} more" if len(members) > _MOST_NAMED else ""
    return f"{len(members)} work-items ({first}; {others}{more})"
