"""The state of a launch's schedule: the work-item that runs, and the epochs ordered before it.

The work-items of a launch are numbered as they stand in program order: group after group, and within
a group by local linear id.  An *epoch* is a stretch of a group's run between two barriers that order
memory.  Epochs count up through the whole launch, so two accesses are ordered exactly if one
work-item made both, or both lie in one group and in different epochs.
"""

from __future__ import annotations

from math import prod

from kapi_sim.items.convergence import DialectIntrinsic
from kapi_sim.language.intrinsics.index_space import NdRange, Range
from kapi_sim.language.source import SourceLocation

__all__ = ["ScheduleState", "unravel"]


class ScheduleState:
    """The position of a launch in its schedule.

    - `uid`: number of the work-item that runs.
    - `epoch`: the current epoch.
    - `group_start`: the first epoch of the group that runs.
    - `sub_group_size`: most work-items of a sub-group.
    - `weak_barrier`: the latest barrier of this epoch whose fence scope is too narrow to order memory.
    - `algorithm`: the latest group algorithm of this epoch, which orders no memory.
    - `last_barrier`: the barrier of the group with which this epoch began.
    - `words`: the intrinsics of a dialect that the kernel may come to.
    """

    __slots__ = (
        "algorithm",
        "epoch",
        "group_size",
        "group_start",
        "last_barrier",
        "space",
        "sub_group_size",
        "uid",
        "weak_barrier",
        "words",
    )

    def __init__(self, space: Range | NdRange, sub_group_size: int = 32) -> None:
        self.space = space
        self.words: list[DialectIntrinsic] = []
        self.sub_group_size = sub_group_size
        self.group_size = prod(space.local_range) if isinstance(space, NdRange) else 1
        self.weak_barrier: SourceLocation | None = None
        self.algorithm: SourceLocation | None = None
        self.last_barrier: SourceLocation | None = None
        self.restart()

    def restart(self) -> None:
        """Go back to the start of the launch."""
        self.uid = 0
        self.epoch = 0
        self.group_start = 0
        self.weak_barrier = None
        self.algorithm = None
        self.last_barrier = None

    def start_group(self) -> None:
        """Begin an epoch that no earlier one is ordered before."""
        self.epoch += 1
        self.group_start = self.epoch
        self.weak_barrier = None
        self.algorithm = None
        self.last_barrier = None

    def end_group(self, group: int) -> None:
        """End the run of a group."""

    def pass_barrier(self, orders_memory: bool, site: SourceLocation) -> None:
        """Begin an epoch after a barrier of the running group."""
        if orders_memory:
            self.epoch += 1
            self.weak_barrier = None
            self.algorithm = None
            self.last_barrier = site
        else:
            self.weak_barrier = site

    def group_of(self, uid: int) -> int:
        """Return the number of a work-item's group; of a Range launch, its own."""
        return uid // self.group_size

    def sub_group_of(self, uid: int) -> tuple[int, int]:
        """Return the numbers of a work-item's group and of its sub-group in it."""
        group, local = divmod(uid, self.group_size)
        return group, local // self.sub_group_size

    @property
    def extents(self) -> tuple[int, ...]:
        """Work-items along each dimension."""
        return tuple(self.space if isinstance(self.space, Range) else self.space.global_range)

    def global_id(self) -> tuple[int, ...]:
        """Return the global id of the running work-item."""
        if isinstance(self.space, Range):
            return unravel(self.uid, self.space)
        group, local = divmod(self.uid, self.group_size)
        ids = zip(
            unravel(group, self.space.group_range),
            self.space.local_range,
            unravel(local, self.space.local_range),
            strict=False,
        )
        return tuple(g * n + i for g, n, i in ids)

    def describe(self, uid: int | None = None) -> str:
        """Name a work-item, the running one if none is given, by its ids."""
        number = self.uid if uid is None else uid
        if isinstance(self.space, Range):
            return f"work-item global {unravel(number, self.space)}"
        group, local = divmod(number, self.group_size)
        group_id = unravel(group, self.space.group_range)
        local_id = unravel(local, self.space.local_range)
        global_id = tuple(g * n + i for g, n, i in zip(group_id, self.space.local_range, local_id, strict=False))
        return f"work-item global {global_id}, local {local_id}, group {group_id}"

    def describe_in_launch(self, uid: int) -> str:
        """Name a work-item by its ids within its group."""
        _, local = divmod(uid, self.group_size)
        return f"local {unravel(local, self.space.local_range)}" if isinstance(self.space, NdRange) else ""

    def label(self, uid: int) -> str:
        """Name a work-item by its global id alone."""
        return self.describe(uid).partition("global ")[2].partition("), ")[0].rstrip(")") + ")"

    @property
    def spelled_space(self) -> str:
        """The index space, as a report has it."""
        return repr(self.space)

    def in_words(self, text: str) -> str:
        """Return a message in the words of the dialect that the kernel is written in."""
        return text


def unravel(number: int, extents: tuple[int, ...]) -> tuple[int, ...]:
    """Return the index with this number, counted through all dimensions, the last the fastest."""
    index = []
    for extent in reversed(extents):
        number, i = divmod(number, extent)
        index.append(i)
    return tuple(reversed(index))
