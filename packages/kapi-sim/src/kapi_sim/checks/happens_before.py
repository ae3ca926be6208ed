"""Happens-before by atomics, fences and sub-groups, besides the barriers of work-groups.

A release makes a node that stands for all that its work-item did before; an acquire of the value that
was released makes the node known.  A node knows those that its work-item knew.  Whether an access is
ordered before the running work-item is looked up only where nothing simpler orders it.
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

    - `depends_on_order`: whether one work-item read what another one released, as with a lock that both take.  What is
      ordered so may be unordered the other way round: one of them has no acquire or no release, or it uses elements
      outside.
    """

    __slots__ = (
        "_clock",
        "_fenced",
        "_fences",
        "_known",
        "_latest",
        "_locations",
        "_ticks",
        "_unfenced",
        "depends_on_order",
    )

    def __init__(self, clock: ScheduleState) -> None:
        self._clock = clock
        self.restart()

    def restart(self) -> None:
        """Go back to the start of the launch."""
        self._fences: dict[tuple[int, bool], Fence] = {}
        self._ticks: dict[int, int] = {}
        self._known: dict[int, dict[_Node, None]] = {}
        self._fenced: dict[int, _Published] = {}
        self._unfenced: dict[int, dict[_Published, None]] = {}
        self._locations: dict[int, list[_Published]] = {}
        self._latest: tuple[int, tuple[_Node, ...], _Horizon] | None = None
        self.depends_on_order = False

    def tick(self, uid: int) -> int:
        """Return how often a work-item has released."""
        return self._ticks.get(uid, 0)

    def is_in_scope(self, one: int, other: int, scope: int) -> bool:
        """Tell whether a scope of one work-item holds the other."""
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
            self._unfenced.setdefault(uid, {}).update(dict.fromkeys(seen))
        return not published

    def publish(self, address: int, order: int, scope: int, continues: bool, has_all: bool) -> None:
        """Take note of what the running work-item's atomic operation writes, after the operation is recorded.

        - `address`: of the element.
        - `order`, `scope`: of the operation.
        - `continues`: whether it read the element as well, and so goes on with what was released there.
        - `has_all`: what `see` returned.
        """
        uid = self._clock.uid
        if order in _RELEASING:
            new: _Published | None = (self._release(uid), uid, scope)
        else:
            new = self._fenced.get(uid)
        earlier = self._locations.get(address, []) if continues else []
        if new is not None and new not in earlier:
            # A node that knows the others stands for them; that of a fence was made before they were seen.
            self._locations[address] = [new] if has_all and order in _RELEASING else [*earlier, new]
        elif not earlier:
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
            self._fenced[uid] = (self._release(uid), uid, scope)

    def join_group(self, members: list[int]) -> None:
        """Let all work-items of a group know what any of them knew."""
        nodes = {node: None for member in members for node in self._known.get(member, ())}
        if not nodes:
            return
        if len(nodes) > 1:
            nodes = {_Node({}, self._clock.group_of(members[0]), 0, tuple(nodes)): None}
        for member in members:
            self._known[member] = nodes

    def join_sub_group(self, members: list[int]) -> None:
        """Order what the work-items of a sub-group did before what they do."""
        nodes = {node: None for member in members for node in self._known.get(member, ())}
        covers = {member: self._ticks.get(member, 0) for member in members}
        node = _Node(covers, self._clock.group_of(members[0]), self._clock.epoch, tuple(nodes))
        for member, tick in covers.items():
            self._ticks[member] = tick + 1
            self._known[member] = {node: None}

    def is_known(self, uid: int, tick: int, epoch: int) -> bool:
        """Tell whether an access is ordered before what the running work-item does.

        - `uid`: the work-item that made the access.
        - `tick`, `epoch`: when.
        """
        known = self._known.get(self._clock.uid)
        if not known:
            return False
        roots = tuple(known)
        latest = self._latest
        if latest is None or latest[0] != self._clock.uid or latest[1] != roots:
            self._latest = latest = (self._clock.uid, roots, _Horizon(roots))
        return latest[2].holds(uid, self._clock.group_of(uid), tick, epoch)

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
