"""Functions by which the work-items of a group compute something together.

All work-items of the group must come to the same call, with the same uniform arguments, or none.
They converge there, but the call orders no memory: only barriers, fences with atomics, and acquire and
release atomics do.  A *sub-group* is a part of a work-group whose work-items run together.

References
----------
SYCL 2020 specification, sections 4.17.3, "Group functions", and 4.17.4, "Group algorithms library".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from kapi_sim.language.intrinsics.index_space import Group, SubGroup
from kapi_sim.language.intrinsics.outside import carry_out

__all__ = [
    "all_of_group",
    "any_of_group",
    "exclusive_scan_over_group",
    "group_broadcast",
    "inclusive_scan_over_group",
    "none_of_group",
    "permute_group_by_xor",
    "reduce_over_group",
    "select_from_group",
    "shift_group_left",
    "shift_group_right",
]

T = TypeVar("T")


def group_broadcast(group: Group | SubGroup, x: T, linear_id: int = 0) -> T:
    """Return the `x` of one work-item to all work-items of the group.

    Parameters
    ----------
    group : Group or SubGroup
        The calling work-item's own.
    x : scalar
        The calling work-item's value.
    linear_id : int
        Whose value: local linear id in the group, the same for all work-items.

    Raises
    ------
    CollectiveMismatchError
        In the simulator, if only a part of the group comes by, the ids differ, or the group has none such.
    """
    result: T = carry_out(group_broadcast, group, x, linear_id)
    return result


def reduce_over_group(group: Group | SubGroup, x: T, op: Callable[[Any, Any], Any]) -> T:
    """Return all work-items' `x` combined by an operator, to all work-items of the group.

    In which order they are combined is not defined: sums of floats may differ in their last places.

    Parameters
    ----------
    group : Group or SubGroup
        The calling work-item's own.
    x : scalar
        The calling work-item's value.
    op : operator
        `plus`, `multiplies`, `minimum`, `maximum`, `bit_and`, `bit_or`, `bit_xor`, `logical_and` or `logical_or`; pass
        it bare.

    Raises
    ------
    CollectiveMismatchError
        In the simulator, if only a part of the group comes by.
    DtypeError
        In the simulator, if the operator does not take such values.
    """
    result: T = carry_out(reduce_over_group, group, x, op)
    return result


def inclusive_scan_over_group(group: Group | SubGroup, x: T, op: Callable[[Any, Any], Any]) -> T:
    """Return the `x` of all work-items up to and with the calling one, combined by an operator.

    Parameters
    ----------
    group : Group or SubGroup
        The calling work-item's own; its local linear ids give the order.
    x : scalar
        The calling work-item's value.
    op : operator
        `plus`, `multiplies`, `minimum`, `maximum`, `bit_and`, `bit_or`, `bit_xor`, `logical_and` or `logical_or`; pass
        it bare.

    Raises
    ------
    CollectiveMismatchError
        In the simulator, if only a part of the group comes by.
    DtypeError
        In the simulator, if the operator does not take such values.
    """
    result: T = carry_out(inclusive_scan_over_group, group, x, op)
    return result


def exclusive_scan_over_group(group: Group | SubGroup, x: T, op: Callable[[Any, Any], Any]) -> T:
    """Return the `x` of all work-items before the calling one, combined by an operator.

    The first work-item gets the operator's identity: 0 for `plus`, the largest number for `minimum`.

    Parameters
    ----------
    group : Group or SubGroup
        The calling work-item's own; its local linear ids give the order.
    x : scalar
        The calling work-item's value.
    op : operator
        `plus`, `multiplies`, `minimum`, `maximum`, `bit_and`, `bit_or`, `bit_xor`, `logical_and` or `logical_or`; pass
        it bare.

    Raises
    ------
    CollectiveMismatchError
        In the simulator, if only a part of the group comes by.
    DtypeError
        In the simulator, if the operator does not take such values.
    """
    result: T = carry_out(exclusive_scan_over_group, group, x, op)
    return result


def any_of_group(group: Group | SubGroup, pred: bool) -> bool:
    """Tell all work-items of the group whether `pred` is true for any of them.

    Parameters
    ----------
    group : Group or SubGroup
        The calling work-item's own.
    pred : bool
        The calling work-item's value; a number counts as true if it is not 0.

    Raises
    ------
    CollectiveMismatchError
        In the simulator, if only a part of the group comes by.
    """
    return bool(carry_out(any_of_group, group, pred))


def all_of_group(group: Group | SubGroup, pred: bool) -> bool:
    """Tell all work-items of the group whether `pred` is true for all of them.

    Parameters
    ----------
    group : Group or SubGroup
        The calling work-item's own.
    pred : bool
        The calling work-item's value; a number counts as true if it is not 0.

    Raises
    ------
    CollectiveMismatchError
        In the simulator, if only a part of the group comes by.
    """
    return bool(carry_out(all_of_group, group, pred))


def none_of_group(group: Group | SubGroup, pred: bool) -> bool:
    """Tell all work-items of the group whether `pred` is true for none of them.

    Parameters
    ----------
    group : Group or SubGroup
        The calling work-item's own.
    pred : bool
        The calling work-item's value; a number counts as true if it is not 0.

    Raises
    ------
    CollectiveMismatchError
        In the simulator, if only a part of the group comes by.
    """
    return bool(carry_out(none_of_group, group, pred))


def shift_group_left(group: SubGroup, x: T, delta: int = 1) -> T:
    """Return the `x` of the work-item `delta` places after the calling one in the sub-group.

    Where there is none, the value is not defined, and must not be used.

    Parameters
    ----------
    group : SubGroup
        The calling work-item's own.
    x : scalar
        The calling work-item's value.
    delta : int
        At least 0, and the same for all work-items.

    Raises
    ------
    CollectiveMismatchError
        In the simulator, if only a part of the sub-group comes by, or the deltas differ.
    """
    result: T = carry_out(shift_group_left, group, x, delta)
    return result


def shift_group_right(group: SubGroup, x: T, delta: int = 1) -> T:
    """Return the `x` of the work-item `delta` places before the calling one in the sub-group.

    Where there is none, the value is not defined, and must not be used.

    Parameters
    ----------
    group : SubGroup
        The calling work-item's own.
    x : scalar
        The calling work-item's value.
    delta : int
        At least 0, and the same for all work-items.

    Raises
    ------
    CollectiveMismatchError
        In the simulator, if only a part of the sub-group comes by, or the deltas differ.
    """
    result: T = carry_out(shift_group_right, group, x, delta)
    return result


def permute_group_by_xor(group: SubGroup, x: T, mask: int) -> T:
    """Return the `x` of the work-item whose id in the sub-group is the calling one's, xor `mask`.

    Where there is none, the value is not defined, and must not be used.

    Parameters
    ----------
    group : SubGroup
        The calling work-item's own.
    x : scalar
        The calling work-item's value.
    mask : int
        At least 0, and the same for all work-items.

    Raises
    ------
    CollectiveMismatchError
        In the simulator, if only a part of the sub-group comes by, or the masks differ.
    """
    result: T = carry_out(permute_group_by_xor, group, x, mask)
    return result


def select_from_group(group: SubGroup, x: T, remote_local_id: int) -> T:
    """Return the `x` of a work-item of the sub-group that each work-item chooses for itself.

    Parameters
    ----------
    group : SubGroup
        The calling work-item's own.
    x : scalar
        The calling work-item's value.
    remote_local_id : int
        Whose value: id in the sub-group.

    Raises
    ------
    CollectiveMismatchError
        In the simulator, if only a part of the sub-group comes by, or it has no such work-item.
    """
    result: T = carry_out(select_from_group, group, x, remote_local_id)
    return result
