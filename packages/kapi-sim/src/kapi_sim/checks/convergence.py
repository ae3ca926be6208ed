"""Barriers and group algorithms that a part of a group reaches, or that differ in one phase."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import CodeType
from typing import Any, NamedTuple

from kapi_sim.errors import BarrierDivergenceError, CollectiveMismatchError
from kapi_sim.items.convergence import Converging, Participants
from kapi_sim.items.schedule_state import ScheduleState
from kapi_sim.language.intrinsics.operators import operator_row
from kapi_sim.language.source import SourceLocation

__all__ = ["Arrival", "call_sites", "check_arrivals", "check_uniform", "describe_arrivals"]

_MOST_NAMED = 4


class Arrival(NamedTuple):
    """The convergence point at which a work-item waits.

    - `site`: file, line and column of the call, and in which iteration of each loop around it it stands.
    - `calls`: file, line and instruction of the calls that lead to it, the outermost first, and the iterations of the
      loops around each: a device function's barrier is another one at each place that calls the function.
    - `scope`: the fence scope of a barrier.
    - `word`: the group algorithm; `None` for a barrier.
    - `is_sub_group`: whether it waits for its sub-group only.
    - `part`: whom it waits for, where that is neither the group nor the sub-group.
    """

    site: tuple[Any, ...]
    calls: tuple[Any, ...]
    scope: int
    word: Callable[..., Any] | None = None
    is_sub_group: bool = False
    part: Participants | None = None


@cache
def _iterations_in(code: CodeType) -> tuple[str, ...]:
    """Return the variables that number the iterations of a function's loops."""
    return tuple(name for name in code.co_varnames if name.startswith("_kapi_iteration_"))


def call_sites(generator: Any) -> tuple[Any, ...]:
    """Return file, line, instruction and iterations of the calls by which a waiting work-item came to its barrier."""
    on_thread = getattr(generator, "calls", None)
    if on_thread is not None:
        return tuple(on_thread)
    calls = []
    while (inner := getattr(generator, "gi_yieldfrom", None)) is not None:
        frame = generator.gi_frame
        iterations = _iterations_in(frame.f_code)
        numbers = tuple(map(frame.f_locals.get, iterations)) if iterations else ()
        calls.append((frame.f_code.co_filename, frame.f_lineno, frame.f_lasti, *numbers))
        generator = inner
    return tuple(calls)


def check_arrivals(clock: ScheduleState, base: int, size: int, arrivals: dict[int, Arrival], left: list[int]) -> None:
    """Raise unless all work-items of a group, or of a sub-group, arrived at one convergence point.

    - `clock`: names the work-items.
    - `base`: number of the work-group's first work-item.
    - `size`: how many work-items have to arrive.
    - `arrivals`: by local linear id, where each work-item waits.
    - `left`: local linear ids of those that have left the kernel.

    Raises `BarrierDivergenceError` if they wait at barriers; `CollectiveMismatchError` if one of them waits at a group
    algorithm.
    """
    if not left and len(arrivals) == size:
        first = next(iter(arrivals.values()))
        if all(arrival == first for arrival in arrivals.values()):
            return
    points = _arrival_points(arrivals)
    is_algorithm = any(point.word is not None and not _is_barrier(point.word) for point in points)
    noun = "group algorithm" if is_algorithm else "barrier"
    group = "sub-group" if all(point.is_sub_group for point in points) else "group"
    lines = describe_arrivals(clock, base, arrivals, left)
    sites = {arrival.site[:3] for arrival in points}
    if len(sites) > 1:
        numbers = sorted({site[1] for site in sites})
        code = "meetings-differ"
        hint = (
            f"all work-items of a {group} must reach the same {noun}: use one {noun} after the branch "
            f"in place of those at lines {_listed(numbers)}"
        )
    elif len({tuple(call[:3] for call in arrival.calls) for arrival in points}) > 1:
        numbers = sorted({call[1] for arrival in points for call in arrival.calls})
        code = "meetings-in-calls-differ"
        hint = (
            f"all work-items of a {group} must reach the same {noun}, which is another one at each call of its "
            f"function: call it once, after the branch, in place of the calls at lines {_listed(numbers)}"
        )
    elif len({arrival.is_sub_group for arrival in points}) > 1:
        code = "meeting-groups-differ"
        hint = "all work-items of a group must give the same kind of group: the work-group, or the sub-group"
    elif len({arrival.word for arrival in points}) > 1:
        code = "meeting-words-differ"
        hint = f"all work-items of a {group} must call the same {noun}"
    elif len({(arrival.site, arrival.calls) for arrival in points}) > 1:
        code = "meetings-in-turns-differ"
        hint = (
            f"all work-items of a {group} must reach the same {noun}, which is another one in each iteration "
            "of a loop: let each iteration reach it, and guard the work instead"
        )
    elif len({arrival.part for arrival in points}) > 1:
        hint = f"all work-items that converge must name the same ones: give one mask, or converge at one kind of {noun}"
    elif len(points) > 1:
        code = "fence-scopes-differ"
        hint = f"all work-items of a {group} must give one fence_scope"
    else:
        code, line = "meeting-missed", next(iter(sites))[1]
        hint = (
            f"move the {noun} at line {line} out of the branch or loop that not all work-items run, "
            f"and guard the work rather than the {noun}"
        )
    error = CollectiveMismatchError if is_algorithm else BarrierDivergenceError
    raise error(
        f"a {noun} must be reached by all {size} work-items of the {group}, "
        f"got {max(len(members) for members in points.values())} at one {noun}\n"
        + "\n".join(f"  {line}" for line in (*lines, hint)),
        code=code,
    )


def check_uniform(clock: ScheduleState, base: int, arrival: Arrival, name: str, given: dict[int, Any]) -> None:
    """Raise unless all work-items gave a group algorithm the same argument.

    - `clock`: names the work-items.
    - `base`: number of the work-group's first work-item.
    - `arrival`: the call.
    - `name`: of the parameter.
    - `given`: by local linear id, what each gave.
    """
    first, value = next(iter(given.items()))
    for local, other in given.items():
        if other is value or (operator_row(value) is None and other == value):
            continue
        word = "group algorithm" if arrival.word is None else arrival.word.__name__
        raise CollectiveMismatchError(
            f"{name} of {word} must be the same for all work-items of the group, "
            f"got {_spelled(value)} and {_spelled(other)}\n"
            f"  {clock.describe(base + first)} gave {_spelled(value)}\n"
            f"  {clock.describe(base + local)} gave {_spelled(other)}\n"
            f"  both at {SourceLocation(*arrival.site[:2])}\n"
            f"  compute {name} from what the whole group shares",
            code="argument-not-uniform",
        )


def _is_barrier(word: object) -> bool:
    return isinstance(word, Converging) and word.is_barrier


def _spelled(value: Any) -> str:
    row = operator_row(value)
    return str(value) if row is None else row.name


def describe_arrivals(clock: ScheduleState, base: int, arrivals: dict[int, Arrival], left: list[int]) -> list[str]:
    """Say who waits where and who has left the kernel, a line for each convergence point."""
    lines = []
    points = _arrival_points(arrivals)
    differs_by_iteration = len(
        {(arrival.site[:3], tuple(call[:3] for call in arrival.calls)) for arrival in points}
    ) < len(points)
    for arrival, members in sorted(points.items(), key=lambda entry: (entry[0].site[1], entry[1])):
        by = "".join(f", called at {SourceLocation(call[0], call[1])}" for call in reversed(arrival.calls))
        iterations = [*arrival.site[3:], *(iteration for call in arrival.calls for iteration in call[3:] if iteration)]
        by += (
            f", in iteration {', '.join(map(str, iterations))} of the loop around it"
            if len(iterations) > 0 and differs_by_iteration
            else ""
        )
        waits = f"wait{'s' * (len(members) == 1)}"
        lines.append(f"{_name(clock, base, members)} {waits} at {SourceLocation(*arrival.site[:2])}{by}")
    if left:
        lines.append(f"{_name(clock, base, left)} left the kernel without it")
    return lines


def _arrival_points(arrivals: dict[int, Arrival]) -> dict[Arrival, list[int]]:
    points: dict[Arrival, list[int]] = {}
    for local, arrival in arrivals.items():
        points.setdefault(arrival, []).append(local)
    return points


def _listed(numbers: list[int]) -> str:
    return ", ".join(map(str, numbers))


def _name(clock: ScheduleState, base: int, members: list[int]) -> str:
    members = sorted(members)
    first = clock.describe(base + members[0])
    if len(members) == 1:
        return first
    others = ", ".join(clock.describe_in_launch(base + m) for m in members[1:_MOST_NAMED])
    more = f" and {len(members) - _MOST_NAMED} more" if len(members) > _MOST_NAMED else ""
    return f"{len(members)} work-items ({first}; {others}{more})"
