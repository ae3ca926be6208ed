"""Programs in the words of kapi: messages, locks, private memory, views, two and three dimensions, group algorithms."""

from __future__ import annotations

import numpy as np

import kapi_sim as kapi
from planted.program import BARRIER, BOUNDS, DEADLOCK, RACE, UNWRITTEN, Program

__all__ = ["PROGRAMS"]


def _zeros(*shape, dtype=np.float64):
    return np.zeros(shape, dtype)


def _flags(n=1):
    return np.zeros(n, np.int32)


def _tile(*shape, dtype=np.float64):
    return kapi.LocalAccessor(shape, dtype)


PROGRAMS = {
    "tree-sum": Program(
        ((16,), (8,)),
        lambda: (np.arange(16.0), _zeros(2), _tile(8)),
        """
def f(item: kapi.NdItem, a, out, t):
    group = item.get_group()
    k = item.get_local_id(0)
    t[k] = a[item.get_global_id(0)]
    kapi.group_barrier(group)  # after the copy
    step = 4
    while step > 0:
        if k < step:
            t[k] += t[k + step]
        kapi.group_barrier(group)  # after a step
        step //= 2
    if k == 0:
        out[group.get_group_linear_id()] = t[0]
""",
        {
            "no barrier after the copy": ("kapi.group_barrier(group)  # after the copy", "pass", RACE),
            "no barrier after a step": ("kapi.group_barrier(group)  # after a step", "pass", RACE),
            "barrier of some": (
                "        kapi.group_barrier(group)  # after a step",
                "        if k < step: kapi.group_barrier(group)",
                BARRIER,
            ),
            "all add": ("if k < step:", "if k + step < 8:", RACE),
            "too far": ("t[k + step]", "t[k + step + 4]", (BOUNDS, RACE)),
            "all groups write one": ("out[group.get_group_linear_id()]", "out[0]", RACE),
            "some leave early": ("    step = 4", "    if k == 7: return\n    step = 4", BARRIER),
        },
    ),
    "early-return": Program(
        ((8,), (4,)),
        lambda: (np.arange(8.0), _zeros(8), 6, _tile(4)),
        """
def f(item: kapi.NdItem, a, out, n, t):
    k, i = item.get_local_id(0), item.get_global_id(0)
    t[k] = a[i]
    kapi.group_barrier(item.get_group())
    if i >= n:
        return
    out[i] = t[3 - k]
""",
        {
            "left before the barrier": (
                "    kapi.group_barrier(item.get_group())",
                "    if i >= n: return\n    kapi.group_barrier(item.get_group())",
                BARRIER,
            ),
            "left before the write": ("    t[k] = a[i]", "    if i < n: t[k] = a[i]", UNWRITTEN),
            "no barrier": ("    kapi.group_barrier(item.get_group())", "", RACE),
            "neighbour's place": ("out[i]", "out[i // 2]", RACE),
        },
    ),
    "message": Program(
        ((2,), (1,)),
        lambda: (_flags(), _zeros(1), _zeros(1)),
        """
def f(item: kapi.NdItem, flag, data, out):
    if item.get_global_id(0) == 0:
        data[0] = 1.0
        kapi.AtomicRef(flag, 0, kapi.MemoryOrder.ACQ_REL).store(1)
    elif kapi.AtomicRef(flag, 0, kapi.MemoryOrder.ACQ_REL).load() == 1:
        out[0] = data[0]
""",
        {
            "relaxed store": ("kapi.MemoryOrder.ACQ_REL).store", "kapi.MemoryOrder.RELAXED).store", RACE),
            "relaxed load": ("kapi.MemoryOrder.ACQ_REL).load", "kapi.MemoryOrder.RELAXED).load", RACE),
            "plain load": ("kapi.AtomicRef(flag, 0, kapi.MemoryOrder.ACQ_REL).load()", "flag[0]", RACE),
            "plain store": ("kapi.AtomicRef(flag, 0, kapi.MemoryOrder.ACQ_REL).store(1)", "flag[0] = 1", RACE),
            "sent too early": (
                "        data[0] = 1.0\n        kapi.AtomicRef(flag, 0, kapi.MemoryOrder.ACQ_REL).store(1)",
                "        kapi.AtomicRef(flag, 0, kapi.MemoryOrder.ACQ_REL).store(1)\n        data[0] = 1.0",
                RACE,
            ),
            "sent to the group": (
                "kapi.MemoryOrder.ACQ_REL).store",
                "kapi.MemoryOrder.ACQ_REL, kapi.MemoryScope.WORK_GROUP).store",
                RACE,
            ),
            "received from the group": (
                "kapi.MemoryOrder.ACQ_REL).load",
                "kapi.MemoryOrder.ACQ_REL, kapi.MemoryScope.WORK_GROUP).load",
                RACE,
            ),
            "waits for another group": (
                "    elif kapi.AtomicRef(flag, 0, kapi.MemoryOrder.ACQ_REL).load() == 1:",
                "    else:\n        while kapi.AtomicRef(flag, 0, kapi.MemoryOrder.ACQ_REL).load() != 2: pass",
                DEADLOCK,
            ),
        },
    ),
    "message-by-fence": Program(
        ((2,), (1,)),
        lambda: (_flags(), _zeros(1), _zeros(1)),
        """
def f(item: kapi.NdItem, flag, data, out):
    if item.get_global_id(0) == 0:
        data[0] = 1.0
        kapi.atomic_fence(kapi.MemoryOrder.RELEASE, kapi.MemoryScope.DEVICE)
        kapi.AtomicRef(flag, 0).exchange(1)
    elif kapi.AtomicRef(flag, 0).fetch_add(0) == 1:
        kapi.atomic_fence(kapi.MemoryOrder.ACQUIRE, kapi.MemoryScope.DEVICE)
        out[0] = data[0]
""",
        {
            "no release": ("kapi.atomic_fence(kapi.MemoryOrder.RELEASE, kapi.MemoryScope.DEVICE)", "pass", RACE),
            "no acquire": ("kapi.atomic_fence(kapi.MemoryOrder.ACQUIRE, kapi.MemoryScope.DEVICE)", "pass", RACE),
            "fences the wrong way round": ("kapi.MemoryOrder.RELEASE", "kapi.MemoryOrder.ACQUIRE", RACE),
            "fence of a group": (
                "kapi.MemoryOrder.RELEASE, kapi.MemoryScope.DEVICE",
                "kapi.MemoryOrder.RELEASE, kapi.MemoryScope.WORK_GROUP",
                RACE,
            ),
        },
    ),
    "lock": Program(
        ((3,), (1,)),
        lambda: (_flags(), _zeros(1)),
        """
def f(item: kapi.NdItem, lock, total):
    while kapi.AtomicRef(lock, 0, kapi.MemoryOrder.ACQ_REL).exchange(1) != 0:
        pass
    total[0] += 1.0
    kapi.AtomicRef(lock, 0, kapi.MemoryOrder.ACQ_REL).store(0)
""",
        {
            "taken relaxed": ("kapi.MemoryOrder.ACQ_REL).exchange", "kapi.MemoryOrder.RELAXED).exchange", RACE),
            "taken in the group": (
                "kapi.MemoryOrder.ACQ_REL).exchange",
                "kapi.MemoryOrder.ACQ_REL, kapi.MemoryScope.WORK_GROUP).exchange",
                RACE,
            ),
            "given back relaxed": ("kapi.MemoryOrder.ACQ_REL).store", "kapi.MemoryOrder.RELAXED).store", RACE),
            "never given back": (
                "    kapi.AtomicRef(lock, 0, kapi.MemoryOrder.ACQ_REL).store(0)",
                "    pass",
                DEADLOCK,
            ),
            "given back before": (
                "    total[0] += 1.0\n    kapi.AtomicRef(lock, 0, kapi.MemoryOrder.ACQ_REL).store(0)",
                "    kapi.AtomicRef(lock, 0, kapi.MemoryOrder.ACQ_REL).store(0)\n    total[0] += 1.0",
                RACE,
            ),
            "given back plainly": ("kapi.AtomicRef(lock, 0, kapi.MemoryOrder.ACQ_REL).store(0)", "lock[0] = 0", RACE),
            "added before": ("    while", "    total[0] += 1.0\n    while", RACE),
        },
    ),
    "histogram": Program(
        ((16,), (8,)),
        lambda: (np.arange(16, dtype=np.int32) % 4, _flags(4), _tile(4, dtype=np.int32)),
        """
def f(item: kapi.NdItem, a, bins, own):
    group, k = item.get_group(), item.get_local_id(0)
    for j in range(k, 4, 8):
        own[j] = 0
    kapi.group_barrier(group)  # zeroed
    kapi.AtomicRef(own, a[item.get_global_id(0)], kapi.MemoryOrder.RELAXED, kapi.MemoryScope.WORK_GROUP).fetch_add(1)
    kapi.group_barrier(group)  # counted
    for j in range(k, 4, 8):
        kapi.AtomicRef(bins, j).fetch_add(own[j])
""",
        {
            "not zeroed": ("        own[j] = 0", "        pass", UNWRITTEN),
            "zeroed in part": (
                "    for j in range(k, 4, 8):\n        own[j] = 0",
                "    for j in range(k, 3, 8):\n        own[j] = 0",
                UNWRITTEN,
            ),
            "no barrier after zeroing": ("kapi.group_barrier(group)  # zeroed", "pass", (RACE, UNWRITTEN)),
            "no barrier after counting": ("kapi.group_barrier(group)  # counted", "pass", RACE),
            "counted plainly": (
                "kapi.AtomicRef(own, a[item.get_global_id(0)], kapi.MemoryOrder.RELAXED, kapi.MemoryScope.WORK_GROUP).fetch_add(1)",
                "own[a[item.get_global_id(0)]] += 1",
                RACE,
            ),
            "added plainly": ("kapi.AtomicRef(bins, j).fetch_add(own[j])", "bins[j] += own[j]", RACE),
            "no such bin": ("a[item.get_global_id(0)]", "a[item.get_global_id(0)] + 1", BOUNDS),
            "scope of a sub-group": (
                "kapi.AtomicRef(bins, j)",
                "kapi.AtomicRef(bins, j, kapi.MemoryOrder.RELAXED, kapi.MemoryScope.WORK_GROUP)",
                RACE,
            ),
        },
    ),
    "private-array": Program(
        ((4,), (4,)),
        lambda: (np.arange(16.0).reshape(4, 4), _zeros(4)),
        """
def f(item: kapi.NdItem, a, out):
    i = item.get_global_id(0)
    row = kapi.PrivateArray(4, np.float64)
    for j in range(4):
        row[j] = a[i, j]
    out[i] = row[3] - row[0]
""",
        {
            "filled in part": ("range(4)", "range(3)", UNWRITTEN),
            "never filled": ("        row[j] = a[i, j]", "        pass", UNWRITTEN),
            "one beyond": ("row[3]", "row[4]", BOUNDS),
            "one before": ("row[0]", "row[-5]", BOUNDS),
            "filled beyond": ("range(4)", "range(5)", BOUNDS),
            "transposed and beyond": ("a[i, j]", "a[j, i + 1]", BOUNDS),
            "one result": ("out[i] =", "out[i - i] = i +", RACE),
        },
    ),
    "views": Program(
        ((4,), (2,)),
        lambda: (np.arange(16.0).reshape(4, 4), _zeros(8)),
        """
def f(item: kapi.NdItem, a, out):
    i = item.get_global_id(0)
    row = a[i, 1:]
    part = out[2 * i : 2 * i + 2]
    part[0] = row[0]
    part[1] = row[2]
    a[i][0] = 0.0
""",
        {
            "beyond the row": ("row[2]", "row[3]", BOUNDS),
            "beyond the part": ("part[1]", "part[2]", BOUNDS),
            "parts overlap": ("out[2 * i : 2 * i + 2]", "out[i : i + 2]", RACE),
            "another's row": ("row = a[i, 1:]", "row = a[3 - i]", RACE),
            "reversed rows meet": ("a[i][0] = 0.0", "a[::-1][i][0] = row[0]\n    a[i][0] = 1.0", RACE),
            "transposed": ("a[i][0] = 0.0", "a.T[0][i // 2] = i", RACE),
            "rows that are none": ("row = a[i, 1:]", "row = a[i + 1, 1:]", BOUNDS),
        },
    ),
    "transpose": Program(
        ((8, 8), (4, 4)),
        lambda: (np.arange(64.0).reshape(8, 8), _zeros(8, 8), _tile(4, 5)),
        """
def f(item: kapi.NdItem, a, out, t):
    group = item.get_group()
    y, x = item.get_local_id(0), item.get_local_id(1)
    gy, gx = 4 * group.get_group_id(0), 4 * group.get_group_id(1)
    t[y, x] = a[gy + y, gx + x]
    kapi.group_barrier(group)
    out[gx + y, gy + x] = t[x, y]
""",
        {
            "no barrier": ("kapi.group_barrier(group)", "pass", RACE),
            "groups write one block": ("out[gx + y, gy + x]", "out[gx + y, x]", RACE),
            "the padding": ("t[x, y]", "t[x, y + 1]", UNWRITTEN),
            "beyond the tile": ("t[x, y]", "t[x + 1, y]", BOUNDS),
            "written by columns": ("t[y, x] = a[gy + y, gx + x]", "t[y, 0] = a[gy + y, gx + x]", RACE),
            "barrier of the first rows": (
                "    kapi.group_barrier(group)",
                "    if y < 2: kapi.group_barrier(group)",
                (*BARRIER, RACE),
            ),
        },
    ),
    "cube": Program(
        ((4, 4, 4), (2, 2, 2)),
        lambda: (np.arange(64.0).reshape(4, 4, 4), _zeros(4, 4, 4), _tile(2, 2, 2)),
        """
def f(item: kapi.NdItem, a, out, t):
    z, y, x = item.get_global_id(0), item.get_global_id(1), item.get_global_id(2)
    k, j, i = item.get_local_id(0), item.get_local_id(1), item.get_local_id(2)
    t[k, j, i] = a[z, y, x]
    kapi.group_barrier(item.get_group())
    out[z, y, x] = t[1 - k, j, i] + t[k, 1 - j, 1 - i]
""",
        {
            "no barrier": ("kapi.group_barrier(item.get_group())", "pass", RACE),
            "a plane only": ("    t[k, j, i] = a[z, y, x]", "    if k == 0: t[k, j, i] = a[z, y, x]", UNWRITTEN),
            "planes write one": ("out[z, y, x] =", "out[0, y, x] = z +", RACE),
            "beyond": ("t[1 - k, j, i]", "t[2 - k, j, i]", BOUNDS),
            "barrier behind a depth": (
                "    kapi.group_barrier(item.get_group())",
                "    if i + j + k < 3: kapi.group_barrier(item.get_group())",
                (*BARRIER, RACE),
            ),
        },
    ),
    "algorithms": Program(
        ((16,), (8,)),
        lambda: (np.arange(16.0), _zeros(16), _tile(1)),
        """
def f(item: kapi.NdItem, a, out, t):
    group, k, i = item.get_group(), item.get_local_id(0), item.get_global_id(0)
    total = kapi.reduce_over_group(group, a[i], kapi.plus)
    if k == 0:
        t[0] = total
    kapi.group_barrier(group)
    out[i] = t[0] + kapi.exclusive_scan_over_group(group, 1.0, kapi.plus)
    a[i] = kapi.group_broadcast(group, out[i], 3)
""",
        {
            "all write the total": ("    if k == 0:\n        t[0] = total", "    t[0] = total + k", RACE),
            "no barrier": ("    kapi.group_barrier(group)\n", "", (RACE, UNWRITTEN)),
            "reduced by some": (
                "    total = kapi.reduce_over_group(group, a[i], kapi.plus)",
                "    total = 0.0\n    if k < 4: total = kapi.reduce_over_group(group, a[i], kapi.plus)",
                BARRIER,
            ),
            "different algorithms": (
                "kapi.exclusive_scan_over_group(group, 1.0, kapi.plus)",
                "(kapi.exclusive_scan_over_group(group, 1.0, kapi.plus) if k else kapi.inclusive_scan_over_group(group, 1.0, kapi.plus))",
                BARRIER,
            ),
            "nobody wrote": ("        t[0] = total", "        pass", UNWRITTEN),
            "scanned in another's place": (
                "    a[i] = kapi.group_broadcast(group, out[i], 3)",
                "    a[i] = kapi.group_broadcast(group, out[15 - i], 3)",
                RACE,
            ),
        },
    ),
    "sub-groups": Program(
        ((64,), (64,)),
        lambda: (np.arange(64.0), _zeros(64), _tile(64)),
        """
def f(item: kapi.NdItem, a, out, t):
    sub = item.get_sub_group()
    lane, i, k = sub.get_local_id(), item.get_global_id(0), item.get_local_id(0)
    t[k] = kapi.permute_group_by_xor(sub, a[i], 1)
    kapi.group_barrier(sub)
    out[i] = t[k ^ 1] + kapi.reduce_over_group(sub, lane, kapi.maximum)
""",
        {
            "no barrier": ("    kapi.group_barrier(sub)\n", "", RACE),
            "across sub-groups": ("t[k ^ 1]", "t[63 - k]", RACE),
            "some lanes": ("    kapi.group_barrier(sub)", "    if lane < 1: kapi.group_barrier(sub)", (*BARRIER, RACE)),
            "lanes reduce": (
                "kapi.reduce_over_group(sub, lane, kapi.maximum)",
                "(kapi.reduce_over_group(sub, lane, kapi.maximum) if lane else 0)",
                BARRIER,
            ),
            "lanes write one": ("out[i] =", "out[i - lane] =", RACE),
        },
    ),
    "loops": Program(
        ((8,), (4,)),
        lambda: (np.arange(32.0).reshape(8, 4), _zeros(8), _tile(2, 4)),
        """
def f(item: kapi.NdItem, a, out, t):
    group, k, i = item.get_group(), item.get_local_id(0), item.get_global_id(0)
    total = 0.0
    for j in range(4):
        side = j % 2
        t[side, k] = a[i, j]
        kapi.group_barrier(group)
        total += t[side, 3 - k]
    out[i] = total
""",
        {
            "no barrier": ("        kapi.group_barrier(group)\n", "", (RACE, UNWRITTEN)),
            "one side": ("side = j % 2", "side = 0", RACE),
            "other side": ("t[side, 3 - k]", "t[1 - side, 3 - k]", (RACE, UNWRITTEN)),
            "turns by work-item": ("range(4)", "range(4 - k)", BARRIER),
            "left by some": ("        total +=", "        if k == j: break\n        total +=", BARRIER),
            "skipped by some": (
                "        kapi.group_barrier(group)",
                "        if k == j: continue\n        kapi.group_barrier(group)",
                BARRIER,
            ),
            "one turn more": ("range(4)", "range(5)", BOUNDS),
        },
    ),
    "atomics": Program(
        ((8,), (4,)),
        lambda: (np.arange(8, dtype=np.int32), _flags(2), _flags(8)),
        """
def f(item: kapi.NdItem, a, counts, places):
    i = item.get_global_id(0)
    place = kapi.AtomicRef(counts, 0).fetch_add(1)
    places[place] = a[i]
    kapi.AtomicRef(counts, 1).fetch_max(a[i])
""",
        {
            "count read plainly": ("places[place] = a[i]", "places[counts[0] % 8] = a[i]", RACE),
            "maximum plainly": ("kapi.AtomicRef(counts, 1).fetch_max(a[i])", "counts[1] = max(counts[1], a[i])", RACE),
            "place of another": ("places[place] = a[i]", "places[place // 2] = a[i]", RACE),
            "loaded, not added": ("fetch_add(1)", "load()", RACE),
            "no such counter": ("kapi.AtomicRef(counts, 1)", "kapi.AtomicRef(counts, 2)", BOUNDS),
            "two of a place": ("fetch_add(1)", "fetch_add(2)", BOUNDS),
            "scope too narrow": (
                "kapi.AtomicRef(counts, 0)",
                "kapi.AtomicRef(counts, 0, kapi.MemoryOrder.RELAXED, kapi.MemoryScope.WORK_GROUP)",
                RACE,
            ),
        },
    ),
    "last-group": Program(
        ((12,), (4,)),
        lambda: (np.ones(12), _zeros(3), _flags(), _zeros(1), _tile(1, dtype=np.int32)),
        """
def f(item: kapi.NdItem, a, part, count, out, last):
    group = item.get_group()
    total = kapi.reduce_over_group(group, a[item.get_global_id(0)], kapi.plus)
    if group.leader:
        part[group.get_group_linear_id()] = total
        last[0] = kapi.AtomicRef(count, 0, kapi.MemoryOrder.ACQ_REL, kapi.MemoryScope.DEVICE).fetch_add(1)
    kapi.group_barrier(group)
    if last[0] == 2 and group.leader:
        out[0] = part[0] + part[1] + part[2]
""",
        {
            "relaxed": ("kapi.MemoryOrder.ACQ_REL", "kapi.MemoryOrder.RELAXED", RACE),
            "release alone": ("kapi.MemoryOrder.ACQ_REL", "kapi.MemoryOrder.RELEASE", RACE),
            "acquire alone": ("kapi.MemoryOrder.ACQ_REL", "kapi.MemoryOrder.ACQUIRE", RACE),
            "no barrier": ("    kapi.group_barrier(group)\n", "", (RACE, UNWRITTEN)),
            "any group": ("last[0] == 2 and", "last[0] >= 1 and", RACE),
            "all write": (
                " and group.leader:\n        out[0] = part[0]",
                ":\n        out[0] = item.get_local_id(0) + part[0]",
                RACE,
            ),
            "a part beyond": ("part[2]", "part[3]", BOUNDS),
        },
    ),
}
"""By name; of each it is known that nothing is wrong with it."""
