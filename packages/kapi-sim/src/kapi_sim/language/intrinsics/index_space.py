"""Index spaces, and the objects by which a work-item asks where it stands in one.

`Range` and `NdRange` are values made on the host.  `Item`, `NdItem`, `Group` and `SubGroup` are the vocabulary
of kernels: typed stubs that say what each query means.  The simulator derives from them; the
compiler lowers their methods.  Dimensions count from 0, and the last is the fastest.

References
----------
SYCL 2020 specification, section 4.9.1, "Defining kernels": ranges, items, nd-items and groups.
"""

from __future__ import annotations

import operator
from typing import Any, NoReturn, SupportsIndex

from kapi_sim.errors import KernelLaunchError, LimitError
from kapi_sim.short_repr import short_repr

__all__ = ["MAX_DIMENSIONS", "Group", "Item", "NdItem", "NdRange", "Range", "SubGroup", "as_range"]

MAX_DIMENSIONS = 3
"""Dimensions that an index space may have."""

_LARGEST = 2**63 - 1
_SMALL = 2**21 - 1  # of three such extents, the product is none too large
_NO_INDEX = (TypeError, IndexError, ValueError)  # what `operator.index` raises differs by the library of an array


class Range(tuple[int, ...]):
    """Extents of an index space of one to three dimensions, in work-items.

    Parameters
    ----------
    *extents : int
        One to three extents, each at least 0.  The last dimension is the fastest.

    Raises
    ------
    LimitError
        If there are no or more than three extents, or one is negative or not an integer.

    Examples
    --------
    >>> Range(4, 0, 5)
    Range(4, 0, 5)
    >>> Range(4, 3).size
    12
    >>> Range(4, -1)
    Traceback (most recent call last):
      ...
    kapi_sim.errors.LimitError: extents of a Range must be integers of at least 0, got (4, -1) [range-extent]
    """

    __slots__ = ()

    def __new__(cls, *extents: SupportsIndex) -> Range:
        __tracebackhide__ = True  # pytest shows the user's line, not this
        if not 1 <= len(extents) <= MAX_DIMENSIONS:
            raise LimitError(
                f"a Range must have one to three dimensions, got {len(extents)}: {short_repr(extents)}",
                code="range-dimensions",
            )
        for extent in extents:  # most are made for one launch, which takes little longer than what follows
            if type(extent) is not int or not 0 <= extent <= _SMALL:
                break
        else:
            return tuple.__new__(cls, extents)
        try:
            values = tuple(operator.index(extent) for extent in extents)
        except _NO_INDEX:
            is_shape = len(extents) == 1 and isinstance(extents[0], (tuple, list))
            hint = f"; write Range(*{extents[0]})" if is_shape else ""
            raise LimitError(
                f"extents of a Range must be integers of at least 0, got {short_repr(extents)}{hint}",
                code="range-extent",
            ) from None
        if min(values) < 0:
            raise LimitError(
                f"extents of a Range must be integers of at least 0, got {short_repr(extents)}", code="range-extent"
            )
        self = super().__new__(cls, values)
        if self.size > _LARGEST:
            raise LimitError(
                f"a Range must have fewer than 2**63 work-items, got {short_repr(values)}", code="range-too-large"
            )
        return self

    def __getnewargs__(self) -> tuple[int, ...]:
        return tuple(self)

    @property
    def ndim(self) -> int:
        """Number of dimensions, 1 to 3."""
        return len(self)

    @property
    def size(self) -> int:
        """Number of work-items: the product of the extents."""
        product = 1
        for extent in self:
            product *= extent
        return product

    def __repr__(self) -> str:
        return f"Range({', '.join(map(str, self))})"


def as_range(value: object, subject: str = "a range") -> Range:
    """Return `value`, a Range, an integer or a sequence of integers, as a Range.

    Parameters
    ----------
    value : Range or int or sequence of int
        What a caller gave.
    subject : str
        What to call it in the error.

    Raises
    ------
    LimitError
        If it is none of these, or its extents do not make a Range.
    """
    if isinstance(value, Range):
        return value
    if isinstance(value, (tuple, list)):
        return Range(*value)
    try:
        extent = operator.index(value)  # type: ignore[arg-type]
    except _NO_INDEX:
        raise LimitError(
            f"{subject} must be a Range, an integer or a tuple of integers, got {short_repr(value)}", code="range-type"
        ) from None
    return Range(extent)


class NdRange:
    """An index space cut into work-groups of one shape.

    Parameters
    ----------
    global_range : Range or int or tuple of int
        Extents of the whole space, in work-items.
    local_range : Range or int or tuple of int
        Extents of one work-group, in work-items; each must divide the global extent.

    Raises
    ------
    LimitError
        If the dimensions differ, a local extent is 0, or one does not divide the global extent.

    Examples
    --------
    >>> NdRange(128, 64).group_range
    Range(2)
    >>> NdRange(100, 64)
    Traceback (most recent call last):
      ...
    kapi_sim.errors.LimitError: local_range must divide global_range, got 64 and 100: \
round the global range up to 128 and guard the kernel with `if i < n` [local-range-divides]
    """

    __slots__ = ("_global", "_local")

    def __init__(self, global_range: Any, local_range: Any) -> None:
        __tracebackhide__ = True  # pytest shows the user's line, not this
        range_ = as_range(global_range, "global_range")
        local = as_range(local_range, "local_range")
        if range_.ndim != local.ndim:
            raise LimitError(
                "local_range must have as many dimensions as global_range, "
                f"got {local.ndim} and {range_.ndim}: {tuple(local)} and {tuple(range_)}",
                code="local-range-dimensions",
            )
        if 0 in local:
            raise LimitError(
                f"extents of local_range must be at least 1, got {tuple(local)}", code="local-range-extent"
            )
        if any(g % n for g, n in zip(range_, local, strict=False)):
            raise LimitError(
                f"local_range must divide global_range, got {_spelled(local)} and {_spelled(range_)}: "
                + _alternatives(range_, local),
                code="local-range-divides",
            )
        self._global = range_
        self._local = local

    @classmethod
    def from_groups(cls, group_range: Any, local_range: Any) -> NdRange:
        """Return the index space of so many work-groups, as CUDA counts it.

        Parameters
        ----------
        group_range : Range or int or tuple of int
            Number of work-groups along each dimension.
        local_range : Range or int or tuple of int
            Extents of one work-group, in work-items.

        Raises
        ------
        LimitError
            If the dimensions differ, or a local extent is 0.

        Examples
        --------
        >>> NdRange.from_groups(4, 64)
        NdRange((256,), (64,))
        >>> NdRange.from_groups((2, 3), (8, 16)).global_range
        Range(16, 48)
        """
        groups = as_range(group_range, "group_range")
        local = as_range(local_range, "local_range")
        if groups.ndim != local.ndim:
            raise LimitError(
                "local_range must have as many dimensions as group_range, "
                f"got {local.ndim} and {groups.ndim}: {tuple(local)} and {tuple(groups)}",
                code="local-range-dimensions",
            )
        return cls(_times(groups, local), local)

    @property
    def global_range(self) -> Range:
        """Extents of the whole space, in work-items."""
        return self._global

    @property
    def local_range(self) -> Range:
        """Extents of one work-group, in work-items."""
        return self._local

    @property
    def group_range(self) -> Range:
        """Number of work-groups along each dimension."""
        return Range(*(g // n for g, n in zip(self._global, self._local, strict=False)))

    @property
    def ndim(self) -> int:
        """Number of dimensions, 1 to 3."""
        return self._global.ndim

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, NdRange):
            return NotImplemented
        return self._global == other._global and self._local == other._local

    def __hash__(self) -> int:
        return hash((self._global, self._local))

    def __repr__(self) -> str:
        return f"NdRange({tuple(self._global)}, {tuple(self._local)})"


def _times(groups: Range, local: Range) -> tuple[int, ...]:
    return tuple(count * extent for count, extent in zip(groups, local, strict=True))


def _spelled(extents: tuple[int, ...]) -> str:
    return str(extents[0]) if len(extents) == 1 else str(tuple(extents))


def _alternatives(range_: Range, local: Range) -> str:
    """Say what to write in place of a global range that the local range does not divide."""
    rounded = tuple(-(-g // n) * n for g, n in zip(range_, local, strict=True))
    rounding = f"round the global range up to {_spelled(rounded)} and guard the kernel with `if i < n`"
    if all(n <= g for g, n in zip(range_, local, strict=True)):
        return rounding
    # In CUDA the first number of a launch counts blocks.
    groups, extent = _spelled(range_), _spelled(local)
    return (
        f"the global range counts work-items, not work-groups. For {groups} work-groups write "
        f"NdRange({_spelled(_times(range_, local))}, {extent}) or NdRange.from_groups({groups}, {extent}). "
        f"For {groups} work-items {rounding}"
    )


def _only_in_kernels(name: str) -> NoReturn:
    raise KernelLaunchError(
        f"{name} must be asked inside a kernel, got a call outside of one: "
        "launch the kernel with call_kernel, which makes these objects",
        code="outside-kernel",
    )


class Item:
    """A work-item of a `Range` launch: first parameter of a kernel without work-groups."""

    __slots__ = ()

    def get_id(self, dim: int) -> int:
        """Index of the work-item along `dim`, a weak int from 0 to ``get_range(dim) - 1``."""
        _only_in_kernels("Item.get_id")

    def get_linear_id(self) -> int:
        """Index of the work-item counted through all dimensions, the last the fastest."""
        _only_in_kernels("Item.get_linear_id")

    def get_range(self, dim: int) -> int:
        """Extent of the index space along `dim`, in work-items."""
        _only_in_kernels("Item.get_range")

    def get_linear_range(self) -> int:
        """Number of work-items in the index space."""
        _only_in_kernels("Item.get_linear_range")

    @property
    def dimensions(self) -> int:
        """Number of dimensions of the index space, 1 to 3."""
        _only_in_kernels("Item.dimensions")


class Group:
    """A work-group, as one of its work-items sees it."""

    __slots__ = ()

    def get_group_id(self, dim: int) -> int:
        """Index of the work-group along `dim`."""
        _only_in_kernels("Group.get_group_id")

    def get_group_linear_id(self) -> int:
        """Index of the work-group counted through all dimensions, the last the fastest."""
        _only_in_kernels("Group.get_group_linear_id")

    def get_group_range(self, dim: int) -> int:
        """Number of work-groups along `dim`."""
        _only_in_kernels("Group.get_group_range")

    def get_group_linear_range(self) -> int:
        """Number of work-groups in the index space."""
        _only_in_kernels("Group.get_group_linear_range")

    def get_local_id(self, dim: int) -> int:
        """Index of the asking work-item within the group along `dim`."""
        _only_in_kernels("Group.get_local_id")

    def get_local_linear_id(self) -> int:
        """Index of the asking work-item within the group through all dimensions."""
        _only_in_kernels("Group.get_local_linear_id")

    def get_local_range(self, dim: int) -> int:
        """Extent of the group along `dim`, in work-items."""
        _only_in_kernels("Group.get_local_range")

    def get_local_linear_range(self) -> int:
        """Number of work-items in the group."""
        _only_in_kernels("Group.get_local_linear_range")

    @property
    def leader(self) -> bool:
        """Whether the asking work-item is the group's first: local linear id 0."""
        _only_in_kernels("Group.leader")

    @property
    def dimensions(self) -> int:
        """Number of dimensions of the index space, 1 to 3."""
        _only_in_kernels("Group.dimensions")


class SubGroup:
    """A part of a work-group whose work-items run together, as one of them sees it.

    The work-items of a group are cut into sub-groups along their local linear id; the last sub-group
    may have fewer.  How many work-items one has is the device's choice.
    """

    __slots__ = ()

    def get_group_id(self) -> int:
        """Index of the sub-group within its work-group."""
        _only_in_kernels("SubGroup.get_group_id")

    def get_group_range(self) -> int:
        """Number of sub-groups in the work-group."""
        _only_in_kernels("SubGroup.get_group_range")

    def get_local_id(self) -> int:
        """Index of the asking work-item within the sub-group."""
        _only_in_kernels("SubGroup.get_local_id")

    def get_local_range(self) -> int:
        """Number of work-items in this sub-group."""
        _only_in_kernels("SubGroup.get_local_range")

    def get_max_local_range(self) -> int:
        """Largest number of work-items that a sub-group of this launch may have."""
        _only_in_kernels("SubGroup.get_max_local_range")

    @property
    def leader(self) -> bool:
        """Whether the asking work-item is the sub-group's first: local id 0."""
        _only_in_kernels("SubGroup.leader")


class NdItem:
    """A work-item of an `NdRange` launch: first parameter of a kernel with work-groups."""

    __slots__ = ()

    def get_global_id(self, dim: int) -> int:
        """Index of the work-item in the whole space along `dim`."""
        _only_in_kernels("NdItem.get_global_id")

    def get_global_linear_id(self) -> int:
        """Index of the work-item in the whole space through all dimensions, the last the fastest."""
        _only_in_kernels("NdItem.get_global_linear_id")

    def get_global_range(self, dim: int) -> int:
        """Extent of the whole space along `dim`, in work-items."""
        _only_in_kernels("NdItem.get_global_range")

    def get_global_linear_range(self) -> int:
        """Number of work-items in the whole space."""
        _only_in_kernels("NdItem.get_global_linear_range")

    def get_local_id(self, dim: int) -> int:
        """Index of the work-item within its group along `dim`."""
        _only_in_kernels("NdItem.get_local_id")

    def get_local_linear_id(self) -> int:
        """Index of the work-item within its group through all dimensions."""
        _only_in_kernels("NdItem.get_local_linear_id")

    def get_local_range(self, dim: int) -> int:
        """Extent of a group along `dim`, in work-items."""
        _only_in_kernels("NdItem.get_local_range")

    def get_local_linear_range(self) -> int:
        """Number of work-items in a group."""
        _only_in_kernels("NdItem.get_local_linear_range")

    def get_group(self) -> Group:
        """The work-item's group."""
        _only_in_kernels("NdItem.get_group")

    def get_sub_group(self) -> SubGroup:
        """The work-item's sub-group."""
        _only_in_kernels("NdItem.get_sub_group")

    @property
    def dimensions(self) -> int:
        """Number of dimensions of the index space, 1 to 3."""
        _only_in_kernels("NdItem.dimensions")
