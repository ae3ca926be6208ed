"""Clusters of points that lie close together (DBSCAN): neighbours on the device, clusters from them on the host."""

from __future__ import annotations

import math
from typing import Any

import dpnp
import numba
import numpy as np
from opencl_peer import Peer

import kapi_runtime as kapi
from workloads import Column, Launch, Workload, kapi_columns, opencl_columns

__all__ = ["build"]

DIMENSIONS, CENTRES, RADIUS, LEAST = 10, 10, 0.6, 20

OPENCL_C = """
kernel void neighbours(global const double* restrict points, global uchar* restrict near, const double square,
                       const long features) {
    const size_t j = get_global_id(0), i = get_global_id(1);
    double sum = 0.0;
    for (long k = 0; k < features; k++) {
        const double t = points[i * features + k] - points[j * features + k];
        sum += t * t;
    }
    near[i * get_global_size(0) + j] = sum <= square;
}
"""


@kapi.kernel
def neighbours(item: kapi.Item, points, near, square):
    i = item.get_id(0)
    j = item.get_id(1)
    total = 0.0
    for k in range(points.shape[1]):
        t = points[i, k] - points[j, k]
        total += t * t
    near[i, j] = total <= square


@numba.njit(parallel=True)
def neighbours_numba(points, near, square):
    for i in numba.prange(points.shape[0]):
        for j in numba.prange(points.shape[0]):
            total = 0.0
            for k in range(points.shape[1]):
                t = points[i, k] - points[j, k]
                total += t * t
            near[i, j] = total <= square


@numba.njit
def clusters(near):
    """Label each point by its cluster, -1 for noise; runs on the host in all columns."""
    n = near.shape[0]
    core = np.zeros(n, np.bool_)
    for i in range(n):
        count = 0
        for j in range(n):
            count += near[i, j]
        core[i] = count >= LEAST
    labels = np.full(n, -1)
    waiting = np.empty(n, np.int64)
    label = 0
    for start in range(n):
        if labels[start] >= 0 or not core[start]:
            continue
        labels[start] = label
        waiting[0] = start
        left = 1
        while left > 0:
            left -= 1
            i = waiting[left]
            for j in range(n):
                if near[i, j] and labels[j] < 0:
                    labels[j] = label
                    if core[j]:
                        waiting[left] = j
                        left += 1
        label += 1
    return labels


def expression(module, points):
    """The neighbours, as array expressions of NumPy or dpnp."""
    differences = points[:, None, :] - points[None, :, :]
    return ((differences * differences).sum(axis=2) <= RADIUS * RADIUS).astype(module.uint8)


def build(scale: float) -> Workload:
    """The workload with 1024 points of 10 dimensions around 10 centres at scale 1."""
    n = max(64, int(1024 * math.sqrt(scale)) // 64 * 64)
    random = np.random.default_rng(0)
    centres = random.uniform(-3.0, 3.0, (CENTRES, DIMENSIONS))
    points = centres[random.integers(0, CENTRES, n)] + 0.1 * random.standard_normal((n, DIMENSIONS))
    on_device = dpnp.asarray(points)
    square = RADIUS * RADIUS
    kept = {}

    def by_numpy() -> None:
        kept["numpy"] = clusters(expression(np, points))

    def by_dpnp() -> None:
        kept["dpnp"] = clusters(expression(dpnp, on_device).asnumpy())

    near = np.empty((n, n), np.uint8)

    def by_numba() -> None:
        neighbours_numba(points, near, square)
        kept["numba"] = clusters(near)

    def opencl(peer: Peer) -> Column:
        found, host = peer.empty((n, n), np.uint8), np.empty((n, n), np.uint8)
        kernel = peer.kernel("neighbours", peer.array(points), found, np.float64(square), np.int64(DIMENSIONS))

        def run() -> None:
            peer.run(kernel, (n, n))
            found.get(ary=host)
            kept[peer] = clusters(host)

        return Column(run, lambda: [kept[peer]])

    def in_kapi(xp: Any, kernel: kapi.Kernel) -> Column:
        found = xp.empty((n, n), dtype=np.uint8)
        host = found if xp is np else np.empty((n, n), np.uint8)
        search = Launch(kernel, kapi.Range(n, n), xp.asarray(points), found, square)

        def run() -> None:
            search.run()
            if host is not found:
                kapi.memory.copy(found, host)
            kept[xp, kernel] = clusters(host)

        return Column(run, lambda: [kept[xp, kernel]])

    by_offload, on_host = dpnp.empty((n, n), dtype=np.uint8), np.empty((n, n), np.uint8)

    def offloaded() -> None:
        neighbours_numba(on_device, by_offload, square)
        kapi.memory.copy(by_offload, on_host)
        kept["offload"] = clusters(on_host)

    columns = {
        "NumPy": Column(by_numpy, lambda: [kept["numpy"]]),
        "Numba parallel": Column(by_numba, lambda: [kept["numba"]]),
        "dpnp": Column(by_dpnp, lambda: [kept["dpnp"]]),
        **opencl_columns(OPENCL_C, opencl),
        **kapi_columns(in_kapi, neighbours),
        "kapi offload": Column(offloaded, lambda: [kept["offload"]]),
    }
    return Workload("dbscan", f"{n} points, {DIMENSIONS} float64", columns)
