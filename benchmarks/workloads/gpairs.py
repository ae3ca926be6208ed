"""Weighted counts of pairs of points nearer than each of 20 radii: sums over all pairs, a small result."""

from __future__ import annotations

from typing import Any

import dpnp
import numba
import numpy as np
from opencl_peer import Peer

import kapi_runtime as kapi
from workloads import Column, Launch, Workload, kapi_columns, opencl_columns, wait_for

__all__ = ["build"]

BINS, GROUP = 20, 64

OPENCL_C = """
kernel void gpairs(global const double* restrict x1, global const double* restrict y1, global const double* restrict z1,
                   global const double* restrict w1, global const double* restrict x2, global const double* restrict y2,
                   global const double* restrict z2, global const double* restrict w2,
                   global const double* restrict radii, global double* restrict sums, const long n) {
    const size_t bin = get_group_id(1), lane = get_local_id(0), width = get_local_size(0);
    const double limit = radii[bin];
    double sum = 0.0;
    for (size_t i = lane; i < n; i += width) {
        const double x = x1[i], y = y1[i], z = z1[i];
        double near = 0.0;
        for (size_t j = 0; j < n; j++) {
            const double dx = x - x2[j], dy = y - y2[j], dz = z - z2[j];
            near += dx * dx + dy * dy + dz * dz <= limit ? w2[j] : 0.0;
        }
        sum += near * w1[i];
    }
    sum = work_group_reduce_add(sum);
    if (lane == 0) sums[bin] = sum;
}
"""


@kapi.kernel
def gpairs(item: kapi.NdItem, x1, y1, z1, w1, x2, y2, z2, w2, radii, sums):
    group = item.get_group()
    bin_ = group.get_group_id(0)
    limit = radii[bin_]
    total = 0.0
    for i in range(item.get_local_id(1), x1.shape[0], item.get_local_range(1)):
        x = x1[i]
        y = y1[i]
        z = z1[i]
        near = 0.0
        for j in range(x2.shape[0]):
            dx = x - x2[j]
            dy = y - y2[j]
            dz = z - z2[j]
            near += w2[j] if dx * dx + dy * dy + dz * dz <= limit else 0.0
        total += near * w1[i]
    total = kapi.reduce_over_group(group, total, kapi.plus)
    if group.leader:
        sums[bin_] = total


@numba.njit(parallel=True)
def gpairs_numba(x1, y1, z1, w1, x2, y2, z2, w2, radii, sums):
    for bin_ in numba.prange(radii.shape[0]):
        limit = radii[bin_]
        total = 0.0
        for i in range(x1.shape[0]):
            near = 0.0
            for j in range(x2.shape[0]):
                dx = x1[i] - x2[j]
                dy = y1[i] - y2[j]
                dz = z1[i] - z2[j]
                near += w2[j] if dx * dx + dy * dy + dz * dz <= limit else 0.0
            total += near * w1[i]
        sums[bin_] = total


def expressions(x1, y1, z1, w1, x2, y2, z2, w2, radii):
    """The same, as array expressions of NumPy or dpnp."""
    squares = sum((a[:, None] - b[None, :]) ** 2 for a, b in ((x1, x2), (y1, y2), (z1, z2)))
    near = squares[None, :, :] <= radii[:, None, None]
    return (near * (w1[:, None] * w2[None, :])).sum(axis=(1, 2))


def build(scale: float) -> Workload:
    """The workload with two sets of 128 points at scale 1."""
    n = max(64, int(128 * np.sqrt(scale)) // 64 * 64)
    random = np.random.default_rng(0)
    inputs = [random.uniform(0.0, 50.0, n) if k % 4 < 3 else random.random(n) for k in range(8)]
    inputs.append(np.logspace(np.log10(0.1), np.log10(50.0), BINS) ** 2)
    on_device = [dpnp.asarray(each) for each in inputs]
    kept = {}

    def by_numpy() -> None:
        kept["numpy"] = expressions(*inputs)

    def by_dpnp() -> None:
        kept["dpnp"] = wait_for(expressions(*on_device))

    def opencl(peer: Peer) -> Column:
        sums = peer.empty(BINS, np.float64)
        kernel = peer.kernel("gpairs", *map(peer.array, inputs), sums, np.int64(n))
        return Column(lambda: peer.run(kernel, (GROUP, BINS), (GROUP, 1)), lambda: [sums])

    def in_kapi(xp: Any, kernel: kapi.Kernel) -> Column:
        sums = xp.empty(BINS)
        space = kapi.NdRange((BINS, GROUP), (1, GROUP))
        return Column(Launch(kernel, space, *map(xp.asarray, inputs), sums).run, lambda: [sums])

    sums, offloaded = np.empty(BINS), dpnp.empty(BINS)
    columns = {
        "NumPy": Column(by_numpy, lambda: [kept["numpy"]]),
        "Numba parallel": Column(lambda: gpairs_numba(*inputs, sums), lambda: [sums]),
        "dpnp": Column(by_dpnp, lambda: [kept["dpnp"]]),
        **opencl_columns(OPENCL_C, opencl),
        **kapi_columns(in_kapi, gpairs),
        "kapi offload": Column(lambda: (gpairs_numba(*on_device, offloaded), wait_for(offloaded)), lambda: [offloaded]),
    }
    return Workload("gpairs", f"{n} x {n} points, {BINS} radii, float64", columns)
