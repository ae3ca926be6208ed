"""Control flow that differs within a group, and loops that nothing ends."""

from __future__ import annotations

import numpy as np
from planted.pair import pair

import kapi_sim as kapi

G = kapi.NdRange(8, 4)
SPIN = {"spin_limit": 20_000}
SUB_GROUPS_OF_4 = {"profile": kapi.Profile(sub_group_sizes=(4,))}


def one():
    return (np.zeros(8),)


def tile():
    return np.arange(8.0), kapi.LocalAccessor(4, np.float64)


@pair(
    kapi.BarrierDivergenceError,
    "meeting-missed",
    kapi.NdRange(8, 4),
    lambda: (np.arange(6.0), kapi.LocalAccessor(4, np.float64)),
)
def guard_returns_before_the_barrier(nd_item: kapi.NdItem, a, t):
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


@pair(kapi.BarrierDivergenceError, "meeting-missed", G, lambda: (np.array([1, 2, 3, 4, 1, 1, 1, 1]), np.zeros(8)))
def barrier_in_while_by_data(nd_item: kapi.NdItem, n, out):
    k = 0
    while k < n[nd_item.get_global_id(0)]:  # wrong
        k += 1  # wrong
    for _ in range(4):  # right
        if k < n[nd_item.get_global_id(0)]:  # right
            k += 1  # right
        kapi.group_barrier(nd_item.get_group())  # named
    out[nd_item.get_global_id(0)] = k


@pair(kapi.BarrierDivergenceError, "meeting-missed", G, one)
def break_before_the_barrier(nd_item: kapi.NdItem, out):
    go = True  # right
    for t in range(4):
        if t == nd_item.get_local_id(0):
            break  # wrong
            go = False  # right
        kapi.group_barrier(nd_item.get_group())  # named
    out[nd_item.get_global_id(0)] = 1  # wrong
    out[nd_item.get_global_id(0)] = go  # right


@pair(kapi.BarrierDivergenceError, "meetings-in-turns-differ", G, one)
def continue_past_the_barrier(nd_item: kapi.NdItem, out):
    for t in range(4):
        kapi.group_barrier(nd_item.get_group())  # right
        if t % 2 == nd_item.get_local_id(0) % 2:
            continue
        kapi.group_barrier(nd_item.get_group())  # named, wrong
    out[nd_item.get_global_id(0)] = 1


@pair(kapi.CollectiveMismatchError, "meeting-missed", G, one)
def short_circuit_hides_a_collective(nd_item: kapi.NdItem, out):
    if nd_item.get_local_id(0) < 2 and kapi.any_of_group(nd_item.get_group(), out[0] == 0):  # named, wrong
        out[nd_item.get_global_id(0)] = 1  # wrong
    z = kapi.any_of_group(nd_item.get_group(), nd_item.get_local_id(0) == 0)  # right
    if nd_item.get_local_id(0) < 2 and z:  # right
        out[nd_item.get_global_id(0)] = 1  # right


@pair(kapi.CollectiveMismatchError, "meeting-missed", G, one)
def conditional_expression_with_a_collective(nd_item: kapi.NdItem, out):
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


@pair(kapi.BarrierDivergenceError, "meeting-missed", G, one, calls=(lowest.py_func,))
def barrier_three_functions_deep(nd_item: kapi.NdItem, out):
    upper(nd_item.get_group(), nd_item.get_local_id(0))  # named, wrong
    upper_right(nd_item.get_group(), nd_item.get_local_id(0))  # right
    out[nd_item.get_global_id(0)] = 1


@kapi.device_func
def step(g, t, k):
    kapi.group_barrier(g)
    t[k] += 1.0
    return t[(k + 1) % 4]  # named


@pair(kapi.DataRaceError, "data-race", G, tile, calls=(step.py_func,))
def race_in_a_function_called_in_a_loop(nd_item: kapi.NdItem, a, t):
    k = nd_item.get_local_id(0)
    t[k] = 0.0
    s = 0.0
    for _ in range(3):
        s += step(nd_item.get_group(), t, k)  # wrong
        kapi.group_barrier(nd_item.get_group())  # right
        s += t[k]  # right
    a[nd_item.get_global_id(0)] = s


@pair(kapi.BarrierDivergenceError, "meeting-missed", G, one)
def local_function_with_a_barrier_in_a_branch(nd_item: kapi.NdItem, out):
    def sync():
        kapi.group_barrier(nd_item.get_group())  # named

    if nd_item.get_local_id(0) % 2 == 0:  # wrong
        sync()  # wrong
    sync()  # right
    out[nd_item.get_global_id(0)] = 1


@pair(kapi.CollectiveMismatchError, "meeting-missed", G, one, **SUB_GROUPS_OF_4)
def sub_group_shuffle_in_a_branch(nd_item: kapi.NdItem, out):
    sg = nd_item.get_sub_group()
    x = 1.0 * sg.get_local_id()
    y = kapi.shift_group_left(sg, x, 1)  # right
    if sg.get_local_id() < 2:
        x += kapi.shift_group_left(sg, x, 1)  # named, wrong
        x += y  # right
    out[nd_item.get_global_id(0)] = x


@pair(
    kapi.CollectiveMismatchError, "no-such-work-item", kapi.NdRange(12, 6), lambda: (np.zeros(12),), **SUB_GROUPS_OF_4
)
def shuffle_beyond_a_partial_sub_group(nd_item: kapi.NdItem, out):
    sg = nd_item.get_sub_group()
    out[nd_item.get_global_id(0)] = kapi.select_from_group(sg, 1.0, 3)  # named, wrong
    out[nd_item.get_global_id(0)] = kapi.select_from_group(sg, 1.0, sg.get_local_range() - 1)  # right


@pair(
    kapi.CollectiveMismatchError,
    "undefined-value",
    kapi.NdRange(12, 6),
    lambda: (np.zeros(12, np.float32),),
    **SUB_GROUPS_OF_4,
)
def xor_tree_in_a_partial_sub_group(nd_item: kapi.NdItem, out):
    sg = nd_item.get_sub_group()
    x = out.dtype.type(1)
    for m in (2, 1):
        x += kapi.permute_group_by_xor(sg, x, m)  # named, wrong
        y = kapi.permute_group_by_xor(sg, x, m)  # right
        if sg.get_local_id() ^ m < sg.get_local_range():  # right
            x += y  # right
    out[nd_item.get_global_id(0)] = x


@pair(kapi.CollectiveMismatchError, "no-such-work-item", G, one)
def negative_shift(nd_item: kapi.NdItem, out):
    out[nd_item.get_global_id(0)] = kapi.shift_group_left(nd_item.get_sub_group(), 1.0, -1)  # named, wrong
    x = kapi.shift_group_right(nd_item.get_sub_group(), 1.0, 1)  # right
    if nd_item.get_sub_group().get_local_id() > 0:  # right
        out[nd_item.get_global_id(0)] = x  # right


@pair(kapi.CollectiveMismatchError, "argument-not-uniform", G, one)
def broadcast_from_each_his_own(nd_item: kapi.NdItem, out):
    k = nd_item.get_local_id(0)
    out[nd_item.get_global_id(0)] = kapi.group_broadcast(nd_item.get_group(), 1.0 * k, 3 - k)  # named, wrong
    out[nd_item.get_global_id(0)] = kapi.group_broadcast(nd_item.get_group(), 1.0 * k, 3)  # right


@pair(kapi.CollectiveMismatchError, "no-such-work-item", G, one)
def broadcast_by_global_id(nd_item: kapi.NdItem, out):
    g = nd_item.get_group()
    out[nd_item.get_global_id(0)] = kapi.group_broadcast(g, 1.0, g.get_group_id(0) * 4)  # named, wrong
    out[nd_item.get_global_id(0)] = kapi.group_broadcast(g, 1.0, 0)  # right


@pair(kapi.CollectiveMismatchError, "argument-not-uniform", G, one)
def operators_differ(nd_item: kapi.NdItem, out):
    k = nd_item.get_local_id(0)  # wrong
    op = kapi.plus if k < 3 else kapi.maximum  # wrong
    out[nd_item.get_global_id(0)] = kapi.reduce_over_group(nd_item.get_group(), 1.0, op)  # named, wrong
    out[nd_item.get_global_id(0)] = kapi.reduce_over_group(nd_item.get_group(), 1.0, kapi.plus)  # right


@pair(kapi.BarrierDivergenceError, "meetings-differ", G, one)
def two_barriers_swapped_in_branches(nd_item: kapi.NdItem, out):
    if nd_item.get_local_id(0) < 2:
        out[nd_item.get_global_id(0)] = 1
        kapi.group_barrier(nd_item.get_group())  # named, wrong
    else:  # wrong
        kapi.group_barrier(nd_item.get_group())  # named, wrong
    kapi.group_barrier(nd_item.get_group())  # right
    if nd_item.get_local_id(0) >= 2:  # right
        out[nd_item.get_global_id(0)] = 2


@pair(
    kapi.DataRaceError,
    "data-race",
    kapi.NdRange(8, 8),
    lambda: (np.zeros(8), kapi.LocalAccessor(8, np.float64)),
    **SUB_GROUPS_OF_4,
)
def sub_group_barrier_where_group_is_needed(nd_item: kapi.NdItem, out, t):
    k = nd_item.get_local_id(0)
    t[k] = k  # named
    kapi.group_barrier(nd_item.get_sub_group())
    out[k] = t[7 - k]  # named, wrong
    out[k] = t[k ^ 1]  # right


@pair(kapi.DeadlockError, "loop-without-change", kapi.Range(4), lambda: (np.zeros(4, np.int32),), **SPIN)
def spin_on_a_later_item_relaxed(item: kapi.Item, flag):
    i = item.get_id(0)
    if i < 3:  # wrong
        while kapi.AtomicRef(flag, i + 1, kapi.MemoryOrder.ACQUIRE).load() == 0:  # named, wrong
            pass  # wrong
    kapi.AtomicRef(flag, i, kapi.MemoryOrder.RELEASE).store(1)


@pair(
    kapi.DeadlockError, "loop-without-change", kapi.NdRange(4, 4), lambda: (np.zeros(1, np.int32), np.zeros(1)), **SPIN
)
def lock_taken_twice(nd_item: kapi.NdItem, lock, out):
    ref = kapi.AtomicRef(lock, 0, kapi.MemoryOrder.ACQ_REL)
    if nd_item.get_local_id(0) == 0:
        while ref.exchange(1) == 1:
            pass
        while ref.exchange(1) == 1:  # named, wrong
            pass  # wrong
        ref.store(0)


@pair(
    kapi.DeadlockError,
    "loop-without-change",
    kapi.NdRange(2, 2),
    lambda: (np.zeros(2, np.int32), np.zeros(2), kapi.LocalAccessor(1, np.int32)),
    **SPIN,
)
def two_locks_in_opposite_orders(nd_item: kapi.NdItem, lock, out, t):
    k = nd_item.get_local_id(0)
    while kapi.AtomicRef(lock, k, kapi.MemoryOrder.ACQ_REL).exchange(1) == 1:
        pass
    kapi.group_barrier(nd_item.get_group())
    while kapi.AtomicRef(lock, 1 - k, kapi.MemoryOrder.ACQ_REL).exchange(1) == 1:  # named, wrong
        pass  # wrong
    kapi.AtomicRef(lock, 0, kapi.MemoryOrder.ACQ_REL).store(0)  # wrong
    kapi.AtomicRef(lock, k, kapi.MemoryOrder.ACQ_REL).store(0)  # right


@pair(
    kapi.DeadlockError, "loop-without-change", kapi.NdRange(8, 4), lambda: (np.zeros(1, np.int32), np.zeros(8)), **SPIN
)
def home_made_barrier_over_groups(nd_item: kapi.NdItem, count, out):
    if nd_item.get_group().leader:
        ref = kapi.AtomicRef(count, 0, kapi.MemoryOrder.ACQ_REL)
        ref.fetch_add(1)
        while ref.load() < 2:  # named, wrong
            pass  # wrong
    kapi.group_barrier(nd_item.get_group())
    out[nd_item.get_global_id(0)] = 1


@pair(kapi.DeadlockError, "loop-without-change", kapi.NdRange(4, 4), lambda: (np.zeros(1, np.int32),), **SPIN)
def item_spins_before_barrier_others_wait_after(nd_item: kapi.NdItem, flag):
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


@pair(kapi.DeadlockError, "endless-loop", kapi.Range(2), lambda: (np.zeros(2),), **SPIN)
def float_loop_that_never_gets_there(item: kapi.Item, out):
    x = 0.0
    while x != 1.0:  # named, right: while x < 1.0:
        x += 0.3
    out[item.get_id(0)] = x


@pair(kapi.DeadlockError, "loop-without-change", kapi.NdRange(4, 4), lambda: (np.zeros(4, np.int32),), **SPIN)
def halving_that_stops_at_minus_one(nd_item: kapi.NdItem, out):
    s = -4  # wrong
    s = 4  # right
    while s != 0:  # named
        s = s >> 1
    out[nd_item.get_local_id(0)] = s
