"""One work-group's run: from one convergence point to the next, one work-item after the other.

A work-item runs until it yields: at a barrier, at a group algorithm, or in a loop that runs for
long.  When all have stopped, the sub-groups whose members converged go on, else the entire group.
"""

from __future__ import annotations

from types import GeneratorType
from typing import TYPE_CHECKING, Any

from kapi_sim.checks.convergence import Arrival, call_sites, check_arrivals, check_uniform, describe_arrivals
from kapi_sim.checks.initialisation import unwritten_read
from kapi_sim.errors import CollectiveMismatchError, KapiError
from kapi_sim.items.convergence import (
    ACTIVE,
    ALGORITHM,
    GRID,
    GROUP,
    Contributions,
    Converging,
    Lanes,
    Participants,
    Yielded,
    parameters_of,
)
from kapi_sim.items.items import Cluster, SimGroup, SimSubGroup
from kapi_sim.items.undefined_values import Undefined
from kapi_sim.language.intrinsics.group_algorithms import select_from_group
from kapi_sim.language.intrinsics.memory import MemoryScope
from kapi_sim.language.source import SourceLocation
from kapi_sim.memory.arguments import Bound
from kapi_sim.memory.infinite_loops import SPIN, Loop, deadlock, loop_state
from kapi_sim.run.group_algorithms import BeyondGroup, outcome, poisoned
from kapi_sim.run.group_misuse import endless, missing_sub_group, not_in_mask, wrong_group, wrong_scope

if TYPE_CHECKING:
    from kapi_sim.run.execution_order import Shuffler

__all__ = ["GroupRun", "end_phase"]

_MOST_PATIENCE = 4
"""Of a group that runs loops, so many work-items may use up the iterations of one."""

_OF_SUB_GROUPS = (("delta",), ("mask",), ("remote_local_id",))
"""The parameter by which an algorithm that only sub-groups have is known."""


class GroupRun:
    """One work-group's run.

    - `bound`: the launch's arguments and clock.
    - `base`: number of its first work-item.
    - `generators`: its work-items' runs, by local linear id.
    - `checks_convergence`: whether a convergence point that a part of a group reaches is an error.
    """

    __slots__ = (
        "_answers",
        "_arrivals",
        "_base",
        "_bound",
        "_checks_convergence",
        "_clock",
        "_cluster",
        "_generators",
        "_given",
        "_has_converged_in_part",
        "_known_states",
        "_left",
        "_marks_returns",
        "_ready",
        "_returned",
        "_rounds",
        "_spinning",
        "_spun",
    )

    def __init__(
        self, bound: Bound, cluster: Cluster, base: int, generators: list[Any], checks_convergence: bool
    ) -> None:
        self._bound = bound
        self._clock = bound.clock
        self._cluster = cluster
        self._base = base
        self._generators = generators
        self._checks_convergence = checks_convergence
        self._arrivals: dict[int, Arrival] = {}
        self._given: dict[int, tuple[Any, Any]] = {}
        self._answers: dict[int, Any] = {}
        self._spinning: dict[int, Yielded] = {}
        self._left: list[int] = []
        self._has_converged_in_part = False
        self._known_states: dict[int, object] = {}
        self._spun = 0
        self._rounds = 0
        self._ready = list(range(len(generators)))
        self._marks_returns = bound.dialect.marks_returns
        self._returned: dict[int, int] = {}

    def run(self, shuffler: Shuffler | None) -> bool:
        """Run all work-items to their ends, or until they wait for those of all groups; return whether they wait."""
        ready = self._ready
        while True:
            if shuffler is not None:
                shuffler.shuffle(ready)
            self._resume(ready)
            ready = self._settle_sub_groups() if self._has_converged_in_part else []
            if ready:
                ready += self._spinning
                self._known_states = {}
            elif self._spinning:
                self._resume_spinning()
            elif any(arrival.part is GRID for arrival in self._arrivals.values()):
                self._stop_at_grid()
                return True
            elif self._arrivals:
                ready = self._settle_group()
            else:
                end_phase(self._bound)
                return False

    def _resume(self, ready: list[int]) -> None:
        """Let work-items run, each until it yields or ends."""
        clock, base, generators = self._clock, self._base, self._generators
        answers, spinning, arrivals = self._answers, self._spinning, self._arrivals
        # Most work-items come to the barrier that the one before came to, and that is all there is to see of it.
        location: tuple[Any, ...] | None = None
        arrival: Arrival | None = None
        is_looked_at = self._bound.recorder is not None or not self._checks_convergence
        for local in ready:
            clock.uid = base + local
            generator = generators[local]
            if self._marks_returns or (answers and local in answers):
                try:
                    yielded = generator.send(answers.pop(local, None))
                except StopIteration as end:
                    yielded = None
                    if end.value is not None:
                        self._returned[local] = end.value
            else:
                yielded = next(generator, None)
            if spinning:
                spinning.pop(local, None)
            if yielded is None:
                self._left.append(local)
            elif yielded[2] is SPIN:
                spinning[local] = yielded
            elif (
                arrival is not None
                and yielded[0] == location
                and yielded[2] == arrival.scope
                and (yielded[1] is GROUP or (yielded[1].__class__ is SimGroup and yielded[1].cluster is self._cluster))
                and generator.gi_yieldfrom is None
            ):
                arrivals[local] = arrival
            else:
                self._arrive(local, generator, yielded)
                arrival = arrivals[local]
                location = yielded[0]
                if (
                    is_looked_at
                    or arrival.word is not None
                    or arrival.calls
                    or generator.__class__ is not GeneratorType
                ):
                    arrival = None

    def _arrive(self, local: int, generator: Any, yielded: Yielded) -> None:
        site, group, scope = yielded[:3]
        part: Participants | None = None
        if isinstance(group, Participants):
            is_sub_group = isinstance(group, Lanes) or group is ACTIVE
            part = group if is_sub_group or group is GRID else None
            if isinstance(group, Lanes) and not group.mask >> local % self._cluster.sub_group_size & 1:
                generator.throw(not_in_mask(self._clock, local % self._cluster.sub_group_size, group, yielded))
        else:
            is_sub_group = group.__class__ is SimSubGroup
            if not (is_sub_group or group.__class__ is SimGroup) or group.cluster is not self._cluster:
                generator.throw(wrong_group(yielded))
        if is_sub_group:
            self._has_converged_in_part = True
        calls: tuple[Any, ...] = ()
        if self._checks_convergence:
            calls = call_sites(generator)
        else:
            # The iterations of loops are not told apart.
            site = site[:3]
        if scope == ALGORITHM:
            word, value, argument = yielded[3:]
            if not is_sub_group and part is None and parameters_of(word)[2:3] in _OF_SUB_GROUPS:
                generator.throw(missing_sub_group(word.__name__, group))
            self._given[local] = value, argument
            self._arrivals[local] = Arrival(site, calls, int(MemoryScope.WORK_ITEM), word, is_sub_group, part)
        else:
            if scope.__class__ is not MemoryScope and scope.__class__ is not int:
                generator.throw(wrong_scope(scope))
            self._arrivals[local] = Arrival(site, calls, int(scope), None, is_sub_group, part)
        if self._bound.recorder is not None:
            arrival = self._arrivals[local]
            kind = "sub-group" if is_sub_group else "barrier" if arrival.word is None else "algorithm"
            word = yielded[3] if len(yielded) > 3 else None
            name = "group_barrier" if word is None else word.__name__
            self._bound.recorder.note_convergence(kind, self._base + local, site[0], site[1], name)

    def _settle_sub_groups(self) -> list[int]:
        """Let the sub-groups go on that have converged, and return their work-items."""
        released: list[int] = []
        waiting = sorted(local for local, arrival in self._arrivals.items() if arrival.is_sub_group)
        done: set[int] = set()
        for local in waiting:
            part = self._arrivals[local].part if local in self._arrivals else None
            if part is not None:
                released += self._settle_lanes(local)
                continue
            members = self._cluster.sub_group(local)
            if members.start in done or local not in self._arrivals:
                continue
            done.add(members.start)
            # One that is in a loop may still come.
            if any(member in self._spinning for member in members):
                continue
            arrivals = {member: self._arrivals[member] for member in members if member in self._arrivals}
            if self._checks_convergence:
                left = [member for member in members if member in self._left]
                check_arrivals(self._clock, self._base, len(members), arrivals, left)
            released += self._converge({m: arrival for m, arrival in arrivals.items() if arrival.is_sub_group})
        if released:
            self._count_round()
        return released

    def _lanes(self, local: int) -> list[int]:
        """Return the work-items, of those that have not left, that the mask which `local` gave names."""
        part = self._arrivals[local].part
        members = self._cluster.sub_group(local)
        if part is ACTIVE:
            return [member for member in members if self._arrivals.get(member) == self._arrivals[local]]
        mask = part.mask if isinstance(part, Lanes) else 0
        return [member for lane, member in enumerate(members) if mask >> lane & 1 and member not in self._left]

    def _settle_lanes(self, local: int) -> list[int]:
        """Let those that a mask names go on if all have come, and return them."""
        arrival, members = self._arrivals[local], self._lanes(local)
        if any(self._arrivals.get(member) != arrival for member in members):
            return []
        return self._converge(dict.fromkeys(members, arrival))

    def _stop_at_grid(self) -> None:
        """End a phase after which the work-items of all groups go on."""
        arrivals = dict(sorted(self._arrivals.items()))
        if self._checks_convergence:
            check_arrivals(self._clock, self._base, len(arrivals), arrivals, [])
        end_phase(self._bound)
        self._ready = list(arrivals)
        self._arrivals.clear()
        self._count_round()

    def _missing(self, arrivals: dict[int, Arrival]) -> list[int]:
        """Return who has left the kernel and is waited for at a barrier all the same."""
        if not self._returned:
            return self._left
        first = next(iter(arrivals.values()))
        line = first.calls[0][1] if first.calls else first.site[1]
        # Who returns ahead of a barrier takes no part in it.
        return [local for local in self._left if self._returned.get(local, line) >= line]

    def _settle_group(self) -> list[int]:
        """Let the whole group go on, and return its work-items."""
        count = len(self._generators)
        first = next(iter(self._arrivals.values()))
        if len(self._arrivals) == count and first.word is None and self._bound.recorder is None:
            if len(set(map(id, self._arrivals.values()))) == 1:
                # All are at one barrier.
                members = list(range(count))
                end_phase(self._bound)
                self._count_round()
                self._pass_barrier(first, members)
                self._arrivals.clear()
                return members
        arrivals = dict(sorted(self._arrivals.items()))
        if any(arrival.word is None for arrival in arrivals.values()):
            end_phase(self._bound)
        if self._checks_convergence:
            for local, arrival in arrivals.items():
                if arrival.part is not None:
                    lanes = self._lanes(local)
                    there = {member: arrivals[member] for member in lanes if member in arrivals}
                    check_arrivals(self._clock, self._base, len(lanes), there, [])
            missing = self._missing(arrivals)
            check_arrivals(self._clock, self._base, len(arrivals) + len(missing), arrivals, missing)
        self._count_round()
        return self._converge(arrivals)

    def _converge(self, arrivals: dict[int, Arrival]) -> list[int]:
        """Carry out one convergence point, or without checks several, and return who goes on."""
        first = next(iter(arrivals.values()))
        locations = {first.site: list(arrivals)}
        if not self._checks_convergence:
            locations = {}
            for local, arrival in arrivals.items():
                locations.setdefault(arrival.site, []).append(local)
        for members in locations.values():
            arrival = arrivals[members[0]]
            if arrival.word is not None:
                self._compute(arrival, members)
            else:
                self._pass_barrier(arrival, members)
            if not arrival.is_sub_group and self._bound.recorder is not None:
                self._bound.recorder.pass_convergence()
        for local in arrivals:
            del self._arrivals[local]
        return list(arrivals)

    def _pass_barrier(self, arrival: Arrival, members: list[int]) -> None:
        ordering = self._bound.ordering
        site = SourceLocation(*arrival.site[:2])
        if arrival.is_sub_group or arrival.scope == MemoryScope.SUB_GROUP:
            if arrival.scope >= MemoryScope.SUB_GROUP and ordering is not None:
                for part in self._parts(members):
                    ordering.join_sub_group([self._base + member for member in part])
            if not arrival.is_sub_group:
                self._clock.pass_barrier(False, site)
        else:
            self._clock.pass_barrier(arrival.scope >= MemoryScope.WORK_GROUP, site)
            if ordering is not None and arrival.scope >= MemoryScope.WORK_GROUP:
                ordering.join_group([self._base + member for member in members])

    def _parts(self, members: list[int]) -> list[list[int]]:
        parts: dict[int, list[int]] = {}
        for member in members:
            parts.setdefault(self._cluster.sub_group(member).start, []).append(member)
        return list(parts.values())

    def _compute(self, arrival: Arrival, members: list[int]) -> None:
        """Give each member what a group algorithm has for it."""
        word = arrival.word
        assert word is not None
        is_barrier = isinstance(word, Converging) and word.is_barrier
        if not is_barrier:
            self._clock.algorithm = SourceLocation(*arrival.site[:2])
        given = {local: self._given.pop(local) for local in members}
        values = [value for value, _ in given.values()]
        arguments: Any = [argument for _, argument in given.values()]
        name = "".join(parameters_of(word)[2:])
        if word is not select_from_group and not isinstance(word, Converging):
            if self._checks_convergence and name:
                try:
                    check_uniform(self._clock, self._base, arrival, name, {m: pair[1] for m, pair in given.items()})
                except CollectiveMismatchError as error:
                    self._throw(members[0], error)
            arguments = arguments[0]

        def undefined(member: int, wanted: str) -> Any:
            if not self._checks_convergence:
                return poisoned(values[member])
            return Undefined(
                f"{self._clock.describe(self._base + members[member])} had it from {word.__name__} at "
                f"{SourceLocation(*arrival.site[:2])}, which has no work-item with {wanted}"
            )

        try:
            if isinstance(word, Converging):
                size = self._cluster.sub_group_size if arrival.is_sub_group else len(self._generators)
                ids = [member % size for member in members]
                results = word.outcome(Contributions(ids, values, arguments, undefined))
            else:
                results = outcome(word, values, arguments, self._bound.checks_limits, undefined)
        except BeyondGroup as error:
            local = members[error.member or 0]
            self._throw(
                local, CollectiveMismatchError(f"{error.message}\n  {self._by(local, arrival)}", code=error.code)
            )
        except KapiError as error:
            self._throw(members[0], error)
        else:
            self._answers.update(zip(members, results, strict=True))
            if is_barrier:
                self._pass_barrier(arrival._replace(scope=int(MemoryScope.WORK_GROUP)), members)

    def _by(self, local: int, arrival: Arrival) -> str:
        return f"{self._clock.describe(self._base + local)} at {SourceLocation(*arrival.site[:2])}"

    def _throw(self, local: int, error: Exception) -> None:
        """Raise `error` at the line where a work-item waits."""
        self._clock.uid = self._base + local
        self._generators[local].throw(error)
        raise error

    def _count_round(self) -> None:
        self._rounds += 1
        if self._rounds > self._bound.spin_limit:
            raise endless(self._rounds)

    def _resume_spinning(self) -> None:
        """Let the work-items that are in loops run an iteration each, while all others wait."""
        states = {
            local: loop_state(self._bound, self._generators[local], each) for local, each in self._spinning.items()
        }
        # Work-items that come round to where they were, with nothing written, do so for ever.
        is_stuck = self._known_states == states and None not in states.values()
        self._known_states = states
        for local in list(self._spinning):
            self._resume([local])
            if local not in self._spinning:
                self._spun = 0
                is_stuck = False
                continue
            self._spun += self._spinning[local][3]
            if is_stuck or self._spun >= self._bound.spin_limit * min(len(self._spinning), _MOST_PATIENCE):
                others = describe_arrivals(self._clock, self._base, self._arrivals, self._left)
                stuck: dict[int, Loop] = {self._base + number: each[0] for number, each in self._spinning.items()}
                self._generators[local].throw(deadlock(self._bound, stuck, others, is_stuck))


def end_phase(bound: Bound) -> None:
    """Raise for what was read, in the phase that ends, and nobody wrote."""
    for shadow in (bound.local_shadow, bound.shadow):
        if shadow is not None and shadow.unwritten:
            error = unwritten_read(shadow)
            if error is not None:
                raise error
