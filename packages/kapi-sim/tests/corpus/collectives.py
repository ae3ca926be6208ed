"""Group algorithms and sub-groups: reached in part, with arguments that differ, or taken for what they are not."""

from __future__ import annotations

import numpy as np
from planted.pair import pair

import kapi_sim as kapi

GROUPS = kapi.NdRange(8, 4)
SMALL = {"profile": kapi.Profile(sub_group_sizes=(4,))}


def numbers():
    return np.arange(8.0), np.zeros(8)


@pair(kapi.CollectiveMismatchError, "meeting-missed", GROUPS, numbers)
def reduction_in_a_branch(nd_item: kapi.NdItem, a, out):
    i = nd_item.get_global_id(0)
    x = 0.0  # right
    if a[i] < 3:
        out[i] = kapi.reduce_over_group(nd_item.get_group(), a[i], kapi.plus)  # named, wrong
        x = a[i]  # right
    out[i] = kapi.reduce_over_group(nd_item.get_group(), x, kapi.plus)  # right


@pair(kapi.CollectiveMismatchError, "meeting-missed", GROUPS, lambda: (np.arange(6.0), np.zeros(6)))
def scan_after_an_early_return(nd_item: kapi.NdItem, a, out):
    i = nd_item.get_global_id(0)
    if i >= a.shape[0]:  # wrong
        return  # wrong
    out[i] = kapi.inclusive_scan_over_group(nd_item.get_group(), a[i], kapi.plus)  # named, wrong
    x = 0.0  # right
    if i < a.shape[0]:  # right
        x = a[i]  # right
    total = kapi.inclusive_scan_over_group(nd_item.get_group(), x, kapi.plus)  # right
    if i < a.shape[0]:  # right
        out[i] = total  # right


@pair(kapi.CollectiveMismatchError, "meetings-differ", GROUPS, numbers)
def reductions_of_two_branches(nd_item: kapi.NdItem, a, out):
    i = nd_item.get_global_id(0)
    if nd_item.get_local_id(0) < 2:  # wrong
        out[i] = kapi.reduce_over_group(nd_item.get_group(), a[i], kapi.minimum)  # named, wrong
    else:  # wrong
        out[i] = kapi.reduce_over_group(nd_item.get_group(), a[i], kapi.maximum)  # named, wrong
    low = kapi.reduce_over_group(nd_item.get_group(), a[i], kapi.minimum)  # right
    high = kapi.reduce_over_group(nd_item.get_group(), a[i], kapi.maximum)  # right
    out[i] = low if nd_item.get_local_id(0) < 2 else high  # right


@pair(kapi.CollectiveMismatchError, "meetings-differ", GROUPS, numbers)
def barrier_against_a_reduction(nd_item: kapi.NdItem, a, out):
    if nd_item.get_local_id(0) == 0:  # wrong
        kapi.group_barrier(nd_item.get_group())  # named, wrong
    else:  # wrong
        kapi.any_of_group(nd_item.get_group(), True)  # named, wrong
    kapi.group_barrier(nd_item.get_group())  # right
    kapi.any_of_group(nd_item.get_group(), nd_item.get_local_id(0) > 0)  # right


@pair(kapi.CollectiveMismatchError, "meeting-missed", GROUPS, numbers)
def loop_of_different_length(nd_item: kapi.NdItem, a, out):
    i = nd_item.get_global_id(0)
    for _ in range(nd_item.get_local_id(0) + 1):  # wrong
        out[i] += kapi.reduce_over_group(nd_item.get_group(), a[i], kapi.plus)  # named, wrong
    for k in range(nd_item.get_local_range(0)):  # right
        total = kapi.reduce_over_group(nd_item.get_group(), a[i], kapi.plus)  # right
        if k <= nd_item.get_local_id(0):  # right
            out[i] += total  # right


def total_of(group, x):
    return kapi.reduce_over_group(group, x, kapi.plus)  # named


@pair(kapi.CollectiveMismatchError, "meetings-in-calls-differ", GROUPS, numbers, calls=(total_of,))
def device_function_called_in_two_branches(nd_item: kapi.NdItem, a, out):
    i = nd_item.get_global_id(0)
    if nd_item.get_local_id(0) < 2:  # wrong
        out[i] = total_of(nd_item.get_group(), a[i])  # named, wrong
    else:  # wrong
        out[i] = total_of(nd_item.get_group(), -a[i])  # named, wrong
    x = a[i] if nd_item.get_local_id(0) < 2 else -a[i]  # right
    out[i] = total_of(nd_item.get_group(), x)  # right


@pair(kapi.CollectiveMismatchError, "argument-not-uniform", GROUPS, numbers)
def broadcast_from_different_work_items(nd_item: kapi.NdItem, a, out):
    i = nd_item.get_global_id(0)
    out[i] = kapi.group_broadcast(nd_item.get_group(), a[i], nd_item.get_local_id(0))  # named, wrong
    out[i] = kapi.group_broadcast(nd_item.get_group(), a[i], nd_item.get_local_range(0) - 1)  # right


@pair(kapi.CollectiveMismatchError, "no-such-work-item", GROUPS, numbers)
def broadcast_from_nobody(nd_item: kapi.NdItem, a, out):
    i = nd_item.get_global_id(0)
    out[i] = kapi.group_broadcast(nd_item.get_group(), a[i], 4)  # named, wrong
    out[i] = kapi.group_broadcast(nd_item.get_group(), a[i], 3)  # right


@pair(kapi.CollectiveMismatchError, "no-such-work-item", GROUPS, numbers, **SMALL)
def lane_out_of_range(nd_item: kapi.NdItem, a, out):
    sub_group = nd_item.get_sub_group()
    i = nd_item.get_global_id(0)
    out[i] = kapi.select_from_group(sub_group, a[i], sub_group.get_local_id() + 1)  # named, wrong
    lane = (sub_group.get_local_id() + 1) % sub_group.get_local_range()  # right
    out[i] = kapi.select_from_group(sub_group, a[i], lane)  # right


@pair(kapi.CollectiveMismatchError, "undefined-value", GROUPS, numbers, **SMALL)
def shift_beyond_the_end_is_stored(nd_item: kapi.NdItem, a, out):
    sub_group = nd_item.get_sub_group()  # right
    i = nd_item.get_global_id(0)
    after = kapi.shift_group_left(nd_item.get_sub_group(), a[i])  # named, wrong
    out[i] = after - a[i]  # named, wrong
    after = kapi.shift_group_left(sub_group, a[i])  # right
    if sub_group.get_local_id() + 1 < sub_group.get_local_range():  # right
        out[i] = after - a[i]  # right


@pair(kapi.CollectiveMismatchError, "undefined-value", GROUPS, numbers, **SMALL)
def reduction_by_shifts_of_which_all_are_used(nd_item: kapi.NdItem, a, out):
    sub_group = nd_item.get_sub_group()
    i = nd_item.get_global_id(0)
    x = a[i]
    x = max(x, kapi.shift_group_left(sub_group, x, 2))  # named
    x += kapi.shift_group_left(sub_group, x, 1)
    out[i] = x  # named, wrong
    if sub_group.leader:  # right
        out[i] = x  # right


@pair(kapi.CollectiveMismatchError, "undefined-value", GROUPS, numbers, **SMALL)
def branch_on_what_is_not_defined(nd_item: kapi.NdItem, a, out):
    sub_group = nd_item.get_sub_group()  # right
    i = nd_item.get_global_id(0)
    before = kapi.shift_group_right(nd_item.get_sub_group(), a[i])  # named, wrong
    before = kapi.shift_group_right(sub_group, a[i])  # right
    if before < a[i]:  # named, right: if sub_group.get_local_id() > 0 and before < a[i]:
        out[i] = 1


@pair(kapi.CollectiveMismatchError, "argument-not-uniform", GROUPS, numbers, **SMALL)
def delta_that_differs(nd_item: kapi.NdItem, a, out):
    sub_group = nd_item.get_sub_group()
    x = kapi.shift_group_left(sub_group, a[nd_item.get_global_id(0)], sub_group.get_local_id())  # named, wrong
    x = kapi.shift_group_left(sub_group, a[nd_item.get_global_id(0)], 2)  # right
    if sub_group.leader:
        out[0] = x  # wrong
        out[nd_item.get_global_id(0)] = x  # right


@pair(kapi.CollectiveMismatchError, "meeting-missed", kapi.NdRange(8, 8), numbers, **SMALL)
def sub_group_converging_in_part(nd_item: kapi.NdItem, a, out):
    sub_group = nd_item.get_sub_group()
    i = nd_item.get_global_id(0)
    if i < 6:  # right: if sub_group.get_group_id() == 0:
        out[i] = kapi.reduce_over_group(sub_group, a[i], kapi.plus)  # named


@pair(kapi.BarrierDivergenceError, "meeting-missed", kapi.NdRange(8, 8), numbers, **SMALL)
def sub_group_barrier_reached_in_part(nd_item: kapi.NdItem, a, out):
    if nd_item.get_global_id(0) != 6:  # right: if nd_item.get_sub_group().get_group_id() == 0:
        kapi.group_barrier(nd_item.get_sub_group())  # named


@pair(
    kapi.DataRaceError,
    "data-race",
    kapi.NdRange(8, 8),
    lambda: (np.arange(8.0), kapi.LocalAccessor(8, np.float64)),
    **SMALL,
)
def sub_group_barrier_for_the_group(nd_item: kapi.NdItem, a, tile):
    sub_group = nd_item.get_sub_group()  # right
    k = nd_item.get_local_id(0)
    tile[k] = a[k]  # named
    kapi.group_barrier(nd_item.get_sub_group())  # wrong
    a[k] = tile[7 - k]  # named, wrong
    kapi.group_barrier(sub_group)  # right
    first = k - sub_group.get_local_id()  # right
    a[k] = tile[first + 3 - sub_group.get_local_id()]  # right


@pair(kapi.DataRaceError, "data-race", GROUPS, lambda: (np.arange(8.0), kapi.LocalAccessor(4, np.float64)))
def reduction_taken_for_a_barrier(nd_item: kapi.NdItem, a, tile):
    k = nd_item.get_local_id(0)
    i = nd_item.get_global_id(0)
    tile[k] = a[i]  # named
    total = kapi.reduce_over_group(nd_item.get_group(), a[i], kapi.plus)
    kapi.group_barrier(nd_item.get_group())  # right
    a[i] = tile[3 - k] / total  # named


@pair(kapi.KernelLaunchError, "no-sub-group", GROUPS, numbers, **SMALL)
def shift_over_a_work_group(nd_item: kapi.NdItem, a, out):
    kapi.shift_group_left(nd_item.get_group(), a[nd_item.get_global_id(0)])  # named, wrong
    kapi.shift_group_left(nd_item.get_sub_group(), a[nd_item.get_global_id(0)])  # right


@pair(kapi.DtypeError, "group-operator-type", GROUPS, numbers)
def operator_that_does_not_suit(nd_item: kapi.NdItem, a, out):
    i = nd_item.get_global_id(0)
    out[i] = kapi.reduce_over_group(nd_item.get_group(), a[i], kapi.bit_or)  # named, wrong
    out[i] = kapi.reduce_over_group(nd_item.get_group(), int(a[i]), kapi.bit_or)  # right
