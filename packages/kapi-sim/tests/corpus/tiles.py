"""Tiles, reductions, scans and sorts: the barrier, the halo or the owner that production code forgets."""

from __future__ import annotations

import numpy as np
from planted.pair import pair

import kapi_sim as kapi

N = 8
SQ = kapi.NdRange((8, 8), (4, 4))
f4 = np.float32


def mm():
    rng = np.random.default_rng(0)
    return (
        rng.random((N, N)),
        rng.random((N, N)),
        np.zeros((N, N)),
        kapi.LocalAccessor((4, 4), np.float64),
        kapi.LocalAccessor((4, 4), np.float64),
    )


@pair(kapi.DataRaceError, "data-race", SQ, mm)
def matmul_second_barrier_missing(nd_item: kapi.NdItem, a, b, c, ta, tb):
    y = nd_item.get_local_id(0)
    x = nd_item.get_local_id(1)
    row = nd_item.get_global_id(0)
    col = nd_item.get_global_id(1)
    s = 0.0
    for t in range(a.shape[1] // 4):
        ta[y, x] = a[row, t * 4 + x]  # named
        tb[y, x] = b[t * 4 + y, col]
        kapi.group_barrier(nd_item.get_group())
        for k in range(4):
            s += ta[y, k] * tb[k, x]  # named
        kapi.group_barrier(nd_item.get_group())  # right
    c[row, col] = s


@pair(kapi.DataRaceError, "data-race", SQ, mm)
def matmul_only_barrier_at_the_end_of_the_loop(nd_item: kapi.NdItem, a, b, c, ta, tb):
    y = nd_item.get_local_id(0)
    x = nd_item.get_local_id(1)
    row = nd_item.get_global_id(0)
    col = nd_item.get_global_id(1)
    s = 0.0
    for t in range(2):  # right: for t in range(a.shape[1] // 4):
        ta[y, x] = a[row, t * 4 + x]  # named
        tb[y, x] = b[t * 4 + y, col]
        kapi.group_barrier(nd_item.get_group())  # right
        for k in range(4):
            s += ta[y, k] * tb[k, x]  # named
        kapi.group_barrier(nd_item.get_group())
    c[row, col] = s


@pair(
    kapi.OutOfBoundsError,
    "index-out-of-bounds",
    kapi.NdRange((8, 8), (2, 4)),
    lambda: (np.zeros((8, 8)), np.zeros((8, 8)), kapi.LocalAccessor((2, 4), np.float64)),
)
def matmul_transposed_tile_index_out(nd_item: kapi.NdItem, a, b, tile):
    y = nd_item.get_local_id(0)
    x = nd_item.get_local_id(1)
    tile[x, y] = a[nd_item.get_global_id(0), nd_item.get_global_id(1)]  # named, wrong
    tile[y, x] = a[nd_item.get_global_id(0), nd_item.get_global_id(1)]  # right


@pair(
    kapi.DataRaceError,
    "data-race",
    SQ,
    lambda: (np.arange(64.0).reshape(8, 8), np.zeros((8, 8)), kapi.LocalAccessor((4, 4), np.float64)),
)
def transpose_writes_its_own_index(nd_item: kapi.NdItem, a, out, tile):
    y = nd_item.get_local_id(0)
    x = nd_item.get_local_id(1)
    g = nd_item.get_group()
    tile[y, x] = a[nd_item.get_global_id(0), nd_item.get_global_id(1)]
    kapi.group_barrier(g)
    out[g.get_group_id(0) * 4 + y, g.get_group_id(0) * 4 + x] = tile[x, y]  # named, wrong
    out[g.get_group_id(1) * 4 + y, g.get_group_id(0) * 4 + x] = tile[x, y]  # right


@pair(
    kapi.DataRaceError,
    "data-race",
    kapi.NdRange(4, 4),
    lambda: (np.arange(16.0), np.zeros(4), kapi.LocalAccessor((2, 4), np.float64)),
)
def double_buffer_flipped_too_late(nd_item: kapi.NdItem, a, out, buf):
    k = nd_item.get_local_id(0)
    cur = 0
    s = 0.0
    buf[cur, k] = a[k]
    kapi.group_barrier(nd_item.get_group())
    for t in range(1, 4):
        buf[cur, k] = a[t * 4 + k]  # named, wrong
        buf[1 - cur, k] = a[t * 4 + k]  # right
        s += buf[cur, 3 - k]  # named
        kapi.group_barrier(nd_item.get_group())
        cur = 1 - cur
    out[k] = s


@pair(kapi.DataRaceError, "data-race", kapi.NdRange(4, 4), double_buffer_flipped_too_late.arguments)
def double_buffer_without_the_one_barrier(nd_item: kapi.NdItem, a, out, buf):
    k = nd_item.get_local_id(0)
    s = 0.0
    buf[0, k] = a[k]  # named
    kapi.group_barrier(nd_item.get_group())  # right
    for t in range(1, 4):
        buf[t % 2, k] = a[t * 4 + k]
        s += buf[(t + 1) % 2, 3 - k]  # named
        kapi.group_barrier(nd_item.get_group())  # right
    out[k] = s


# a depth-2 prefetch in a ring of 2 overwrites what is read in the same phase
@pair(
    kapi.DataRaceError,
    "data-race",
    kapi.NdRange(4, 4),
    lambda: (np.arange(32.0), np.zeros(4), kapi.LocalAccessor((2, 4), np.float64)),
)
def triple_buffer_one_slot_short(nd_item: kapi.NdItem, a, out, ring):
    k = nd_item.get_local_id(0)
    ring[0, k] = a[k]
    ring[1, k] = a[4 + k]  # wrong
    kapi.group_barrier(nd_item.get_group())
    s = 0.0
    for t in range(6):  # right: for t in range(7):
        ring[(t + 2) % 2, k] = a[(t + 2) * 4 + k]  # named, wrong
        ring[(t + 1) % 2, k] = a[(t + 1) * 4 + k]  # right
        s += ring[t % 2, (k + 1) % 4]  # named
        kapi.group_barrier(nd_item.get_group())
    out[k] = s


def st():
    return np.arange(8.0), np.zeros(8), kapi.LocalAccessor(6, np.float64)


@pair(kapi.UninitializedReadError, "read-before-write", kapi.NdRange(8, 4), st)
def stencil_right_halo_forgotten(nd_item: kapi.NdItem, a, out, tile):
    i = nd_item.get_global_id(0)
    k = nd_item.get_local_id(0)
    n = a.shape[0]  # right
    tile[k + 1] = a[i]
    if k == 0:
        tile[0] = a[i - 1] if i > 0 else 0.0
    if k == nd_item.get_local_range(0) - 1:  # right
        tile[k + 2] = a[i + 1] if i < n - 1 else 0.0  # right
    kapi.group_barrier(nd_item.get_group())
    out[i] = tile[k] + tile[k + 1] + tile[k + 2]  # named


@pair(
    kapi.UninitializedReadError,
    "read-before-write",
    kapi.NdRange((4, 4), (4, 4)),
    lambda: (np.ones((4, 4)), np.zeros((4, 4)), kapi.LocalAccessor((6, 6), f4)),
)
def stencil_2d_corner_uninitialised(nd_item: kapi.NdItem, a, out, t):
    y = nd_item.get_local_id(0)
    x = nd_item.get_local_id(1)
    k = y * 4 + x  # right
    while k < 36:  # right
        t[k // 6, k % 6] = 0  # right
        k += 16  # right
    kapi.group_barrier(nd_item.get_group())  # right
    t[y + 1, x + 1] = a[y, x]
    if y == 0:  # wrong
        t[0, x + 1] = 0  # wrong
    if y == 3:  # wrong
        t[5, x + 1] = 0  # wrong
    if x == 0:  # wrong
        t[y + 1, 0] = 0  # wrong
    if x == 3:  # wrong
        t[y + 1, 5] = 0  # wrong
    kapi.group_barrier(nd_item.get_group())
    s = a.dtype.type(0)
    for dy in range(3):
        for dx in range(3):
            s += t[y + dy, x + dx]  # named
    out[y, x] = s


@pair(kapi.DataRaceError, "data-race", kapi.NdRange((4, 4), (4, 4)), stencil_2d_corner_uninitialised.arguments)
def zeroing_of_the_halo_without_a_barrier(nd_item: kapi.NdItem, a, out, t):
    y = nd_item.get_local_id(0)
    x = nd_item.get_local_id(1)
    k = y * 4 + x
    while k < 36:
        t[k // 6, k % 6] = 0  # named
        k += 16
    kapi.group_barrier(nd_item.get_group())  # right
    t[y + 1, x + 1] = a[y, x]  # named
    kapi.group_barrier(nd_item.get_group())
    out[y, x] = t[y, x]  # wrong
    s = a.dtype.type(0)  # right
    for dy in range(3):  # right
        for dx in range(3):  # right
            s += t[y + dy, x + dx]  # right
    out[y, x] = s  # right


@pair(
    kapi.DataRaceError,
    "data-race",
    kapi.Range(6, 6),
    lambda: (np.random.default_rng(1).random((6, 6)), np.zeros((6, 6))),
)
def jacobi_in_place(item: kapi.Item, u, v):
    y = item.get_id(0)
    x = item.get_id(1)
    if 0 < y < 5 and 0 < x < 5:
        u[y, x] = 0.25 * (u[y - 1, x] + u[y + 1, x] + u[y, x - 1] + u[y, x + 1])  # named, wrong
        v[y, x] = 0.25 * (u[y - 1, x] + u[y + 1, x] + u[y, x - 1] + u[y, x + 1])  # right


@pair(kapi.DataRaceError, "data-race", kapi.Range(6, 6), jacobi_in_place.arguments)
def gauss_seidel_red_black_colours_mixed(item: kapi.Item, u, v):
    y = item.get_id(0)
    x = item.get_id(1)
    if 0 < y < 5 and 0 < x < 5 and x % 2 == 0:  # right: if 0 < y < 5 and 0 < x < 5 and (x + y) % 2 == 0:
        u[y, x] = 0.25 * (u[y - 1, x] + u[y + 1, x] + u[y, x - 1] + u[y, x + 1])  # named


def red(n=6):
    def make():
        return np.arange(12.0), np.zeros(2), kapi.LocalAccessor(n, np.float64)

    return make


@pair(kapi.OutOfBoundsError, "index-out-of-bounds", kapi.NdRange(12, 6), red())
def tree_reduction_of_six_items_reads_beyond(nd_item: kapi.NdItem, a, out, s):
    k = nd_item.get_local_id(0)
    s[k] = a[nd_item.get_global_id(0)]
    kapi.group_barrier(nd_item.get_group())
    h = 4
    while h > 0:
        if k < h:  # right: if k < h and k + h < 6:
            s[k] += s[k + h]  # named
        kapi.group_barrier(nd_item.get_group())
        h //= 2
    if k == 0:
        out[nd_item.get_group().get_group_id(0)] = s[0]


@pair(kapi.DataRaceError, "data-race", kapi.NdRange(8, 4), lambda: (np.arange(8.0), np.zeros(1)))
def sums_of_groups_added_plainly(nd_item: kapi.NdItem, a, out):
    t = kapi.reduce_over_group(nd_item.get_group(), a[nd_item.get_global_id(0)], kapi.plus)
    if nd_item.get_group().leader:
        out[0] += t  # named, wrong
        kapi.AtomicRef(out, 0).fetch_add(t)  # right


@pair(
    kapi.DataRaceError,
    "data-race",
    kapi.NdRange(8, 4),
    lambda: (np.arange(8.0), np.zeros(2), np.zeros(1, np.int32), np.zeros(1)),
)
def last_group_done_without_fence(nd_item: kapi.NdItem, a, partial, done, out):
    g = nd_item.get_group()
    t = kapi.reduce_over_group(g, a[nd_item.get_global_id(0)], kapi.plus)
    if g.leader:  # wrong
        partial[g.get_group_id(0)] = t  # named, wrong
        if kapi.AtomicRef(done, 0).fetch_add(1) == g.get_group_range(0) - 1:  # wrong
            s = 0.0  # wrong
            for j in range(2):  # wrong
                s += partial[j]  # named, wrong
            out[0] = s  # wrong
    if g.leader:  # right
        partial[g.get_group_id(0)] = t  # right
        if kapi.AtomicRef(done, 0, kapi.MemoryOrder.ACQ_REL).fetch_add(1) == g.get_group_range(0) - 1:  # right
            s = 0.0  # right
            for j in range(2):  # right
                s += partial[j]  # right
            out[0] = s  # right


@pair(
    kapi.DataRaceError,
    "data-race",
    kapi.NdRange(8, 4),
    lambda: (np.arange(8.0), np.zeros(2), np.zeros(1, np.int32), np.zeros(1), kapi.LocalAccessor(1, np.int32)),
)
def last_group_flag_read_without_a_barrier(nd_item: kapi.NdItem, a, partial, done, out, is_last):
    g = nd_item.get_group()
    t = kapi.reduce_over_group(g, a[nd_item.get_global_id(0)], kapi.plus)
    if g.leader:
        partial[g.get_group_id(0)] = t
        is_last[0] = kapi.AtomicRef(done, 0, kapi.MemoryOrder.ACQ_REL).fetch_add(1) == 1  # named
    kapi.group_barrier(g)  # right
    if is_last[0] == 1:  # named
        kapi.AtomicRef(out, 0).fetch_add(partial[nd_item.get_local_id(0) % 2])


@pair(
    kapi.DataRaceError,
    "data-race",
    kapi.NdRange(8, 4),
    lambda: (np.array([0, 1, 2, 3, 3, 2, 1, 0]), np.zeros(4, np.int32), kapi.LocalAccessor(4, np.int32)),
)
def histogram_local_bins_merged_early(nd_item: kapi.NdItem, a, hist, bins):
    k = nd_item.get_local_id(0)
    bins[k] = 0
    kapi.group_barrier(nd_item.get_group())
    kapi.AtomicRef(bins, a[nd_item.get_global_id(0)], address_space=kapi.AddressSpace.LOCAL).fetch_add(1)  # named
    kapi.group_barrier(nd_item.get_group())  # right
    kapi.AtomicRef(hist, k).fetch_add(bins[k])  # named


@pair(
    kapi.DataRaceError,
    "data-race",
    kapi.NdRange(8, 4),
    lambda: (np.array([0, 1, 1, 3, 3, 2, 1, 0]), np.zeros(4, np.int32), kapi.LocalAccessor(4, np.int32)),
)
def histogram_local_bins_plain(nd_item: kapi.NdItem, a, hist, bins):
    k = nd_item.get_local_id(0)
    bins[k] = 0
    kapi.group_barrier(nd_item.get_group())
    bins[a[nd_item.get_global_id(0)]] += 1  # named, wrong
    kapi.AtomicRef(bins, a[nd_item.get_global_id(0)], address_space=kapi.AddressSpace.LOCAL).fetch_add(1)  # right
    kapi.group_barrier(nd_item.get_group())
    kapi.AtomicRef(hist, k).fetch_add(bins[k])


@pair(
    kapi.OutOfBoundsError,
    "index-out-of-bounds",
    kapi.Range(4),
    lambda: (np.array([0.0, 0.3, 0.9, 1.0]), np.zeros(4, np.int32)),
)
def histogram_bin_beyond(item: kapi.Item, x, hist):
    b = int(x[item.get_id(0)] * 4)  # wrong
    b = min(int(x[item.get_id(0)] * 4), 3)  # right
    kapi.AtomicRef(hist, b).fetch_add(1)  # named


@pair(kapi.DataRaceError, "data-race", kapi.NdRange(8, 8), lambda: (np.array([5.0, 2, 7, 1, 0, 3, 6, 4]),))
def bitonic_both_of_a_pair_swap(nd_item: kapi.NdItem, a):
    i = nd_item.get_local_id(0)
    k = 2
    while k <= 8:
        j = k // 2
        while j > 0:
            p = i ^ j
            hi = a[p]  # named, wrong
            lo = a[i]  # wrong
            if ((lo > hi) == ((min(i, p) & k) == 0)) == (i < p):  # wrong
                a[i] = hi  # named, wrong
                a[p] = lo  # wrong
            if p > i:  # right
                lo = a[i]  # right
                hi = a[p]  # right
                if (lo > hi) == ((i & k) == 0):  # right
                    a[i] = hi  # right
                    a[p] = lo  # right
            kapi.group_barrier(nd_item.get_group())
            j //= 2
        k *= 2


@pair(kapi.DataRaceError, "data-race", kapi.NdRange(8, 4), bitonic_both_of_a_pair_swap.arguments)
def odd_even_sort_over_groups(nd_item: kapi.NdItem, a):
    i = nd_item.get_global_id(0)
    for t in range(8):  # wrong
        if i % 2 == t % 2 and i + 1 < 8 and a[i] > a[i + 1]:  # named, wrong
            x = a[i]  # wrong
            a[i] = a[i + 1]  # wrong
            a[i + 1] = x  # named, wrong
        kapi.group_barrier(nd_item.get_group(), kapi.MemoryScope.DEVICE)  # wrong
    base = nd_item.get_group().get_group_id(0) * 4  # right
    for t in range(4):  # right
        if i % 2 == t % 2 and i + 1 < base + 4 and a[i] > a[i + 1]:  # right
            x = a[i]  # right
            a[i] = a[i + 1]  # right
            a[i + 1] = x  # right
        kapi.group_barrier(nd_item.get_group(), kapi.MemoryScope.DEVICE)  # right


@pair(kapi.DataRaceError, "data-race", kapi.NdRange(8, 4), lambda: (np.ones(8), np.zeros(8)))
def prefix_from_the_previous_group(nd_item: kapi.NdItem, a, out):
    i = nd_item.get_global_id(0)
    g = nd_item.get_group()
    s = kapi.inclusive_scan_over_group(g, a[i], kapi.plus)  # wrong
    if g.get_group_id(0) > 0:  # wrong
        s += out[g.get_group_id(0) * 4 - 1]  # named, wrong
    out[i] = s  # named, wrong
    out[i] = kapi.inclusive_scan_over_group(g, a[i], kapi.plus)  # right


@pair(
    kapi.DataRaceError,
    "data-race",
    kapi.Range(8),
    lambda: (np.array([1.0, -1, 2, -2, 3, -3, 4, -4]), np.zeros(8), np.zeros(1, np.int32)),
)
def compaction_counter_read_back(item: kapi.Item, a, out, count):
    x = a[item.get_id(0)]
    if x > 0:
        kapi.AtomicRef(count, 0).fetch_add(1)  # named, wrong
        out[count[0] - 1] = x  # named, wrong
        out[kapi.AtomicRef(count, 0).fetch_add(1)] = x  # right


@pair(
    kapi.OutOfBoundsError,
    "index-out-of-bounds",
    kapi.Range(8),
    lambda: (np.arange(8.0), np.zeros(3), np.zeros(1, np.int32)),
)
def queue_capacity_exceeded(item: kapi.Item, a, out, count):
    slot = kapi.AtomicRef(count, 0).fetch_add(1)
    out[slot] = a[item.get_id(0)]  # named, wrong
    if slot < out.shape[0]:  # right
        out[slot] = a[item.get_id(0)]  # right


# parameter broadcast through local memory, reused in a second stage without barrier
@pair(
    kapi.DataRaceError,
    "data-race",
    kapi.NdRange(4, 4),
    lambda: (np.arange(4.0), np.zeros(4), kapi.LocalAccessor(2, np.float64)),
)
def next_tile_loaded_by_leader_only_half_sync(nd_item: kapi.NdItem, a, out, cfg):
    k = nd_item.get_local_id(0)
    s = 0.0
    for stage in range(2):
        if k == 0:
            cfg[0] = a[stage]  # named, wrong
            cfg[stage] = a[stage]  # right
        kapi.group_barrier(nd_item.get_group())
        s += cfg[0]  # named, wrong
        s += cfg[stage]  # right
    out[k] = s
