"""Group algorithms and sub-groups: reached in part, with arguments that differ, or taken for what they are not."""

from __future__ import annotations

import numpy as np

import kapi_sim as kapi

GROUPS = kapi.NdRange(8, 4)
SMALL = {"profile": kapi.Profile(sub_group_sizes=(4,))}


def numbers():
    return np.arange(8.0), np.zeros(8)


class reduction_in_a_branch:
    error, space, arguments = kapi.CollectiveMismatchError, GROUPS, numbers
    code = "meeting-missed"

    def wrong(nd_item: kapi.NdItem, a, out):
        i = nd_item.get_global_id(0)
        if a[i] < 3:
            out[i] = kapi.reduce_over_group(nd_item.get_group(), a[i], kapi.plus)  # named

    def right(nd_item: kapi.NdItem, a, out):
        i = nd_item.get_global_id(0)
        x = 0.0
        if a[i] < 3:
            x = a[i]
        out[i] = kapi.reduce_over_group(nd_item.get_group(), x, kapi.plus)


class scan_after_an_early_return:
    error, space, arguments = kapi.CollectiveMismatchError, GROUPS, lambda: (np.arange(6.0), np.zeros(6))
    code = "meeting-missed"

    def wrong(nd_item: kapi.NdItem, a, out):
        i = nd_item.get_global_id(0)
        if i >= a.shape[0]:
            return
        out[i] = kapi.inclusive_scan_over_group(nd_item.get_group(), a[i], kapi.plus)  # named

    def right(nd_item: kapi.NdItem, a, out):
        i = nd_item.get_global_id(0)
        x = 0.0
        if i < a.shape[0]:
            x = a[i]
        total = kapi.inclusive_scan_over_group(nd_item.get_group(), x, kapi.plus)
        if i < a.shape[0]:
            out[i] = total


class reductions_of_two_branches:
    error, space, arguments = kapi.CollectiveMismatchError, GROUPS, numbers
    code = "meetings-differ"

    def wrong(nd_item: kapi.NdItem, a, out):
        i = nd_item.get_global_id(0)
        if nd_item.get_local_id(0) < 2:
            out[i] = kapi.reduce_over_group(nd_item.get_group(), a[i], kapi.minimum)  # named
        else:
            out[i] = kapi.reduce_over_group(nd_item.get_group(), a[i], kapi.maximum)  # named

    def right(nd_item: kapi.NdItem, a, out):
        i = nd_item.get_global_id(0)
        low = kapi.reduce_over_group(nd_item.get_group(), a[i], kapi.minimum)
        high = kapi.reduce_over_group(nd_item.get_group(), a[i], kapi.maximum)
        out[i] = low if nd_item.get_local_id(0) < 2 else high


class barrier_against_a_reduction:
    error, space, arguments = kapi.CollectiveMismatchError, GROUPS, numbers
    code = "meetings-differ"

    def wrong(nd_item: kapi.NdItem, a, out):
        if nd_item.get_local_id(0) == 0:
            kapi.group_barrier(nd_item.get_group())  # named
        else:
            kapi.any_of_group(nd_item.get_group(), True)  # named

    def right(nd_item: kapi.NdItem, a, out):
        kapi.group_barrier(nd_item.get_group())
        kapi.any_of_group(nd_item.get_group(), nd_item.get_local_id(0) > 0)


class loop_of_different_length:
    error, space, arguments = kapi.CollectiveMismatchError, GROUPS, numbers
    code = "meeting-missed"

    def wrong(nd_item: kapi.NdItem, a, out):
        i = nd_item.get_global_id(0)
        for _ in range(nd_item.get_local_id(0) + 1):
            out[i] += kapi.reduce_over_group(nd_item.get_group(), a[i], kapi.plus)  # named

    def right(nd_item: kapi.NdItem, a, out):
        i = nd_item.get_global_id(0)
        for k in range(nd_item.get_local_range(0)):
            total = kapi.reduce_over_group(nd_item.get_group(), a[i], kapi.plus)
            if k <= nd_item.get_local_id(0):
                out[i] += total


def total_of(group, x):
    return kapi.reduce_over_group(group, x, kapi.plus)  # named


class device_function_called_in_two_branches:
    error, space, arguments, calls = kapi.CollectiveMismatchError, GROUPS, numbers, (total_of,)
    code = "meetings-in-calls-differ"

    def wrong(nd_item: kapi.NdItem, a, out):
        i = nd_item.get_global_id(0)
        if nd_item.get_local_id(0) < 2:
            out[i] = total_of(nd_item.get_group(), a[i])  # named
        else:
            out[i] = total_of(nd_item.get_group(), -a[i])  # named

    def right(nd_item: kapi.NdItem, a, out):
        i = nd_item.get_global_id(0)
        x = a[i] if nd_item.get_local_id(0) < 2 else -a[i]
        out[i] = total_of(nd_item.get_group(), x)


class broadcast_from_different_work_items:
    error, space, arguments = kapi.CollectiveMismatchError, GROUPS, numbers
    code = "argument-not-uniform"

    def wrong(nd_item: kapi.NdItem, a, out):
        i = nd_item.get_global_id(0)
        out[i] = kapi.group_broadcast(nd_item.get_group(), a[i], nd_item.get_local_id(0))  # named

    def right(nd_item: kapi.NdItem, a, out):
        i = nd_item.get_global_id(0)
        out[i] = kapi.group_broadcast(nd_item.get_group(), a[i], nd_item.get_local_range(0) - 1)


class broadcast_from_nobody:
    error, space, arguments = kapi.CollectiveMismatchError, GROUPS, numbers
    code = "no-such-work-item"

    def wrong(nd_item: kapi.NdItem, a, out):
        i = nd_item.get_global_id(0)
        out[i] = kapi.group_broadcast(nd_item.get_group(), a[i], 4)  # named

    def right(nd_item: kapi.NdItem, a, out):
        i = nd_item.get_global_id(0)
        out[i] = kapi.group_broadcast(nd_item.get_group(), a[i], 3)


class lane_out_of_range:
    error, space, arguments, controls = kapi.CollectiveMismatchError, GROUPS, numbers, SMALL
    code = "no-such-work-item"

    def wrong(nd_item: kapi.NdItem, a, out):
        sub_group = nd_item.get_sub_group()
        i = nd_item.get_global_id(0)
        out[i] = kapi.select_from_group(sub_group, a[i], sub_group.get_local_id() + 1)  # named

    def right(nd_item: kapi.NdItem, a, out):
        sub_group = nd_item.get_sub_group()
        i = nd_item.get_global_id(0)
        out[i] = kapi.select_from_group(sub_group, a[i], (sub_group.get_local_id() + 1) % sub_group.get_local_range())


class shift_beyond_the_end_is_stored:
    error, space, arguments, controls = kapi.CollectiveMismatchError, GROUPS, numbers, SMALL
    code = "undefined-value"

    def wrong(nd_item: kapi.NdItem, a, out):
        i = nd_item.get_global_id(0)
        after = kapi.shift_group_left(nd_item.get_sub_group(), a[i])  # named
        out[i] = after - a[i]  # named

    def right(nd_item: kapi.NdItem, a, out):
        sub_group = nd_item.get_sub_group()
        i = nd_item.get_global_id(0)
        after = kapi.shift_group_left(sub_group, a[i])
        if sub_group.get_local_id() + 1 < sub_group.get_local_range():
            out[i] = after - a[i]


class reduction_by_shifts_of_which_all_are_used:
    error, space, arguments, controls = kapi.CollectiveMismatchError, GROUPS, numbers, SMALL
    code = "undefined-value"

    def wrong(nd_item: kapi.NdItem, a, out):
        sub_group = nd_item.get_sub_group()
        i = nd_item.get_global_id(0)
        x = a[i]
        x = max(x, kapi.shift_group_left(sub_group, x, 2))  # named
        x += kapi.shift_group_left(sub_group, x, 1)
        out[i] = x  # named

    def right(nd_item: kapi.NdItem, a, out):
        sub_group = nd_item.get_sub_group()
        i = nd_item.get_global_id(0)
        x = a[i]
        x = max(x, kapi.shift_group_left(sub_group, x, 2))
        x += kapi.shift_group_left(sub_group, x, 1)
        if sub_group.leader:
            out[i] = x


class branch_on_what_is_not_defined:
    error, space, arguments, controls = kapi.CollectiveMismatchError, GROUPS, numbers, SMALL
    code = "undefined-value"

    def wrong(nd_item: kapi.NdItem, a, out):
        i = nd_item.get_global_id(0)
        before = kapi.shift_group_right(nd_item.get_sub_group(), a[i])  # named
        if before < a[i]:  # named
            out[i] = 1

    def right(nd_item: kapi.NdItem, a, out):
        sub_group = nd_item.get_sub_group()
        i = nd_item.get_global_id(0)
        before = kapi.shift_group_right(sub_group, a[i])
        if sub_group.get_local_id() > 0 and before < a[i]:
            out[i] = 1


class delta_that_differs:
    error, space, arguments, controls = kapi.CollectiveMismatchError, GROUPS, numbers, SMALL
    code = "argument-not-uniform"

    def wrong(nd_item: kapi.NdItem, a, out):
        sub_group = nd_item.get_sub_group()
        x = kapi.shift_group_left(sub_group, a[nd_item.get_global_id(0)], sub_group.get_local_id())  # named
        if sub_group.leader:
            out[0] = x

    def right(nd_item: kapi.NdItem, a, out):
        sub_group = nd_item.get_sub_group()
        x = kapi.shift_group_left(sub_group, a[nd_item.get_global_id(0)], 2)
        if sub_group.leader:
            out[nd_item.get_global_id(0)] = x


class sub_group_converging_in_part:
    error, space, arguments, controls = kapi.CollectiveMismatchError, kapi.NdRange(8, 8), numbers, SMALL
    code = "meeting-missed"

    def wrong(nd_item: kapi.NdItem, a, out):
        sub_group = nd_item.get_sub_group()
        i = nd_item.get_global_id(0)
        if i < 6:
            out[i] = kapi.reduce_over_group(sub_group, a[i], kapi.plus)  # named

    def right(nd_item: kapi.NdItem, a, out):
        sub_group = nd_item.get_sub_group()
        i = nd_item.get_global_id(0)
        if sub_group.get_group_id() == 0:
            out[i] = kapi.reduce_over_group(sub_group, a[i], kapi.plus)


class sub_group_barrier_reached_in_part:
    error, space, arguments, controls = kapi.BarrierDivergenceError, kapi.NdRange(8, 8), numbers, SMALL
    code = "meeting-missed"

    def wrong(nd_item: kapi.NdItem, a, out):
        if nd_item.get_global_id(0) != 6:
            kapi.group_barrier(nd_item.get_sub_group())  # named

    def right(nd_item: kapi.NdItem, a, out):
        if nd_item.get_sub_group().get_group_id() == 0:
            kapi.group_barrier(nd_item.get_sub_group())


class sub_group_barrier_for_the_group:
    error, space, controls = kapi.DataRaceError, kapi.NdRange(8, 8), SMALL
    code = "data-race"

    def arguments():
        return np.arange(8.0), kapi.LocalAccessor(8, np.float64)

    def wrong(nd_item: kapi.NdItem, a, tile):
        k = nd_item.get_local_id(0)
        tile[k] = a[k]  # named
        kapi.group_barrier(nd_item.get_sub_group())
        a[k] = tile[7 - k]  # named

    def right(nd_item: kapi.NdItem, a, tile):
        sub_group = nd_item.get_sub_group()
        k = nd_item.get_local_id(0)
        tile[k] = a[k]
        kapi.group_barrier(sub_group)
        first = k - sub_group.get_local_id()
        a[k] = tile[first + 3 - sub_group.get_local_id()]


class reduction_taken_for_a_barrier:
    error, space = kapi.DataRaceError, GROUPS
    code = "data-race"

    def arguments():
        return np.arange(8.0), kapi.LocalAccessor(4, np.float64)

    def wrong(nd_item: kapi.NdItem, a, tile):
        k = nd_item.get_local_id(0)
        i = nd_item.get_global_id(0)
        tile[k] = a[i]  # named
        total = kapi.reduce_over_group(nd_item.get_group(), a[i], kapi.plus)
        a[i] = tile[3 - k] / total  # named

    def right(nd_item: kapi.NdItem, a, tile):
        k = nd_item.get_local_id(0)
        i = nd_item.get_global_id(0)
        tile[k] = a[i]
        total = kapi.reduce_over_group(nd_item.get_group(), a[i], kapi.plus)
        kapi.group_barrier(nd_item.get_group())
        a[i] = tile[3 - k] / total


class shift_over_a_work_group:
    error, space, arguments, controls = kapi.KernelLaunchError, GROUPS, numbers, SMALL
    code = "no-sub-group"

    def wrong(nd_item: kapi.NdItem, a, out):
        kapi.shift_group_left(nd_item.get_group(), a[nd_item.get_global_id(0)])  # named

    def right(nd_item: kapi.NdItem, a, out):
        kapi.shift_group_left(nd_item.get_sub_group(), a[nd_item.get_global_id(0)])


class operator_that_does_not_suit:
    error, space, arguments = kapi.DtypeError, GROUPS, numbers
    code = "group-operator-type"

    def wrong(nd_item: kapi.NdItem, a, out):
        i = nd_item.get_global_id(0)
        out[i] = kapi.reduce_over_group(nd_item.get_group(), a[i], kapi.bit_or)  # named

    def right(nd_item: kapi.NdItem, a, out):
        i = nd_item.get_global_id(0)
        out[i] = kapi.reduce_over_group(nd_item.get_group(), int(a[i]), kapi.bit_or)
