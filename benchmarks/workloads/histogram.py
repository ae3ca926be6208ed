"""Counts of bytes in 256 bins: atomics in local memory, then one atomic a bin and group in global memory."""

from __future__ import annotations

from typing import Any

import dpnp
import numba
import numpy as np
from opencl_peer import Peer

import kapi_runtime as kapi
from workloads import Column, Launch, Workload, kapi_columns, opencl_columns, peer_columns, wait_for

__all__ = ["build"]

BINS, GROUPS, WIDTH = 256, 64, 64

OPENCL_C = """
kernel void clear(global int* restrict counts) { counts[get_global_id(0)] = 0; }

kernel void histogram(global const uchar* restrict values, global int* restrict counts, const long share) {
    local int bins[256];
    const size_t lane = get_local_id(0), width = get_local_size(0);
    for (size_t k = lane; k < 256; k += width) bins[k] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    const size_t first = get_group_id(0) * share;
    for (size_t i = first + lane; i < first + share; i += width) atomic_inc(&bins[values[i]]);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (size_t k = lane; k < 256; k += width) atomic_add(&counts[k], bins[k]);
}
"""


@kapi.kernel
def clear(item: kapi.Item, counts):
    counts[item.get_id(0)] = 0


@kapi.kernel
def histogram(item: kapi.NdItem, values, counts, share, bins):
    group = item.get_group()
    lane = item.get_local_id(0)
    width = item.get_local_range(0)
    for k in range(lane, BINS, width):
        bins[k] = 0
    kapi.group_barrier(group)
    first = group.get_group_id(0) * share
    for i in range(first + lane, first + share, width):
        count = kapi.AtomicRef(
            bins,
            values[i],
            memory_scope=kapi.MemoryScope.WORK_GROUP,
            address_space=kapi.AddressSpace.LOCAL,
        )
        count.fetch_add(1)
    kapi.group_barrier(group)
    for k in range(lane, BINS, width):
        kapi.AtomicRef(counts, k).fetch_add(bins[k])


@numba.njit(parallel=True)
def histogram_numba(values, partial, counts):
    share = values.shape[0] // partial.shape[0]
    for part in numba.prange(partial.shape[0]):
        own = np.zeros(BINS, np.int32)
        for i in range(part * share, (part + 1) * share):
            own[values[i]] += 1
        partial[part, :] = own
    for k in range(BINS):
        counts[k] = partial[:, k].sum()


def build(scale: float) -> Workload:
    """The workload with 16 million bytes at scale 1."""
    n = max(GROUPS * WIDTH, int(2**24 * scale) // (GROUPS * WIDTH) * GROUPS * WIDTH)
    values = np.random.default_rng(0).integers(0, BINS, n, dtype=np.uint8)
    on_device = dpnp.asarray(values)
    for_dpnp = on_device.astype(dpnp.int64)  # dpnp counts no bytes
    kept = {}

    def by_numpy() -> None:
        kept["numpy"] = np.bincount(values, minlength=BINS)

    def by_dpnp() -> None:
        kept["dpnp"] = wait_for(dpnp.bincount(for_dpnp, minlength=BINS))

    def opencl(peer: Peer) -> Column:
        counts = peer.empty(BINS, np.int32)
        clearing = peer.kernel("clear", counts)
        counting = peer.kernel("histogram", peer.array(values), counts, np.int64(n // GROUPS))

        def run() -> None:
            peer.start(clearing, (BINS,))
            peer.run(counting, (GROUPS * WIDTH,), (WIDTH,))

        return Column(run, lambda: [counts])

    def in_kapi(xp: Any, clearing: kapi.Kernel, counting: kapi.Kernel) -> Column:
        counts = xp.empty(BINS, dtype=np.int32)
        space, bins = kapi.NdRange(GROUPS * WIDTH, WIDTH), kapi.LocalAccessor(BINS, np.int32)
        clear_all = Launch(clearing, kapi.Range(BINS), counts)
        count_all = Launch(counting, space, xp.asarray(values), counts, n // GROUPS, bins)

        def run() -> None:
            clear_all.start()
            count_all.run()

        return Column(run, lambda: [counts])

    partial, counts = np.empty((2, BINS), np.int32), np.empty(BINS, np.int32)
    columns = {
        "NumPy": Column(by_numpy, lambda: [kept["numpy"]]),
        "Numba parallel": Column(lambda: histogram_numba(values, partial, counts), lambda: [counts]),
        "dpnp": Column(by_dpnp, lambda: [kept["dpnp"]]),
        **peer_columns("histogram", [values], [partial, counts], lambda outputs: outputs[1:]),
        **opencl_columns(OPENCL_C, opencl),
        **kapi_columns(in_kapi, clear, histogram),
    }
    return Workload("histogram", f"{n} bytes, {BINS} bins", columns)
