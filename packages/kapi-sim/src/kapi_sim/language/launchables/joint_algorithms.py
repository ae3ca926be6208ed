"""Algorithms that a group runs over an array together: SYCL's joint algorithms, written in the kernel language.

They are device functions, so each back end has them.

References
----------
SYCL 2020, section 4.17.4 (group algorithms library).
"""

from __future__ import annotations

from typing import Any

from kapi_sim.language.intrinsics.group_algorithms import (
    all_of_group,
    any_of_group,
    exclusive_scan_over_group,
    group_broadcast,
    inclusive_scan_over_group,
    none_of_group,
    reduce_over_group,
)
from kapi_sim.language.intrinsics.operators import plus
from kapi_sim.language.launchables.device_function import device_func

__all__ = [
    "joint_all_of",
    "joint_any_of",
    "joint_exclusive_scan",
    "joint_inclusive_scan",
    "joint_none_of",
    "joint_reduce",
]


@device_func
def joint_reduce(group: Any, values: Any, init: Any, op: Any) -> Any:
    """Combine `init` and all elements of an array by an operator; each work-item of the group gets the result.

    Parameters
    ----------
    group : Group or SubGroup
        All its work-items call it, with the same arguments.
    values : array of rank 1
        An array, a slice of one, or local memory.
    init : number
        What comes first. The result has the type that the operator makes of it and the elements.
    op : operator
        As of `reduce_over_group`. The order of the elements is not kept.

    Returns
    -------
    number
    """
    position = exclusive_scan_over_group(group, 1, plus)
    size = reduce_over_group(group, 1, plus)
    total = group_broadcast(group, exclusive_scan_over_group(group, values.dtype.type(0), op))
    for i in range(position, values.shape[0], size):
        total = op(total, values[i])
    return op(init, reduce_over_group(group, total, op))


@device_func
def joint_inclusive_scan(group: Any, values: Any, result: Any, op: Any, init: Any = None) -> None:
    """Write, for each element of an array, the elements up to and with it, combined in their order.

    Parameters
    ----------
    group : Group or SubGroup
        All its work-items call it, with the same arguments.
    values : array of rank 1
        An array, a slice of one, or local memory.
    result : array of rank 1
        At least as long; it may be `values`. A `group_barrier` must come before others read it.
    op : operator
        As of `inclusive_scan_over_group`.
    init : number, optional
        Combined before the first element.
    """
    position = exclusive_scan_over_group(group, 1, plus)
    size = reduce_over_group(group, 1, plus)
    identity = group_broadcast(group, exclusive_scan_over_group(group, values.dtype.type(0), op))
    before = identity
    if init is not None:
        before = values.dtype.type(init)
    for base in range(0, values.shape[0], size):
        own = identity
        if base + position < values.shape[0]:
            own = values[base + position]
        up_to = op(before, inclusive_scan_over_group(group, own, op))
        if base + position < values.shape[0]:
            result[base + position] = up_to
        before = op(before, reduce_over_group(group, own, op))


@device_func
def joint_exclusive_scan(group: Any, values: Any, result: Any, init: Any, op: Any) -> None:
    """Write, for each element of an array, `init` and the elements before it, combined in their order.

    Parameters
    ----------
    group : Group or SubGroup
        All its work-items call it, with the same arguments.
    values, result, op
        As of `joint_inclusive_scan`.
    init : number
        The first result.
    """
    position = exclusive_scan_over_group(group, 1, plus)
    size = reduce_over_group(group, 1, plus)
    identity = group_broadcast(group, exclusive_scan_over_group(group, values.dtype.type(0), op))
    before = values.dtype.type(init)
    for base in range(0, values.shape[0], size):
        own = identity
        if base + position < values.shape[0]:
            own = values[base + position]
        up_to = op(before, exclusive_scan_over_group(group, own, op))
        if base + position < values.shape[0]:
            result[base + position] = up_to
        before = op(before, reduce_over_group(group, own, op))


@device_func
def joint_any_of(group: Any, values: Any, predicate: Any) -> bool:
    """Return whether a predicate holds for any element of an array.

    Parameters
    ----------
    group : Group or SubGroup
        All its work-items call it, with the same arguments.
    values : array of rank 1
        An array, a slice of one, or local memory.
    predicate : function
        A device function of an element.
    """
    found = False
    position = exclusive_scan_over_group(group, 1, plus)
    for i in range(position, values.shape[0], reduce_over_group(group, 1, plus)):
        if predicate(values[i]):
            found = True
    return any_of_group(group, found)


@device_func
def joint_all_of(group: Any, values: Any, predicate: Any) -> bool:
    """Return whether a predicate holds for all elements of an array; it does for none.

    The parameters are those of `joint_any_of`.
    """
    found = True
    position = exclusive_scan_over_group(group, 1, plus)
    for i in range(position, values.shape[0], reduce_over_group(group, 1, plus)):
        if not predicate(values[i]):
            found = False
    return all_of_group(group, found)


@device_func
def joint_none_of(group: Any, values: Any, predicate: Any) -> bool:
    """Return whether a predicate holds for no element of an array.

    The parameters are those of `joint_any_of`.
    """
    found = False
    position = exclusive_scan_over_group(group, 1, plus)
    for i in range(position, values.shape[0], reduce_over_group(group, 1, plus)):
        if predicate(values[i]):
            found = True
    return none_of_group(group, found)
