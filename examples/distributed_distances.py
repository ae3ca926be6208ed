"""All pairwise distances of many points, in blocks, on a cluster whose workers own a sub-device each.

    python examples/distributed_distances.py [--points N] [--block N] [--workers N]

Dask's local cluster starts one process for each worker.  The first block that a worker computes makes it split the CPU
and take the part of its own number; its arrays live there, and the kernel follows them.  What travels is the kernel's
bytecode, blocks of points, and of each block of distances the nearest points.  The same blocks are then computed by
this process alone, on the whole device, and the results must be equal.

On a machine with GPUs, `worker_device` would return ``kapi.devices[number]``.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np
from distributed import Client, LocalCluster, as_completed, get_worker
from tqdm import tqdm

import kapi_runtime as kapi

Block = tuple[int, int]


@kapi.kernel
def pairwise_distance(item: kapi.Item, left, right, distance):
    i = item.get_id(0)
    j = item.get_id(1)
    square = distance.dtype.type(0)
    for k in range(left.shape[0]):
        difference = left[k, i] - right[k, j]
        square += difference * difference
    distance[i, j] = math.sqrt(square)


@lru_cache(maxsize=1)
def worker_device(number: int, workers: int) -> kapi.Device:
    """Part `number` of the device, split into as many parts as there are workers; once for each process."""
    device = kapi.default_device()
    return device.split(*[device.max_compute_units // workers] * workers)[number]


def distances(kernel: Any, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """The distances of each point on the left to each on the right, on the current device."""
    with kapi.current_context() as context:
        columns = [kapi.memory.asarray(np.ascontiguousarray(each.T)) for each in (left, right)]
        result = kapi.memory.device_array((len(left), len(right)), "float32", queue=context.queue)
        kapi.call_kernel(kernel, kapi.Range(*result.shape), *columns, result)
        return kapi.memory.asnumpy(result)


def summary(distance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For each point of a block on the left, the nearest other one on the right and how far it is."""
    apart = np.where(distance > 0, distance, np.inf)
    return apart.argmin(axis=1), apart.min(axis=1)


def block_on_worker(kernel: Any, left: np.ndarray, right: np.ndarray, workers: int) -> tuple[Any, str]:
    """One block, on the worker's own sub-device; and what that is."""
    device = worker_device(int(get_worker().name), workers)
    with device:
        return summary(distances(kernel, left, right)), f"{get_worker().name}: {device!r}"


def blocks(points: np.ndarray, size: int) -> Iterator[tuple[Block, np.ndarray, np.ndarray]]:
    """Each pair of blocks of points, with the places of their first ones."""
    for i in range(0, len(points), size):
        for j in range(0, len(points), size):
            yield (i, j), points[i : i + size], points[j : j + size]


def nearest(found: dict[Block, tuple[np.ndarray, np.ndarray]], count: int) -> tuple[np.ndarray, np.ndarray]:
    """For each point the nearest other one and how far it is, from the summaries of all blocks."""
    index, distance = np.zeros(count, np.int64), np.full(count, np.inf, np.float32)
    for (i, j), (where, far) in sorted(found.items()):
        part = slice(i, i + len(far))
        closer = far < distance[part]
        index[part] = np.where(closer, where + j, index[part])
        distance[part] = np.where(closer, far, distance[part])
    return index, distance


def main(arguments: list[str] | None = None) -> int:
    """Compute in both ways, compare, and say what ran where."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--points", type=int, default=20_000)
    parser.add_argument("--block", type=int, default=4_000)
    parser.add_argument("--workers", type=int, default=min(2, kapi.default_device().max_compute_units))
    options = parser.parse_args(arguments)
    points = np.random.default_rng(1).random((options.points, 16), dtype=np.float32)
    work = list(blocks(points, options.block))

    cluster = LocalCluster(n_workers=options.workers, threads_per_worker=1, processes=True, dashboard_address=None)
    with cluster, Client(cluster) as client:
        begin = time.perf_counter()
        futures = {
            client.submit(block_on_worker, pairwise_distance, left, right, options.workers, pure=False): place
            for place, left, right in work
        }
        found, places = {}, set()
        for future, (result, where) in tqdm(
            as_completed(futures, with_results=True), total=len(futures), desc="blocks", unit="block", file=sys.stdout
        ):
            found[futures[future]] = result
            places.add(where)
        cluster_time = time.perf_counter() - begin
    shared = nearest(found, options.points)

    begin = time.perf_counter()
    alone = nearest({place: summary(distances(pairwise_distance, *pair)) for place, *pair in work}, options.points)
    own_time = time.perf_counter() - begin

    print("\n".join(sorted(places)))
    print(f"{len(work)} blocks: {cluster_time:.2f} s on {len(places)} workers, {own_time:.2f} s in one process")
    equal = all((one == other).all() for one, other in zip(shared, alone, strict=True))
    print("results are equal" if equal else "results differ")
    return 0 if equal else 1


if __name__ == "__main__":
    sys.exit(main())
