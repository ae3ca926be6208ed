"""Infinite loops, which no schedule can end: counted, ended with an error, and described.

The rewritten kernel counts the iterations of each ``while`` loop that does not pass a barrier by itself.
Past a limit, a work-item of a group hands over to the others, for one of them may bring about what it
waits for.  If the loops repeat their state and nothing was written, or if no work-item came to
a barrier or to its end for many such iterations, nothing ends them.
The count is of loop iterations, not of time, so the verdict is the same in each run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import count
from types import CellType, GeneratorType
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from kapi_sim.checks.bounds import spell
from kapi_sim.errors import DeadlockError
from kapi_sim.items.convergence import Yielded
from kapi_sim.language.intrinsics.index_space import NdRange
from kapi_sim.language.source import SourceLocation, line_of, source_location
from kapi_sim.memory.views import View

if TYPE_CHECKING:
    from kapi_sim.checks.ordered_races import CrossGroupReads
    from kapi_sim.checks.races import ShadowMemory
    from kapi_sim.memory.arguments import Bound

__all__ = [
    "IDLE_ITERATIONS",
    "LOOP_NUMBER",
    "SPIN",
    "ITERATIONS",
    "Loop",
    "SpinningError",
    "counted",
    "deadlock",
    "spin",
    "iterations_before_hand_over",
    "loop_state",
    "waiting_for_another_group",
]

Loop = tuple[str, int, int]
"""File, first and last line of a loop."""

SPIN = -1
"""In place of a fence scope: the work-item is at no barrier, it is in a loop."""
ITERATIONS = 1000
"""The times that one work-item may hand over while none comes to a barrier or to its end."""
LOOP_NUMBER = CellType(count().__next__)
"""Holds what gives each run of a loop a number."""

IDLE_ITERATIONS = 100
"""So many iterations without any change, of a loop that depends on nothing else, are enough where nobody else runs."""

_INSPECTED = 20_000
"""So many iterations of a loop over a range are enough for a second run."""

RANGE_ITERATIONS = 100
"""A `for` loop over a range may run so many times as often as a `while` loop: it does have an end."""

_MOST_NAMED = 3


class SpinningError(DeadlockError):
    """A loop went beyond the limit; completed to a `DeadlockError` where the launch is known.

    - `loop`: where its loop is.
    - `factor`: how many times the limit of a `while` loop it turned.
    - `repeats_state`: whether it repeats its state.
    """

    def __init__(self, loop: Loop, factor: int = 1, repeats_state: bool = False) -> None:
        super().__init__(f"loop at {SourceLocation(loop[0], loop[1])} does not end", code="endless-loop")
        self.loop = loop
        self.factor = factor
        self.repeats_state = repeats_state


class BoundedWaitError(Exception):
    """Ends a second run: a loop waits for others, and goes on without them after some iterations."""


def iterations_before_hand_over(limit: int) -> int:
    """Return after how many iterations of one loop a work-item hands over to the others of its group."""
    return max(limit // ITERATIONS, 1)


def spin(loop: Loop, is_long: bool) -> NoReturn:
    """Give up a loop of a work-item that cannot hand over: it ran for long, or without any change."""
    raise SpinningError(loop, repeats_state=not is_long)


def counted(bound: Bound, iterations: range, loop: Loop, idles: bool) -> Iterable[int]:
    """Return `iterations`, counted if they are more than any kernel is meant to run.

    - `bound`: the launch.
    - `iterations`: the loop's.
    - `loop`: where it is.
    - `idles`: whether iterations without any change are all alike.
    """
    most = bound.spin_limit * RANGE_ITERATIONS
    is_endless = bool(iterations[most:])
    if (idles and iterations[IDLE_ITERATIONS:] and (is_endless or bound.is_rerun)) or (
        bound.is_rerun and iterations[_INSPECTED:]
    ):
        return _watched(bound, iterations[:most], loop, idles, is_endless)
    return _given_up(iterations[:most], loop) if is_endless else iterations


def _watched(bound: Bound, iterations: range, loop: Loop, idles: bool, is_endless: bool) -> Iterator[int]:
    idle, seen = 0, -1
    for number in iterations:
        yield number
        if bound.is_rerun and number - iterations[0] == _INSPECTED * iterations.step:
            raise BoundedWaitError
        if not idles:
            continue
        now = bound.changes()
        idle = idle + 1 if now == seen else 0
        seen = now
        if idle > IDLE_ITERATIONS:
            raise SpinningError(loop, RANGE_ITERATIONS, repeats_state=True) if is_endless else BoundedWaitError
    if is_endless:
        raise SpinningError(loop, RANGE_ITERATIONS)


def _given_up(iterations: range, loop: Loop) -> Iterator[int]:
    yield from iterations
    raise SpinningError(loop, RANGE_ITERATIONS)


def waiting_for_another_group(bound: Bound, observed: list[CrossGroupReads]) -> DeadlockError:
    """Return the error for a loop that ended because another work-group had run, and does not end without.

    - `bound`: the launch, which was stuck when the work-group ran first.
    - `observed`: what its atomic operations read of other groups when they ran before.
    """
    clock = bound.clock
    loops = bound.stuck
    here = [
        each
        for each in observed
        for file, first, last in loops
        if each[0][2].co_filename == file and first <= line_of(each[0][2], each[0][3]) <= last
    ]
    read, write = (here or observed)[-1]
    if isinstance(clock.space, NdRange):
        whose, who = "work-group", "no work-group can wait for another one"
    else:
        whose, who = "work-item", "no work-item of a Range launch can wait for another one"
    where = [f"  and iterates at {SourceLocation(file, first)}\n" for file, first, _ in ([] if here else loops[:1])]
    return DeadlockError(
        f"a loop waits for another {whose}, which may never run\n"
        f"  {clock.describe(read[0])} waited for {spell(read[4].name, read[5])} at "
        f"{source_location(read[2], read[3])}\n"
        f"{''.join(where)}"
        f"  {clock.describe(write[0])} wrote it at {source_location(write[2], write[3])}\n"
        f"  {who}, which may not run before it has ended: split the work into two launches",
        code="waits-for-other",
    )


def deadlock(
    bound: Bound,
    spinning: dict[int, Loop],
    others: list[str],
    repeats_state: bool = False,
    factor: int = 1,
) -> DeadlockError:
    """Return the error for work-items that are in loops which nothing ends.

    - `bound`: the launch's arguments, clock and recorded accesses.
    - `spinning`: by number of the work-item, where its loop is.
    - `others`: what the other work-items of the group do, a line each.
    - `repeats_state`: whether the loops repeat their state; else they ran for too many iterations.
    - `factor`: how many times the limit of a `while` loop those iterations were.
    """
    clock = bound.clock
    lines = []
    for uid, loop in list(spinning.items())[:_MOST_NAMED]:
        lines.append(f"  {clock.describe(uid)} iterates at {SourceLocation(loop[0], loop[1])}")
        lines += [f"    {wait}" for wait in _waits(bound, uid, loop)]
    if len(spinning) > _MOST_NAMED:
        lines.append(f"  and {len(spinning) - _MOST_NAMED} more work-items are in loops")
    lines += [f"  {line}" for line in others]
    if isinstance(clock.space, NdRange):
        hint = "work-items must not wait for each other in a loop, and no work-group can wait for another one: "
        hint += "use a `group_barrier` within a group, two launches between groups"
    else:
        hint = "no work-item of a Range launch can wait for another one: split the work into two launches"
    if repeats_state:
        code, why = "loop-without-change", "repeats its state, and nothing was written"
    else:
        code, why = (
            "endless-loop",
            f"takes more than {bound.spin_limit * factor} iterations, and no other work-item ends it",
        )
        hint += "\n  if the loop does end, allow it more iterations with simulation(spin_limit=...)"
    bound.stuck = list(spinning.values())
    return DeadlockError(
        f"a loop does not end: it {why}\n" + "\n".join(lines) + f"\n  {hint}",
        code=code,
    )


def _waits(bound: Bound, uid: int, loop: Loop) -> list[str]:
    """Say what the loop reads, as far as accesses were recorded."""
    found: dict[tuple[int, str], str] = {}
    for shadow in (bound.shadow, bound.local_shadow):
        if shadow is not None:
            _collect(shadow, uid, loop, found)
    return list(found.values())[:_MOST_NAMED]


def _collect(shadow: ShadowMemory, uid: int, loop: Loop, found: dict[tuple[int, str], str]) -> None:
    file, first, last = loop
    for address, access in shadow.recorded_reads():
        if access[2].co_filename != file:
            continue
        line = line_of(access[2], access[3])
        # Of an element that many work-items read, some are recorded: any of them stands for this one.
        if not first <= line <= last:
            continue
        array, index = access[4], access[5]
        write = shadow.writes.get(address)
        by = "which no work-item wrote" if write is None else f"last written by {shadow.clock.describe(write[0])}"
        found.setdefault(
            (line, spell(array.name, index)),
            f"it waits for {spell(array.name, index)} at line {line}, which is {array.peek(index)}, {by}",
        )


def loop_state(bound: Bound, generator: Any, yielded: Yielded) -> object:
    """The dependences of a work-item that spins in a loop; `None` if they are not recorded."""
    run, names = yielded[1], yielded[4]
    if bound.shadow is None or bound.local_shadow is None or not isinstance(generator, GeneratorType):
        return None
    while generator.gi_yieldfrom is not None:
        generator = generator.gi_yieldfrom
    state = {
        name: _held(value)
        for name, value in generator.gi_frame.f_locals.items()
        if (not name.startswith("_kapi_") if names is None else name in names)
    }
    return run, state, bound.shadow.changes, bound.local_shadow.changes


def _held(value: Any) -> object:
    if isinstance(value, (int, float, complex, np.generic)):
        return value.__class__, value
    # Changes of private memory are not counted.
    return value.array.tobytes() if isinstance(value, View) and value.space == "private" else id(value)
