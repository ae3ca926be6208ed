"""Waiting for another work-group, which ran first here and need not elsewhere."""

from __future__ import annotations

import numpy as np

import kapi_sim as kapi

MO = kapi.MemoryOrder
i4 = np.int32
SHORT = {"spin_limit": 100}
SPIN = {"spin_limit": 20000}


class wait_for_an_earlier_group:
    error, space, says = kapi.DeadlockError, kapi.NdRange(4, 2), "flag[0]"
    controls = SPIN

    def arguments():
        return (np.zeros(1, i4), np.zeros(1), np.zeros(4))

    def wrong(nd_item: kapi.NdItem, flag, data, out):
        if nd_item.get_global_id(0) == 0:
            data[0] = 1.0
            kapi.AtomicRef(flag, 0, MO.RELEASE).store(1)  # named
        if nd_item.get_group().get_group_id(0) == 1 and nd_item.get_group().leader:
            while kapi.AtomicRef(flag, 0, MO.ACQUIRE).load() == 0:  # named
                pass
            out[nd_item.get_global_id(0)] = data[0]

    def right(nd_item: kapi.NdItem, flag, data, out):
        if nd_item.get_global_id(0) == 0:
            data[0] = 1.0
            kapi.AtomicRef(flag, 0, MO.RELEASE).store(1)
        if nd_item.get_group().get_group_id(0) == 1 and nd_item.get_group().leader:
            if kapi.AtomicRef(flag, 0, MO.ACQUIRE).load() == 1:
                out[nd_item.get_global_id(0)] = data[0]


class chained_scan_waits_for_its_predecessor:
    error, space, says = kapi.DeadlockError, kapi.NdRange(8, 4), "state[0]"
    controls = SPIN

    def arguments():
        return (np.zeros(2, i4), np.ones(8), np.zeros(2))

    def wrong(nd_item: kapi.NdItem, state, a, sums):
        g = nd_item.get_group()
        b = g.get_group_id(0)
        s = kapi.reduce_over_group(g, a[nd_item.get_global_id(0)], kapi.plus)
        if g.leader:
            if b > 0:
                ready = 0
                while True:
                    ready = kapi.AtomicRef(state, b - 1, MO.ACQUIRE).load()  # named
                    if ready == 1:
                        break
                s += sums[b - 1]
            sums[b] = s
            kapi.AtomicRef(state, b, MO.RELEASE).store(1)  # named

    def right(nd_item: kapi.NdItem, state, a, sums):
        g = nd_item.get_group()
        b = g.get_group_id(0)
        s = kapi.reduce_over_group(g, a[nd_item.get_global_id(0)], kapi.plus)
        if g.leader:
            sums[b] = s


class item_waits_for_an_earlier_item:
    error, space, says = kapi.DeadlockError, kapi.Range(4), "turn[0]"
    controls = SPIN

    def arguments():
        return (np.zeros(1, i4), np.zeros(1))

    def wrong(item: kapi.Item, turn, total):
        ref = kapi.AtomicRef(turn, 0, MO.ACQ_REL)
        while ref.load() != item.get_id(0):  # named
            pass
        total[0] += 1.0
        ref.store(item.get_id(0) + 1)  # named

    def right(item: kapi.Item, turn, total):
        kapi.AtomicRef(total, 0).fetch_add(1.0)


class for_over_a_huge_range:
    error, space, controls = kapi.DeadlockError, kapi.Range(2), SHORT

    def arguments():
        return (np.zeros(2),)

    def wrong(item: kapi.Item, out):
        for _ in range(1 << 62):  # named
            if out[item.get_id(0)] > 0:
                break

    def right(item: kapi.Item, out):
        for k in range(1 << 62):
            if k > 3:
                break
