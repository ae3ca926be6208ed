"""Barriers that a part of a group reaches, or that differ in one phase."""

from __future__ import annotations

from kapi_sim.clock import Clock
from kapi_sim.errors import BarrierDivergenceError
from kapi_sim.source import Site

__all__ = ["Arrival", "check_arrivals"]

_MOST_NAMED = 4

Arrival = tuple[tuple[str, int, int], object, int]
"""What a kernel yields at a barrier: site (file, line, column), group, fence scope."""


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
    places: dict[tuple[tuple[str, int, int], int], list[int]] = {}
    for local, (site, _, scope) in arrivals.items():
        places.setdefault((site, int(scope)), []).append(local)
    if len(places) == 1 and not left:
        return
    lines = []
    for (site, _), members in sorted(places.items(), key=lambda entry: entry[0][0][1]):
        where = Site(site[0], site[1])
        lines.append(f"  {_name(clock, base, members)} wait{'s' * (len(members) == 1)} at {where}")
    if left:
        lines.append(f"  {_name(clock, base, left)} left the kernel without it")
    sites = {site for site, _ in places}
    if len(sites) > 1:
        numbers = sorted({site[1] for site in sites})
        cure = (
            f"all work-items of a group must meet the same barrier: use one barrier after the branch "
            f"in place of those at lines {', '.join(map(str, numbers))}"
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
        f"got {max(len(members) for members in places.values())} at one barrier\n" + "\n".join(lines) + f"\n  {cure}"
    )


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
