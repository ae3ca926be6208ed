"""Happens-before by atomics, fences and sub-groups, besides the barriers of work-groups.

A release makes a node that stands for all that its work-item did before; an acquire of the value that
was released makes the node known.  A node knows those that its work-item knew.  Whether an access is
ordered before the running work-item is looked up only where nothing simpler orders it.

In SYCL's model, a fence releases for the atomics of its own work-item, and acquires what these read.  CUDA's fences
reach over barriers: for a fence F, a barrier, and an atomic A whose value an atomic B reads, ahead of a barrier and
a fence G, PTX's model has F synchronise with G.  All ``fence.sc`` are in one order, and G ahead of F would have B
precede the A that it reads.  Without either fence, nothing is ordered.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from kapi_sim.items.schedule_state import ScheduleState
from kapi_sim.language.intrinsics.memory import MemoryOrder, MemoryScope

__all__ = ["Fence", "HappensBefore"]

_ACQUIRING = (MemoryOrder.ACQUIRE, MemoryOrder.ACQ_REL, MemoryOrder.SEQ_CST)
_RELEASING = (MemoryOrder.RELEASE, MemoryOrder.ACQ_REL, MemoryOrder.SEQ_CST)


class _Node:
    """The operations that a release publishes: those of some work-items up to a time, and what they had acquired.

    - `covers`: by work-item, the last of its ticks that the node stands for.
    - `group`, `epoch`: all that this group did before this epoch is stood for, too.
    - `known`: earlier nodes.
    """

    __slots__ = ("covers", "epoch", "group", "known")

    def __init__(self, covers: dict[int, int], group: int, epoch: int, known: tuple[_Node, ...]) -> None:
        self.covers = covers
        self.group = group
        self.epoch = epoch
        self.known = known


_Published = tuple[_Node, int, int]
"""A node, the work-item that released it, and the scope."""


class Fence(NamedTuple):
    """A fence that a work-item passed."""

    scope: int
    line: int


class HappensBefore:
    """The order that one launch's atomics, fences and sub-group barriers make.

    - `clock`: knows which work-item runs, and in which epoch.
    - `fences_cross_barriers`: whether a fence counts for the atomics of those whom a barrier joins with its work-item.
    - `depends_on_order`: whether one work-item read what another one released, as with a lock that both take.  What is
      ordered so may be unordered the other way round: one of them has no acquire or no release, or it uses elements
      outside.
    """

    __slots__ = (
        "_clock",
        "_fenced",
        "_fences",
        "_fences_cross_barriers",
        "_known",
        "_latest",
        "_locations",
        "_ticks",
        "_unfenced",
        "depends_on_order",
    )

    def __init__(self, clock: ScheduleState, fences_cross_barriers: bool = False) -> None:
        self._clock = clock
        self._fences_cross_barriers = fences_cross_barriers
        self.restart()

    def restart(self) -> None:
        """Go back to the start of the launch."""
        self._fences: dict[tuple[int, bool], Fence] = {}
        self._ticks: dict[int, int] = {}
        self._known: dict[int, dict[_Node, None]] = {}
        self._fenced: dict[int, tuple[_Published, ...]] = {}
        self._unfenced: dict[int, dict[_Published, None]] = {}
        self._locations: dict[int, list[_Published]] = {}
        self._latest: tuple[tuple[_Node, ...], _Horizon] | None = None
        self.depends_on_order = False

    def tick(self, uid: int) -> int:
        """Return how often a work-item has released."""
        return self._ticks.get(uid, 0)

    def is_in_scope(self, one: int, other: int, scope: int) -> bool:
        """Return whether a scope of one work-item holds the other."""
        if scope >= MemoryScope.DEVICE:
            return True
        clock = self._clock
        if scope == MemoryScope.WORK_GROUP:
            return clock.group_of(one) == clock.group_of(other)
        if scope == MemoryScope.SUB_GROUP:
            return clock.sub_group_of(one) == clock.sub_group_of(other)
        return one == other

    def see(self, address: int, order: int, scope: int) -> bool:
        """Take note of what the running work-item's atomic operation reads, before the operation is recorded.

        Returns whether it acquired all that was released there.
        """
        uid = self._clock.uid
        published = self._locations.get(address, ())
        seen = [p for p in published if self.is_in_scope(uid, p[1], min(scope, p[2]))]
        acquires = order in _ACQUIRING
        if published and published[-1][1] != uid:
            self.depends_on_order = True
        if acquires:
            self._learn(uid, seen)
            return len(seen) == len(published)
        if seen:
            unfenced = self._unfenced.setdefault(uid, {})
            if self._fences_cross_barriers:  # then a barrier's work-items share one
                unfenced = self._unfenced[uid] = dict(unfenced)
            unfenced.update(dict.fromkeys(seen))
        return not published

    def publish(self, address: int, order: int, scope: int, continues: bool, has_all: bool) -> None:
        """Take note of what the running work-item's atomic operation writes, after the operation is recorded.

        - `address`: of the element.
        - `order`, `scope`: of the operation.
        - `continues`: whether it read the element as well, and so goes on with what was released there.
        - `has_all`: what `see` returned.
        """
        uid = self._clock.uid
        earlier = self._locations.get(address, []) if continues else []
        new = self._fenced.get(uid, ())
        if order in _RELEASING:
            # Fences of its scope or a narrower one are known to its node.
            new = ((self._release(uid), uid, scope), *(fence for fence in new if fence[2] > scope))
            if has_all:
                # A node that knows the others stands for them; that of a fence was made before they were seen.
                earlier = []
        if published := [*earlier, *(each for each in new if each not in earlier)]:
            self._locations[address] = published
        else:
            self._locations.pop(address, None)

    def released(self, uid: int) -> Fence | None:
        """Return the latest fence of a work-item that releases."""
        return self._fences.get((uid, True))

    def acquired(self, uid: int) -> Fence | None:
        """Return the latest fence of a work-item that acquires."""
        return self._fences.get((uid, False))

    def fence(self, order: int, scope: int, line: int = 0) -> None:
        """Take note of the running work-item's fence, which stands at this line."""
        uid = self._clock.uid
        for releases, orders in ((True, _RELEASING), (False, _ACQUIRING)):
            if order in orders:
                self._fences[uid, releases] = Fence(scope, line)
        if order in _ACQUIRING:
            seen = self._unfenced.get(uid, {})
            self._learn(uid, [p for p in seen if self.is_in_scope(uid, p[1], min(scope, p[2]))])
        if order in _RELEASING:
            # The fence's node knows the earlier fences, and stands for those of no wider scope.
            wider = [fence for fence in self._fenced.get(uid, ()) if fence[2] > scope]
            self._fenced[uid] = ((self._release(uid), uid, scope), *wider)

    def join_group(self, members: list[int]) -> None:
        """Let all work-items of a group know what any of them knew."""
        self._join_fences(members)
        nodes = {node: None for member in members for node in self._known.get(member, ())}
        if not nodes:
            return
        if len(nodes) > 1:
            nodes = {_Node({}, self._clock.group_of(members[0]), 0, tuple(nodes)): None}
        for member in members:
            self._known[member] = nodes

    def join_sub_group(self, members: list[int]) -> None:
        """Order what the work-items of a sub-group did before what they do."""
        self._join_fences(members)
        nodes = {node: None for member in members for node in self._known.get(member, ())}
        covers = {member: self._ticks.get(member, 0) for member in members}
        node = _Node(covers, self._clock.group_of(members[0]), self._clock.epoch, tuple(nodes))
        for member, tick in covers.items():
            self._ticks[member] = tick + 1
            self._known[member] = {node: None}

    def is_known(self, uid: int, tick: int, epoch: int) -> bool:
        """Return whether an access is ordered before what the running work-item does.

        - `uid`: the work-item that made the access.
        - `tick`, `epoch`: when.
        """
        known = self._known.get(self._clock.uid)
        if not known:
            return False
        group = self._clock.group_of(uid)
        roots = tuple(known)
        if len(roots) == 1:
            # Often its own release, behind which all of a group know the same.
            (root,) = roots
            if root.covers.get(uid, -1) >= tick or (root.group == group and root.epoch > epoch):
                return True
            roots = root.known
        latest = self._latest
        if latest is None or latest[0] != roots:
            self._latest = latest = (roots, _Horizon(roots))
        return latest[1].holds(uid, group, tick, epoch)

    def _join_fences(self, members: list[int]) -> None:
        """Let the fences ahead of a barrier count for the atomics behind it, and those behind it for those ahead."""
        if not self._fences_cross_barriers:
            return
        fences = {fence: None for member in members for fence in self._fenced.get(member, ())}
        if fences:
            by_scope: dict[int, list[_Node]] = {}
            for node, _, scope in fences:
                by_scope.setdefault(scope, []).append(node)
            group = self._clock.group_of(members[0])
            joined = tuple(
                (nodes[0] if len(nodes) == 1 else _Node({}, group, 0, tuple(nodes)), members[0], scope)
                for scope, nodes in by_scope.items()
            )
            self._fenced.update(dict.fromkeys(members, joined))
        distinct = {id(seen): seen for member in members if (seen := self._unfenced.get(member))}
        if distinct:
            unfenced = {each: None for seen in distinct.values() for each in seen}
            self._unfenced.update(dict.fromkeys(members, unfenced))

    def _learn(self, uid: int, seen: list[_Published]) -> None:
        if seen:
            self._known[uid] = {**self._known.get(uid, {}), **{node: None for node, _, _ in seen}}

    def _release(self, uid: int) -> _Node:
        tick = self._ticks.get(uid, 0)
        clock = self._clock
        node = _Node({uid: tick}, clock.group_of(uid), clock.epoch, tuple(self._known.get(uid, ())))
        self._ticks[uid] = tick + 1
        self._known[uid] = {node: None}
        return node


class _Horizon:
    """All that some nodes stand for, looked through as far as was needed."""

    __slots__ = ("_epochs", "_pending", "_seen", "_ticks")

    def __init__(self, roots: tuple[_Node, ...]) -> None:
        self._pending = deque(roots)
        self._seen = set(roots)
        self._ticks: dict[int, int] = {}
        self._epochs: dict[int, int] = {}

    def holds(self, uid: int, group: int, tick: int, epoch: int) -> bool:
        ticks, epochs = self._ticks, self._epochs
        while not (ticks.get(uid, -1) >= tick or epochs.get(group, 0) > epoch):
            if not self._pending:
                return False
            node = self._pending.popleft()
            for member, last in node.covers.items():
                ticks[member] = max(ticks.get(member, -1), last)
            epochs[node.group] = max(epochs.get(node.group, 0), node.epoch)
            for earlier in node.known:
                if earlier not in self._seen:
                    self._seen.add(earlier)
                    self._pending.append(earlier)
        return True
