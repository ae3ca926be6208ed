"""The simulator's work-items and groups.

One object serves many work-items one after the other: the scheduler moves it by storing ids, which is why a
kernel may ask but not keep it.  All results are Python integers, that is, weak.
"""

from __future__ import annotations

from math import prod
from operator import mul

from kapi_sim.errors import OutOfBoundsError
from kapi_sim.language.intrinsics.index_space import Group, Item, NdItem, NdRange, Range, SubGroup
from kapi_sim.short_repr import short_repr

__all__ = ["Cluster", "SimGroup", "SimItem", "SimNdItem", "SimSubGroup", "linear"]


def linear(index: tuple[int, ...], extents: tuple[int, ...]) -> int:
    """Return the index counted through all dimensions, the last the fastest."""
    result = 0
    for i, extent in zip(index, extents, strict=False):
        result = result * extent + i
    return result


def _component(values: tuple[int, ...], dim: int) -> int:
    """Return ``values[dim]``, the slow path that explains what is wrong."""
    if isinstance(dim, bool) or not hasattr(dim, "__index__") or not 0 <= dim < len(values):
        raise OutOfBoundsError(
            f"dim must be an integer from 0 to {len(values) - 1} in a launch of {len(values)} dimensions, got "
            f"{short_repr(dim)}",
            code="dim-out-of-range",
        )
    return values[dim]


class SimItem(Item):
    """A work-item of a Range launch."""

    __slots__ = ("_range", "id")

    def __init__(self, extents: Range) -> None:
        self._range = tuple(extents)
        self.id: tuple[int, ...] = (0,) * len(extents)

    def __repr__(self) -> str:
        return f"<Item {self.id} of {Range(*self._range)!r}>"

    def get_id(self, dim: int) -> int:
        if dim.__class__ is int and 0 <= dim < len(self.id):
            return self.id[dim]
        return _component(self.id, dim)

    def get_linear_id(self) -> int:
        return linear(self.id, self._range)

    def get_range(self, dim: int) -> int:
        values = self._range
        return values[dim] if dim.__class__ is int and 0 <= dim < len(values) else _component(values, dim)

    def get_linear_range(self) -> int:
        return prod(self._range)

    @property
    def dimensions(self) -> int:
        return len(self._range)


class Cluster:
    """The group that is running, shared by its work-items.

    - `id`: its index; the scheduler stores the next group's here, by `move`.
    - `start`: global id of its first work-item.
    - `size`: work-items of a group.
    - `sub_group_size`: most work-items of a sub-group.
    """

    __slots__ = ("global_range", "group_range", "id", "local_range", "size", "start", "sub_group_size")

    def __init__(self, space: NdRange, sub_group_size: int) -> None:
        self.id: tuple[int, ...] = (0,) * space.ndim
        self.global_range = tuple(space.global_range)
        self.local_range = tuple(space.local_range)
        self.group_range = tuple(space.group_range)
        self.size = space.local_range.size
        self.sub_group_size = sub_group_size
        self.start = self.id

    def move(self, index: tuple[int, ...]) -> None:
        """Become the group with this index."""
        self.id = index
        self.start = tuple(map(mul, index, self.local_range))

    def sub_group(self, local: int) -> range:
        """Return the local linear ids of the sub-group that the work-item `local` belongs to."""
        start = local // self.sub_group_size * self.sub_group_size
        return range(start, min(start + self.sub_group_size, self.size))


class SimGroup(Group):
    """A group, seen from one work-item."""

    __slots__ = ("cluster", "item")

    def __init__(self, cluster: Cluster, item: SimNdItem) -> None:
        self.cluster = cluster
        self.item = item

    def __repr__(self) -> str:
        return f"<Group {self.cluster.id} of {self.cluster.group_range}, seen from local {self.item.local}>"

    def get_group_id(self, dim: int) -> int:
        return _component(self.cluster.id, dim)

    def get_group_linear_id(self) -> int:
        return linear(self.cluster.id, self.cluster.group_range)

    def get_group_range(self, dim: int) -> int:
        return _component(self.cluster.group_range, dim)

    def get_group_linear_range(self) -> int:
        return prod(self.cluster.group_range)

    def get_local_id(self, dim: int) -> int:
        return self.item.get_local_id(dim)

    def get_local_linear_id(self) -> int:
        return self.item.get_local_linear_id()

    def get_local_range(self, dim: int) -> int:
        values = self.cluster.local_range
        return values[dim] if dim.__class__ is int and 0 <= dim < len(values) else _component(values, dim)

    def get_local_linear_range(self) -> int:
        return prod(self.cluster.local_range)

    @property
    def leader(self) -> bool:
        return not any(self.item.local)

    @property
    def dimensions(self) -> int:
        return len(self.cluster.id)


class SimSubGroup(SubGroup):
    """A sub-group, seen from one work-item."""

    __slots__ = ("cluster", "item")

    def __init__(self, cluster: Cluster, item: SimNdItem) -> None:
        self.cluster = cluster
        self.item = item

    def __repr__(self) -> str:
        return f"<SubGroup {self.get_group_id()} of {self.get_group_range()}, seen from local id {self.get_local_id()}>"

    def get_group_id(self) -> int:
        return self.item.get_local_linear_id() // self.cluster.sub_group_size

    def get_group_range(self) -> int:
        return -(-self.cluster.size // self.cluster.sub_group_size)

    def get_local_id(self) -> int:
        return self.item.get_local_linear_id() % self.cluster.sub_group_size

    def get_local_range(self) -> int:
        return len(self.cluster.sub_group(self.item.get_local_linear_id()))

    def get_max_local_range(self) -> int:
        return self.cluster.sub_group_size

    @property
    def leader(self) -> bool:
        return self.get_local_id() == 0


class SimNdItem(NdItem):
    """A work-item of an NdRange launch."""

    __slots__ = ("_dimensions", "_group", "_local_range", "cluster", "local")

    def __init__(self, cluster: Cluster, local: tuple[int, ...]) -> None:
        self.cluster = cluster
        self.local = local
        self._group = SimGroup(cluster, self)
        # At hand, for kernels ask for little else.
        self._local_range = cluster.local_range
        self._dimensions = len(local)

    def __repr__(self) -> str:
        cluster = self.cluster
        ids = tuple(g * n + i for g, n, i in zip(cluster.id, cluster.local_range, self.local, strict=True))
        space = NdRange(cluster.global_range, cluster.local_range)
        return f"<NdItem global {ids}, local {self.local}, group {cluster.id} of {space!r}>"

    def get_global_id(self, dim: int) -> int:
        if dim.__class__ is int and 0 <= dim < self._dimensions:
            return self.cluster.start[dim] + self.local[dim]
        return _component(self.local, dim)

    def get_global_linear_id(self) -> int:
        cluster = self.cluster
        index = tuple(g * n + i for g, n, i in zip(cluster.id, cluster.local_range, self.local, strict=False))
        return linear(index, cluster.global_range)

    def get_global_range(self, dim: int) -> int:
        values = self.cluster.global_range
        return values[dim] if dim.__class__ is int and 0 <= dim < len(values) else _component(values, dim)

    def get_global_linear_range(self) -> int:
        return prod(self.cluster.global_range)

    def get_local_id(self, dim: int) -> int:
        if dim.__class__ is int and 0 <= dim < self._dimensions:
            return self.local[dim]
        return _component(self.local, dim)

    def get_local_linear_id(self) -> int:
        return linear(self.local, self.cluster.local_range)

    def get_local_range(self, dim: int) -> int:
        if dim.__class__ is int and 0 <= dim < self._dimensions:
            return self._local_range[dim]
        return _component(self._local_range, dim)

    def get_local_linear_range(self) -> int:
        return prod(self.cluster.local_range)

    def get_group(self) -> Group:
        return self._group

    def get_sub_group(self) -> SubGroup:
        return SimSubGroup(self.cluster, self)

    @property
    def dimensions(self) -> int:
        return len(self.local)
