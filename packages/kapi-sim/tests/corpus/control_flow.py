"""Control flow that differs within a group, and loops that nothing ends."""

from __future__ import annotations

import numpy as np

import kapi_sim as kapi

G = kapi.NdRange(8, 4)
SPIN = {"spin_limit": 20_000}
SUB_GROUPS_OF_4 = {"profile": kapi.Profile(sub_group_sizes=(4,))}


def one():
    return (np.zeros(8),)


def tile():
    return np.arange(8.0), kapi.LocalAccessor(4, np.float64)


class guard_returns_before_the_barrier:
    error, space = kapi.BarrierDivergenceError, kapi.NdRange(8, 4)
    code = "meeting-missed"

    def arguments():
        return np.arange(6.0), kapi.LocalAccessor(4, np.float64)

    def kernel(nd_item: kapi.NdItem, a, t):
        i = nd_item.get_global_id(0)
        if i >= a.shape[0]:  # wrong
            return  # wrong
        t[nd_item.get_local_id(0)] = a[i]  # wrong
        if i < a.shape[0]:  # right
            t[nd_item.get_local_id(0)] = a[i]  # right
        kapi.group_barrier(nd_item.get_group())  # named
        a[i] = t[0]  # wrong
        if i < a.shape[0]:  # right
            a[i] = t[0]  # right


class barrier_in_while_by_data:
    error, space = kapi.BarrierDivergenceError, G
    code = "meeting-missed"

    def arguments():
        return (np.array([1, 2, 3, 4, 1, 1, 1, 1]), np.zeros(8))

    def kernel(nd_item: kapi.NdItem, n, out):
        k = 0
        while k < n[nd_item.get_global_id(0)]:  # wrong
            k += 1  # wrong
        for _ in range(4):  # right
            if k < n[nd_item.get_global_id(0)]:  # right
                k += 1  # right
            kapi.group_barrier(nd_item.get_group())  # named
        out[nd_item.get_global_id(0)] = k


class break_before_the_barrier:
    error, space, arguments = kapi.BarrierDivergenceError, G, one
    code = "meeting-missed"

    def kernel(nd_item: kapi.NdItem, out):
        go = True  # right
        for t in range(4):
            if t == nd_item.get_local_id(0):
                break  # wrong
                go = False  # right
            kapi.group_barrier(nd_item.get_group())  # named
        out[nd_item.get_global_id(0)] = 1  # wrong
        out[nd_item.get_global_id(0)] = go  # right


class continue_past_the_barrier:
    error, space, arguments = kapi.BarrierDivergenceError, G, one
    code = "meetings-in-turns-differ"

    def kernel(nd_item: kapi.NdItem, out):
        for t in range(4):
            kapi.group_barrier(nd_item.get_group())  # right
            if t % 2 == nd_item.get_local_id(0) % 2:
                continue
            kapi.group_barrier(nd_item.get_group())  # named, wrong
        out[nd_item.get_global_id(0)] = 1


class short_circuit_hides_a_collective:
    error, space, arguments = kapi.CollectiveMismatchError, G, one
    code = "meeting-missed"

    def wrong(nd_item: kapi.NdItem, out):
        if nd_item.get_local_id(0) < 2 and kapi.any_of_group(nd_item.get_group(), out[0] == 0):  # named
            out[nd_item.get_global_id(0)] = 1

    def right(nd_item: kapi.NdItem, out):
        z = kapi.any_of_group(nd_item.get_group(), nd_item.get_local_id(0) == 0)
        if nd_item.get_local_id(0) < 2 and z:
            out[nd_item.get_global_id(0)] = 1


class conditional_expression_with_a_collective:
    error, space, arguments = kapi.CollectiveMismatchError, G, one
    code = "meeting-missed"

    def kernel(nd_item: kapi.NdItem, out):
        k = nd_item.get_local_id(0)
        s = kapi.reduce_over_group(nd_item.get_group(), 1.0, kapi.plus) if k > 0 else 0.0  # named, wrong
        out[nd_item.get_global_id(0)] = s  # wrong
        s = kapi.reduce_over_group(nd_item.get_group(), 1.0, kapi.plus)  # right
        out[nd_item.get_global_id(0)] = s if k > 0 else 0.0  # right


@kapi.device_func
def lowest(g):
    kapi.group_barrier(g)  # named


@kapi.device_func
def middle(g, k):
    if k != 2:
        lowest(g)


@kapi.device_func
def upper(g, k):
    middle(g, k)


@kapi.device_func
def upper_right(g, k):
    lowest(g)


class barrier_three_functions_deep:
    error, space, arguments = kapi.BarrierDivergenceError, G, one
    code = "meeting-missed"
    calls = (lowest.py_func,)

    def kernel(nd_item: kapi.NdItem, out):
        upper(nd_item.get_group(), nd_item.get_local_id(0))  # named, wrong
        upper_right(nd_item.get_group(), nd_item.get_local_id(0))  # right
        out[nd_item.get_global_id(0)] = 1


@kapi.device_func
def step(g, t, k):
    kapi.group_barrier(g)
    t[k] += 1.0
    return t[(k + 1) % 4]  # named


class race_in_a_function_called_in_a_loop:
    error, space, arguments = kapi.DataRaceError, G, tile
    code = "data-race"
    calls = (step.py_func,)

    def kernel(nd_item: kapi.NdItem, a, t):
        k = nd_item.get_local_id(0)
        t[k] = 0.0
        s = 0.0
        for _ in range(3):
            s += step(nd_item.get_group(), t, k)  # wrong
            kapi.group_barrier(nd_item.get_group())  # right
            s += t[k]  # right
        a[nd_item.get_global_id(0)] = s


class local_function_with_a_barrier_in_a_branch:
    error, space, arguments = kapi.BarrierDivergenceError, G, one
    code = "meeting-missed"

    def kernel(nd_item: kapi.NdItem, out):
        def sync():
            kapi.group_barrier(nd_item.get_group())  # named

        if nd_item.get_local_id(0) % 2 == 0:  # wrong
            sync()  # wrong
        sync()  # right
        out[nd_item.get_global_id(0)] = 1


class sub_group_shuffle_in_a_branch:
    error, space = kapi.CollectiveMismatchError, G
    code = "meeting-missed"
    controls = SUB_GROUPS_OF_4
    arguments = one

    def kernel(nd_item: kapi.NdItem, out):
        sg = nd_item.get_sub_group()
        x = 1.0 * sg.get_local_id()
        y = kapi.shift_group_left(sg, x, 1)  # right
        if sg.get_local_id() < 2:
            x += kapi.shift_group_left(sg, x, 1)  # named, wrong
            x += y  # right
        out[nd_item.get_global_id(0)] = x


class shuffle_beyond_a_partial_sub_group:
    error, space = kapi.CollectiveMismatchError, kapi.NdRange(12, 6)
    code = "no-such-work-item"
    controls = SUB_GROUPS_OF_4

    def arguments():
        return (np.zeros(12),)

    def kernel(nd_item: kapi.NdItem, out):
        sg = nd_item.get_sub_group()
        out[nd_item.get_global_id(0)] = kapi.select_from_group(sg, 1.0, 3)  # named, wrong
        out[nd_item.get_global_id(0)] = kapi.select_from_group(sg, 1.0, sg.get_local_range() - 1)  # right


class xor_tree_in_a_partial_sub_group:
    error, space = kapi.CollectiveMismatchError, kapi.NdRange(12, 6)
    code = "undefined-value"
    controls = SUB_GROUPS_OF_4

    def arguments():
        return (np.zeros(12, np.float32),)

    def kernel(nd_item: kapi.NdItem, out):
        sg = nd_item.get_sub_group()
        x = out.dtype.type(1)
        for m in (2, 1):
            x += kapi.permute_group_by_xor(sg, x, m)  # named, wrong
            y = kapi.permute_group_by_xor(sg, x, m)  # right
            if sg.get_local_id() ^ m < sg.get_local_range():  # right
                x += y  # right
        out[nd_item.get_global_id(0)] = x


class negative_shift:
    error, space, arguments = kapi.CollectiveMismatchError, G, one
    code = "no-such-work-item"

    def kernel(nd_item: kapi.NdItem, out):
        out[nd_item.get_global_id(0)] = kapi.shift_group_left(nd_item.get_sub_group(), 1.0, -1)  # named, wrong
        x = kapi.shift_group_right(nd_item.get_sub_group(), 1.0, 1)  # right
        if nd_item.get_sub_group().get_local_id() > 0:  # right
            out[nd_item.get_global_id(0)] = x  # right


class broadcast_from_each_his_own:
    error, space, arguments = kapi.CollectiveMismatchError, G, one
    code = "argument-not-uniform"

    def kernel(nd_item: kapi.NdItem, out):
        k = nd_item.get_local_id(0)
        out[nd_item.get_global_id(0)] = kapi.group_broadcast(nd_item.get_group(), 1.0 * k, 3 - k)  # named, wrong
        out[nd_item.get_global_id(0)] = kapi.group_broadcast(nd_item.get_group(), 1.0 * k, 3)  # right


class broadcast_by_global_id:
    error, space, arguments = kapi.CollectiveMismatchError, G, one
    code = "no-such-work-item"

    def kernel(nd_item: kapi.NdItem, out):
        g = nd_item.get_group()
        out[nd_item.get_global_id(0)] = kapi.group_broadcast(g, 1.0, g.get_group_id(0) * 4)  # named, wrong
        out[nd_item.get_global_id(0)] = kapi.group_broadcast(g, 1.0, 0)  # right


class operators_differ:
    error, space, arguments = kapi.CollectiveMismatchError, G, one
    code = "argument-not-uniform"

    def kernel(nd_item: kapi.NdItem, out):
        k = nd_item.get_local_id(0)  # wrong
        op = kapi.plus if k < 3 else kapi.maximum  # wrong
        out[nd_item.get_global_id(0)] = kapi.reduce_over_group(nd_item.get_group(), 1.0, op)  # named, wrong
        out[nd_item.get_global_id(0)] = kapi.reduce_over_group(nd_item.get_group(), 1.0, kapi.plus)  # right


class two_barriers_swapped_in_branches:
    error, space, arguments = kapi.BarrierDivergenceError, G, one
    code = "meetings-differ"

    def kernel(nd_item: kapi.NdItem, out):
        if nd_item.get_local_id(0) < 2:
            out[nd_item.get_global_id(0)] = 1
            kapi.group_barrier(nd_item.get_group())  # named, wrong
        else:  # wrong
            kapi.group_barrier(nd_item.get_group())  # named, wrong
        kapi.group_barrier(nd_item.get_group())  # right
        if nd_item.get_local_id(0) >= 2:  # right
            out[nd_item.get_global_id(0)] = 2


class sub_group_barrier_where_group_is_needed:
    error, space = kapi.DataRaceError, kapi.NdRange(8, 8)
    code = "data-race"
    controls = SUB_GROUPS_OF_4

    def arguments():
        return (np.zeros(8), kapi.LocalAccessor(8, np.float64))

    def kernel(nd_item: kapi.NdItem, out, t):
        k = nd_item.get_local_id(0)
        t[k] = k  # named
        kapi.group_barrier(nd_item.get_sub_group())
        out[k] = t[7 - k]  # named, wrong
        out[k] = t[k ^ 1]  # right


class spin_on_a_later_item_relaxed:
    error, space, controls = kapi.DeadlockError, kapi.Range(4), SPIN
    code = "loop-without-change"

    def arguments():
        return (np.zeros(4, np.int32),)

    def kernel(item: kapi.Item, flag):
        i = item.get_id(0)
        if i < 3:  # wrong
            while kapi.AtomicRef(flag, i + 1, kapi.MemoryOrder.ACQUIRE).load() == 0:  # named, wrong
                pass  # wrong
        kapi.AtomicRef(flag, i, kapi.MemoryOrder.RELEASE).store(1)


class lock_taken_twice:
    error, space, controls = kapi.DeadlockError, kapi.NdRange(4, 4), SPIN
    code = "loop-without-change"

    def arguments():
        return (np.zeros(1, np.int32), np.zeros(1))

    def kernel(nd_item: kapi.NdItem, lock, out):
        ref = kapi.AtomicRef(lock, 0, kapi.MemoryOrder.ACQ_REL)
        if nd_item.get_local_id(0) == 0:
            while ref.exchange(1) == 1:
                pass
            while ref.exchange(1) == 1:  # named, wrong
                pass  # wrong
            ref.store(0)


class two_locks_in_opposite_orders:
    error, space, controls = kapi.DeadlockError, kapi.NdRange(2, 2), SPIN
    code = "loop-without-change"

    def arguments():
        return (np.zeros(2, np.int32), np.zeros(2), kapi.LocalAccessor(1, np.int32))

    def kernel(nd_item: kapi.NdItem, lock, out, t):
        k = nd_item.get_local_id(0)
        while kapi.AtomicRef(lock, k, kapi.MemoryOrder.ACQ_REL).exchange(1) == 1:
            pass
        kapi.group_barrier(nd_item.get_group())
        while kapi.AtomicRef(lock, 1 - k, kapi.MemoryOrder.ACQ_REL).exchange(1) == 1:  # named, wrong
            pass  # wrong
        kapi.AtomicRef(lock, 0, kapi.MemoryOrder.ACQ_REL).store(0)  # wrong
        kapi.AtomicRef(lock, k, kapi.MemoryOrder.ACQ_REL).store(0)  # right


class home_made_barrier_over_groups:
    error, space, controls = kapi.DeadlockError, kapi.NdRange(8, 4), SPIN
    code = "loop-without-change"

    def arguments():
        return (np.zeros(1, np.int32), np.zeros(8))

    def kernel(nd_item: kapi.NdItem, count, out):
        if nd_item.get_group().leader:
            ref = kapi.AtomicRef(count, 0, kapi.MemoryOrder.ACQ_REL)
            ref.fetch_add(1)
            while ref.load() < 2:  # named, wrong
                pass  # wrong
        kapi.group_barrier(nd_item.get_group())
        out[nd_item.get_global_id(0)] = 1


class item_spins_before_barrier_others_wait_after:
    error, space, controls = kapi.DeadlockError, kapi.NdRange(4, 4), SPIN
    code = "loop-without-change"

    def arguments():
        return (np.zeros(1, np.int32),)

    def kernel(nd_item: kapi.NdItem, flag):
        ref = kapi.AtomicRef(flag, 0, kapi.MemoryOrder.SEQ_CST)
        if nd_item.get_local_id(0) == 0:  # right
            ref.store(1)  # right
        kapi.group_barrier(nd_item.get_group())  # right
        if nd_item.get_local_id(0) == 3:
            while ref.load() == 0:  # named
                pass
        kapi.group_barrier(nd_item.get_group())  # named, wrong
        if nd_item.get_local_id(0) == 0:  # wrong
            ref.store(1)  # wrong


class float_loop_that_never_gets_there:
    error, space, controls = kapi.DeadlockError, kapi.Range(2), SPIN
    code = "endless-loop"

    def arguments():
        return (np.zeros(2),)

    def kernel(item: kapi.Item, out):
        x = 0.0
        while x != 1.0:  # named, right: while x < 1.0:
            x += 0.3
        out[item.get_id(0)] = x


class halving_that_stops_at_minus_one:
    error, space, controls = kapi.DeadlockError, kapi.NdRange(4, 4), SPIN
    code = "loop-without-change"

    def arguments():
        return (np.zeros(4, np.int32),)

    def kernel(nd_item: kapi.NdItem, out):
        s = -4  # wrong
        s = 4  # right
        while s != 0:  # named
            s = s >> 1
        out[nd_item.get_local_id(0)] = s
