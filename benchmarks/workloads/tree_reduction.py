"""Sum of an array by a tree in each work-group's local memory: nine barriers over 256 work-items."""

from __future__ import annotations

from typing import Any

import dpnp
import numba
import numpy as np
from opencl_peer import Peer

import kapi_runtime as kapi
from workloads import Column, Launch, Workload, kapi_columns, opencl_columns, peer_columns, wait_for

__all__ = ["build"]

WIDTH, SHARE = 256, 16

OPENCL_C = """
kernel void tree(global const float* restrict x, global float* restrict sums, const long share) {
    local float tile[256];
    const size_t lane = get_local_id(0), first = get_group_id(0) * 256 * share;
    float own = 0.0f;
    for (long k = 0; k < share; k++) own += x[first + k * 256 + lane];
    tile[lane] = own;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int width = 128; width > 0; width /= 2) {
        if (lane < width) tile[lane] += tile[lane + width];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (lane == 0) sums[get_group_id(0)] = tile[0];
}
"""


@kapi.kernel
def tree(item: kapi.NdItem, x, sums, share, tile):
    group = item.get_group()
    lane = item.get_local_id(0)
    first = group.get_group_id(0) * WIDTH * share
    own = np.float32(0.0)
    for k in range(share):
        own += x[first + k * WIDTH + lane]
    tile[lane] = own
    kapi.group_barrier(group)
    width = WIDTH // 2
    while width > 0:
        if lane < width:
            tile[lane] += tile[lane + width]
        kapi.group_barrier(group)
        width //= 2
    if lane == 0:
        sums[group.get_group_id(0)] = tile[0]


@numba.njit(parallel=True)
def tree_numba(x, sums):
    share = x.shape[0] // sums.shape[0]
    for part in numba.prange(sums.shape[0]):
        total = np.float32(0.0)
        for i in range(part * share, (part + 1) * share):
            total += x[i]
        sums[part] = total


@numba.njit(parallel=True)
def sum_numba(x):
    return x.sum()


def build(scale: float) -> Workload:
    """The workload with 16 million elements at scale 1."""
    n = max(WIDTH * SHARE, int(2**24 * scale) // (WIDTH * SHARE) * WIDTH * SHARE)
    x = np.random.default_rng(0).random(n, dtype=np.float32)
    on_device = dpnp.asarray(x)
    groups = n // (WIDTH * SHARE)
    kept = {}

    def by_numpy() -> None:
        kept["numpy"] = x.sum()

    def by_dpnp() -> None:
        kept["dpnp"] = wait_for(on_device.sum())

    def opencl(peer: Peer) -> Column:
        sums, total = peer.empty(groups, np.float32), np.empty(groups, np.float32)
        kernel = peer.kernel("tree", peer.array(x), sums, np.int64(SHARE))

        def run() -> None:
            peer.run(kernel, (n // SHARE,), (WIDTH,))
            sums.get(ary=total)
            kept[peer] = total.sum()

        return Column(run, lambda: [kept[peer]])

    def in_kapi(xp: Any, kernel: kapi.Kernel) -> Column:
        sums = xp.empty(groups, dtype=np.float32)
        total = sums if xp is np else np.empty(groups, np.float32)
        space, tile = kapi.NdRange(n // SHARE, WIDTH), kapi.LocalAccessor(WIDTH, np.float32)
        reduce_all = Launch(kernel, space, xp.asarray(x), sums, SHARE, tile)

        def run() -> None:
            reduce_all.run()
            if total is not sums:
                kapi.memory.copy(sums, total)
            kept[xp, kernel] = total.sum()

        return Column(run, lambda: [kept[xp, kernel]])

    sums = np.empty(groups, np.float32)

    def by_numba() -> None:
        tree_numba(x, sums)
        kept["numba"] = sums.sum()

    def offloaded() -> None:
        kept["offload"] = wait_for(sum_numba(on_device))

    columns = {
        "NumPy": Column(by_numpy, lambda: [kept["numpy"]]),
        "Numba parallel": Column(by_numba, lambda: [kept["numba"]]),
        "dpnp": Column(by_dpnp, lambda: [kept["dpnp"]]),
        **peer_columns("tree_reduction", [x], [sums], lambda outputs: [outputs[0].sum()]),
        **opencl_columns(OPENCL_C, opencl),
        **kapi_columns(in_kapi, tree),
        "kapi offload": Column(offloaded, lambda: [kept["offload"]]),
    }
    return Workload("tree_reduction", f"{n} float32, groups of {WIDTH}", columns, rtol=1e-5)
