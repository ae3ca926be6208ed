"""The simulator against numba.cuda's: microseconds a work-item of a vector add, and of a tree of ten barriers."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import kapi_sim

__all__ = ["simulator_costs", "simulator_text"]

WIDTH, GROUPS, PEER_GROUPS = 256, 16, 2  # the peer is so slow that a small launch is enough
KERNELS = ("vector add", "tree reduction")


@kapi_sim.kernel
def vector_add(item: kapi_sim.Item, a, b, c):
    i = item.get_id(0)
    c[i] = a[i] + b[i]


@kapi_sim.kernel
def tree(item: kapi_sim.NdItem, x, sums, tile):
    group = item.get_group()
    lane = item.get_local_id(0)
    tile[lane] = x[item.get_global_id(0)]
    kapi_sim.group_barrier(group)
    width = WIDTH // 2
    while width > 0:
        if lane < width:
            tile[lane] += tile[lane + width]
        kapi_sim.group_barrier(group)
        width //= 2
    kapi_sim.group_barrier(group)
    if lane == 0:
        sums[group.get_group_id(0)] = tile[0]


def simulator_costs(rounds: int) -> dict[str, dict[str, float]]:
    """Median microseconds a work-item: kernel to column to cost, all timed in turn."""
    space = kapi_sim.NdRange(GROUPS * WIDTH, WIDTH)
    a, b, c = (np.ones(GROUPS * WIDTH, np.float32) for _ in range(3))
    sums = np.zeros(GROUPS, np.float32)

    def simulated(checks: str, kernel: str) -> float:
        start = time.perf_counter()
        with kapi_sim.simulation(checks=checks):
            if kernel == "vector add":
                kapi_sim.call_kernel(vector_add, kapi_sim.Range(GROUPS * WIDTH), a, b, c)
            else:
                kapi_sim.call_kernel(tree, space, a, sums, kapi_sim.LocalAccessor(WIDTH, np.float32))
        return time.perf_counter() - start

    script = Path(__file__).with_name("_cuda_simulator.py")
    command = [sys.executable, str(script), str(PEER_GROUPS)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) as peer:

        def by_peer(kernel: str) -> float:
            assert peer.stdin is not None
            assert peer.stdout is not None
            peer.stdin.write(kernel + "\n")
            return float(peer.stdout.readline())

        columns: dict[str, Callable[[str], float]] = {
            "kapi_sim, unchecked": lambda kernel: simulated("none", kernel),
            "kapi_sim, all checks": lambda kernel: simulated("all", kernel),
            "numba.cuda simulator": by_peer,
        }
        times: dict[tuple[str, str], list[float]] = {(k, column): [] for k in KERNELS for column in columns}
        for iteration in range(rounds + 1):
            for kernel, column in times:
                seconds = columns[column](kernel)
                if iteration:  # the first only warms
                    times[kernel, column].append(seconds)
        peer.stdin.close()  # type: ignore[union-attr]
    assert (c == 2.0).all()
    assert (sums == WIDTH).all()
    items = {column: (PEER_GROUPS if "cuda" in column else GROUPS) * WIDTH for column in columns}
    return {k: {each: statistics.median(times[k, each]) / items[each] * 1e6 for each in columns} for k in KERNELS}


def simulator_text(costs: dict[str, dict[str, float]]) -> str:
    """The table, with how many times kapi_sim is faster than the peer."""
    lines = [f"simulated, us a work-item{'':<8}" + "".join(f"{kernel:>24}" for kernel in KERNELS)]
    for column in costs[KERNELS[0]]:
        cells = []
        for kernel in KERNELS:
            cost, peer = costs[kernel][column], costs[kernel]["numba.cuda simulator"]
            cells.append(f"{cost:12.2f} ({peer / cost:6.0f}x)  ")
        lines.append(f"  {column:<31}" + "".join(f"{cell:>24}" for cell in cells))
    return "\n".join(lines) + "\n"
