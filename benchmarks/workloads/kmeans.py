"""Ten rounds of k-means: the nearest centre of each point, then the mean of each centre's points."""

from __future__ import annotations

import math
from typing import Any

import dpnp
import numba
import numpy as np
from opencl_peer import Peer

import kapi_runtime as kapi
from workloads import Column, Launch, Workload, kapi_columns, opencl_columns, wait_for

__all__ = ["build"]

CENTRES, ROUNDS, WIDTH = 10, 10, 256

OPENCL_C = """
kernel void assign(global const double* restrict xs, global const double* restrict ys,
                   global const double2* restrict centres, global long* restrict owner) {
    const size_t i = get_global_id(0);
    const double x = xs[i], y = ys[i];
    double least = INFINITY;
    long nearest = 0;
    for (int c = 0; c < 10; c++) {
        const double dx = x - centres[c].x, dy = y - centres[c].y;
        const double square = dx * dx + dy * dy;
        nearest = square < least ? c : nearest;
        least = square < least ? square : least;
    }
    owner[i] = nearest;
}

kernel void centre(global const double* restrict xs, global const double* restrict ys,
                   global const long* restrict owner, global double2* restrict centres, const long n) {
    const size_t c = get_group_id(0), lane = get_local_id(0), width = get_local_size(0);
    double x = 0.0, y = 0.0, count = 0.0;
    for (size_t i = lane; i < n; i += width) {
        const double own = owner[i] == c ? 1.0 : 0.0;
        x += own * xs[i];
        y += own * ys[i];
        count += own;
    }
    x = work_group_reduce_add(x);
    y = work_group_reduce_add(y);
    count = work_group_reduce_add(count);
    if (lane == 0 && count > 0.0) centres[c] = (double2)(x / count, y / count);
}
"""


@kapi.kernel
def assign(item: kapi.Item, xs, ys, centres, owner):
    i = item.get_id(0)
    x = xs[i]
    y = ys[i]
    least = math.inf
    nearest = 0
    for c in range(CENTRES):
        dx = x - centres[c, 0]
        dy = y - centres[c, 1]
        square = dx * dx + dy * dy
        nearest = c if square < least else nearest
        least = square if square < least else least
    owner[i] = nearest


@kapi.kernel
def centre(item: kapi.NdItem, xs, ys, owner, centres):
    group = item.get_group()
    c = group.get_group_id(0)
    x = 0.0
    y = 0.0
    count = 0.0
    for i in range(item.get_local_id(0), xs.shape[0], item.get_local_range(0)):
        own = 1.0 if owner[i] == c else 0.0
        x += own * xs[i]
        y += own * ys[i]
        count += own
    x = kapi.reduce_over_group(group, x, kapi.plus)
    y = kapi.reduce_over_group(group, y, kapi.plus)
    count = kapi.reduce_over_group(group, count, kapi.plus)
    if group.leader and count > 0.0:
        centres[c, 0] = x / count
        centres[c, 1] = y / count


@numba.njit(parallel=True)
def assign_numba(points, centres, owner):
    for i in numba.prange(points.shape[0]):
        least = math.inf
        nearest = 0
        for c in range(CENTRES):
            dx = points[i, 0] - centres[c, 0]
            dy = points[i, 1] - centres[c, 1]
            square = dx * dx + dy * dy
            if square < least:
                least = square
                nearest = c
        owner[i] = nearest


@numba.njit(parallel=True)
def centre_numba(points, owner, centres):
    for c in numba.prange(CENTRES):
        x = 0.0
        y = 0.0
        count = 0.0
        for i in range(points.shape[0]):
            if owner[i] == c:
                x += points[i, 0]
                y += points[i, 1]
                count += 1.0
        if count > 0.0:
            centres[c, 0] = x / count
            centres[c, 1] = y / count


def expressions(module, points, centres):
    """The same, as array expressions of NumPy or dpnp."""
    for _ in range(ROUNDS):
        differences = points[:, None, :] - centres[None, :, :]
        owner = module.argmin((differences * differences).sum(axis=2), axis=1)
        own = owner[:, None] == module.arange(CENTRES)[None, :]
        sums = (own[:, :, None] * points[:, None, :]).sum(axis=0)
        centres = sums / module.maximum(own.sum(axis=0), 1)[:, None]
    return owner, centres


def build(scale: float) -> Workload:
    """The workload with 4096 points in the plane, 10 centres and 10 rounds at scale 1."""
    n = max(1024, int(4096 * scale) // 64 * 64)
    points = np.random.default_rng(0).random((n, 2))
    start = points[:CENTRES].copy()
    d_points, d_start = dpnp.asarray(points), dpnp.asarray(start)
    kept = {}

    def by_numpy() -> None:
        kept["numpy"] = expressions(np, points, start)

    def by_dpnp() -> None:
        kept["dpnp"] = expressions(dpnp, d_points, d_start)
        wait_for(kept["dpnp"][1])

    def by_numba() -> None:
        centres, owner = start.copy(), np.empty(n, np.int64)
        for _ in range(ROUNDS):
            assign_numba(points, centres, owner)
            centre_numba(points, owner, centres)
        kept["numba"] = owner, centres

    def offloaded() -> None:
        centres, owner = d_start.copy(), dpnp.empty(n, dtype=np.int64)
        for _ in range(ROUNDS):
            assign_numba(d_points, centres, owner)
            centre_numba(d_points, owner, centres)
        kept["offload"] = owner, wait_for(centres)

    # The kernels have the coordinates apart, so that neighbours read neighbours; the queues of devices are in order,
    # because a chain of twenty short launches is mostly waiting where each names the one before.
    def opencl(peer: Peer) -> Column:
        xs, ys, begin = peer.array(points[:, 0]), peer.array(points[:, 1]), peer.array(start)
        centres, owner = peer.array(start), peer.empty(n, np.int64)
        assigning = peer.kernel("assign", xs, ys, centres, owner)
        centring = peer.kernel("centre", xs, ys, owner, centres, np.int64(n))

        def run() -> None:
            centres[:] = begin
            for _ in range(ROUNDS):
                peer.start(assigning, (n,))
                peer.start(centring, (CENTRES * WIDTH,), (WIDTH,))
            peer.wait()

        return Column(run, lambda: [owner, centres])

    def in_kapi(xp: Any, assigning: kapi.Kernel, centring: kapi.Kernel) -> Column:
        on = {} if xp is np else {"sycl_queue": kapi.queue(in_order=True)}
        xs, ys, begin = (xp.asarray(each, **on) for each in (*points.T.copy(), start))
        centres, owner = xp.empty_like(begin), xp.empty(n, dtype=np.int64, **on)
        assign_all = Launch(assigning, kapi.Range(n), xs, ys, centres, owner)
        centre_all = Launch(centring, kapi.NdRange(CENTRES * WIDTH, WIDTH), xs, ys, owner, centres)

        def run() -> None:
            centres[:] = begin
            for _ in range(ROUNDS):
                assign_all.start()
                centre_all.start()
            if xp is dpnp:
                wait_for(centres)

        return Column(run, lambda: [owner, centres])

    columns = {
        "NumPy": Column(by_numpy, lambda: kept["numpy"]),
        "Numba parallel": Column(by_numba, lambda: kept["numba"]),
        "dpnp": Column(by_dpnp, lambda: kept["dpnp"]),
        **opencl_columns(OPENCL_C, opencl),
        **kapi_columns(in_kapi, assign, centre),
        "kapi offload": Column(offloaded, lambda: kept["offload"]),
    }
    return Workload("kmeans", f"{n} points, {CENTRES} centres, {ROUNDS} rounds, float64", columns)
