"""Waiting for another work-group, which ran first here and need not elsewhere."""

from __future__ import annotations

import numpy as np

import kapi_sim as kapi

MO = kapi.MemoryOrder
i4 = np.int32
SHORT = {"spin_limit": 100}
SPIN = {"spin_limit": 20000}


class wait_for_an_earlier_group:
    error, space = kapi.DeadlockError, kapi.NdRange(4, 2)
    code = "waits-for-other"
    controls = SPIN

    def arguments():
        return (np.zeros(1, i4), np.zeros(1), np.zeros(4))

    def kernel(nd_item: kapi.NdItem, flag, data, out):
        if nd_item.get_global_id(0) == 0:
            data[0] = 1.0
            kapi.AtomicRef(flag, 0, MO.RELEASE).store(1)  # named
        if nd_item.get_group().get_group_id(0) == 1 and nd_item.get_group().leader:
            while kapi.AtomicRef(flag, 0, MO.ACQUIRE).load() == 0:  # named, wrong
                pass  # wrong
            out[nd_item.get_global_id(0)] = data[0]  # wrong
            if kapi.AtomicRef(flag, 0, MO.ACQUIRE).load() == 1:  # right
                out[nd_item.get_global_id(0)] = data[0]  # right


class chained_scan_waits_for_its_predecessor:
    error, space = kapi.DeadlockError, kapi.NdRange(8, 4)
    code = "waits-for-other"
    controls = SPIN

    def arguments():
        return (np.zeros(2, i4), np.ones(8), np.zeros(2))

    def kernel(nd_item: kapi.NdItem, state, a, sums):
        g = nd_item.get_group()
        b = g.get_group_id(0)
        s = kapi.reduce_over_group(g, a[nd_item.get_global_id(0)], kapi.plus)
        if g.leader:
            if b > 0:  # wrong
                ready = 0  # wrong
                while True:  # wrong
                    ready = kapi.AtomicRef(state, b - 1, MO.ACQUIRE).load()  # named, wrong
                    if ready == 1:  # wrong
                        break  # wrong
                s += sums[b - 1]  # wrong
            sums[b] = s
            kapi.AtomicRef(state, b, MO.RELEASE).store(1)  # named, wrong


class item_waits_for_an_earlier_item:
    error, space = kapi.DeadlockError, kapi.Range(4)
    code = "waits-for-other"
    controls = SPIN

    def arguments():
        return (np.zeros(1, i4), np.zeros(1))

    def kernel(item: kapi.Item, ticket, total):
        ref = kapi.AtomicRef(ticket, 0, MO.ACQ_REL)  # wrong
        while ref.load() != item.get_id(0):  # named, wrong
            pass  # wrong
        total[0] += 1.0  # wrong
        ref.store(item.get_id(0) + 1)  # named, wrong
        kapi.AtomicRef(total, 0).fetch_add(1.0)  # right


def flag_and_out():
    return np.zeros(1, i4), np.zeros(2, i4)


@kapi.device_func
def is_set(flag):
    return kapi.AtomicRef(flag, 0, MO.ACQUIRE).load() != 0


@kapi.device_func
def wait_until_set(flag):
    while kapi.AtomicRef(flag, 0, MO.ACQUIRE).load() == 0:  # named
        pass


class wait_that_adds_nothing:
    error, space, arguments = kapi.DeadlockError, kapi.NdRange(4, 2), flag_and_out
    code = "waits-for-other"

    def kernel(nd_item: kapi.NdItem, flag, out):
        if nd_item.get_global_id(0) == 0:
            kapi.AtomicRef(flag, 0, MO.RELEASE).store(1)  # named
        if nd_item.get_global_id(0) == 2:  # right: if nd_item.get_global_id(0) == 1:
            while kapi.AtomicRef(flag, 0, MO.ACQ_REL).fetch_add(0) == 0:  # named
                pass


class wait_that_takes_a_token:
    error, space, arguments = kapi.DeadlockError, kapi.NdRange(4, 2), flag_and_out
    code = "waits-for-other"

    def wrong(nd_item: kapi.NdItem, tokens, out):
        one = kapi.PrivateArray(1, np.int32)
        one[0] = 1
        if nd_item.get_global_id(0) == 0:
            kapi.AtomicRef(tokens, 0, MO.RELEASE).store(1)  # named
        if nd_item.get_global_id(0) == 3:
            while not kapi.AtomicRef(tokens, 0, MO.ACQ_REL).compare_exchange(one, 0):  # named
                one[0] = 1

    def right(nd_item: kapi.NdItem, tokens, out):
        none = kapi.PrivateArray(1, np.int32, fill_zeros=True)
        if nd_item.get_local_id(0) == 0:
            while not kapi.AtomicRef(tokens, 0, MO.ACQUIRE).compare_exchange(none, 1):
                none[0] = 0
            out[0] += 1
            kapi.AtomicRef(tokens, 0, MO.RELEASE).store(0)


class wait_that_counts_and_backs_off:
    error, space, arguments = kapi.DeadlockError, kapi.NdRange(2, 1), flag_and_out
    code = "waits-for-other"

    def wrong(nd_item: kapi.NdItem, flag, out):
        if nd_item.get_global_id(0) == 0:
            kapi.AtomicRef(flag, 0, MO.RELEASE).store(1)  # named
        else:
            tries = 0
            delay = 1
            while kapi.AtomicRef(flag, 0, MO.ACQUIRE).load() == 0:  # named
                tries += 1
                for _ in range(delay):
                    pass
                delay = min(2 * delay, 32)
            out[0] = tries

    def right(nd_item: kapi.NdItem, flag, out):
        if nd_item.get_global_id(0) == 0:
            kapi.AtomicRef(flag, 0, MO.RELEASE).store(1)
        else:
            tries = 0
            while tries < 2000 and kapi.AtomicRef(flag, 0, MO.ACQUIRE).load() == 0:
                tries += 1
            out[0] = tries


class wait_with_a_look_before:
    error, space = kapi.DeadlockError, kapi.NdRange(6, 1)
    code = "waits-for-other"

    def arguments():
        return np.ones(6, i4), np.zeros(6, i4), np.zeros(6, i4), np.zeros(1, i4)

    def kernel(nd_item: kapi.NdItem, a, state, sums, tickets):
        number = nd_item.get_group().get_group_id(0)  # wrong
        number = kapi.AtomicRef(tickets, 0).fetch_add(1)  # right
        sums[number] = a[number]
        if number > 0:
            known = kapi.AtomicRef(state, number - 1, MO.ACQUIRE).load()  # named
            while known == 0:
                known = kapi.AtomicRef(state, number - 1, MO.ACQUIRE).load()
            sums[number] += sums[number - 1]
        kapi.AtomicRef(state, number, MO.RELEASE).store(1)  # named


class wait_that_a_function_decides:
    error, space, arguments = kapi.DeadlockError, kapi.Range(2), flag_and_out
    code = "waits-for-other"

    def wrong(item: kapi.Item, flag, out):
        if item.get_id(0) == 0:
            kapi.AtomicRef(flag, 0, MO.RELEASE).store(1)  # named
        else:
            while not is_set(flag):
                out[0] = 1

    def right(item: kapi.Item, flag, out):
        if item.get_id(0) == 0:
            kapi.AtomicRef(flag, 0, MO.RELEASE).store(1)
        elif not is_set(flag):
            out[0] = 1


class wait_in_a_function:
    error, space, arguments = kapi.DeadlockError, kapi.NdRange(2, 1), flag_and_out
    code = "waits-for-other"
    calls = (wait_until_set.py_func,)

    def kernel(nd_item: kapi.NdItem, flag, out):
        if nd_item.get_global_id(0) == 0:  # wrong
            kapi.AtomicRef(flag, 0, MO.RELEASE).store(1)  # named, wrong
        else:  # wrong
            wait_until_set(flag)  # wrong
        kapi.AtomicRef(flag, 0, MO.RELEASE).store(1)  # right
        wait_until_set(flag)  # right


class wait_in_a_for_loop:
    error, space, arguments = kapi.DeadlockError, kapi.NdRange(2, 1), flag_and_out
    code = "waits-for-other"

    def kernel(nd_item: kapi.NdItem, flag, out):
        if nd_item.get_global_id(0) == 0:
            kapi.AtomicRef(flag, 0, MO.RELEASE).store(1)  # named
        else:
            for _ in range(1 << 40):  # right: for _ in range(1 << 20):
                if kapi.AtomicRef(flag, 0, MO.ACQUIRE).load() == 1:  # named
                    break


class all_groups_converge:
    error, space, arguments = kapi.DeadlockError, kapi.NdRange(6, 2), flag_and_out
    code = "loop-without-change"

    def kernel(nd_item: kapi.NdItem, came, out):
        if nd_item.get_local_id(0) == 0:  # wrong
            kapi.AtomicRef(came, 0, MO.ACQ_REL).fetch_add(1)  # wrong
            while kapi.AtomicRef(came, 0, MO.ACQUIRE).load() < 3:  # named, wrong
                pass  # wrong
        if nd_item.get_local_id(0) == 0 and kapi.AtomicRef(came, 0, MO.ACQ_REL).fetch_add(1) == 2:  # right
            out[0] = 3  # right


class lock_by_tickets_with_order_by_id:
    error, space = kapi.DeadlockError, kapi.NdRange(8, 2)
    code = "waits-for-other"

    def arguments():
        return np.zeros(1, i4), np.zeros(1, i4), np.zeros(1)

    def kernel(nd_item: kapi.NdItem, tickets, serving, total):
        if nd_item.get_local_id(0) == 0:
            mine = nd_item.get_group().get_group_id(0)  # wrong
            mine = kapi.AtomicRef(tickets, 0).fetch_add(1)  # right
            while kapi.AtomicRef(serving, 0, MO.ACQUIRE).load() != mine:  # named
                pass
            total[0] += 1
            kapi.AtomicRef(serving, 0, MO.RELEASE).store(mine + 1)  # named


class for_over_a_huge_range:
    error, space, controls = kapi.DeadlockError, kapi.Range(2), SHORT
    code = "loop-without-change"

    def arguments():
        return (np.zeros(2),)

    def kernel(item: kapi.Item, out):
        for _ in range(1 << 62):  # named, right: for k in range(1 << 62):
            if out[item.get_id(0)] > 0:  # right: if k > 3:
                break
