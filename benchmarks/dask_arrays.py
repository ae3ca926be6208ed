"""Times of a stencil over a Dask array, by workers: ``python benchmarks/dask_arrays.py cupy|numpy``.

The same steps are taken by one worker, by two, and, without Dask, by one launch over the full array.  Workers are
processes of this machine; over CuPy's chunks each has a GPU of its own, over NumPy's an equal share of the processors.
Each result is compared with that of the launch over the full array.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from collections.abc import Callable
from typing import Any

import dask
import dask.array as da
import numpy as np
from distributed import Client, LocalCluster, get_worker, wait

import kapi_runtime as kapi

ROUNDS = 3


@kapi.kernel
def smooth(item: kapi.Item, a, out):  # type: ignore[no-untyped-def]
    i = item.get_id(0) + 1
    j = item.get_id(1) + 1
    out[i, j] = (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1]) / 4


def smoothed(block: Any) -> Any:
    """One step inside of a block; its border stays as it is."""
    out = block.copy()
    kapi.call_kernel(smooth, kapi.Range(block.shape[0] - 2, block.shape[1] - 2), block, out)
    return out


def on_own_device(function: Callable[[Any], Any], block: Any) -> Any:
    """Compute a block on the GPU of the worker's number."""
    import cupy

    with cupy.cuda.Device(int(get_worker().name)):
        made = function(cupy.asarray(block))
        cupy.cuda.get_current_stream().synchronize()
        return made


def numbers(size: int) -> da.Array:
    """Random numbers, which depend on the chunks that they are made in."""
    return da.random.default_rng(1).random((size, size), chunks=(size // 2, size), dtype=np.float32)


def by_dask(size: int, steps: int, workers: int, library: str) -> tuple[float, Any]:
    """Seconds of the steps over an array that the workers hold already, and the result's sum."""
    os.environ["NUMBA_NUM_THREADS"] = str(max(1, (os.cpu_count() or 1) // workers))
    cluster = LocalCluster(n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None)
    with cluster, Client(cluster):
        x = numbers(size).rechunk((size // workers, size))
        own = on_own_device if library == "cupy" else _call
        x = x.map_blocks(lambda block: own(_same, block), dtype=x.dtype, meta=x._meta).persist()
        wait(x)
        times = []
        for _ in range(ROUNDS + 1):  # the first one compiles
            begin = time.perf_counter()
            y = x
            for _ in range(steps):
                y = y.map_overlap(
                    lambda block: own(smoothed, block), depth=1, boundary="nearest", dtype=x.dtype, meta=x._meta
                )
            y = y.persist()
            wait(y)
            times.append(time.perf_counter() - begin)
        total = y.map_blocks(_sum, dtype=np.float64, chunks=(1, 1)).sum().compute()
        return statistics.median(times[1:]), float(total)


def _same(block: Any) -> Any:
    return block


def _call(function: Callable[[Any], Any], block: Any) -> Any:
    return function(block)


def _sum(block: Any) -> np.ndarray:
    return np.array([[float(block.sum(dtype=np.float64))]])


def alone(size: int, steps: int, library: str) -> tuple[float, float]:
    """The same by launches over the full array."""
    x = np.pad(numbers(size).compute(), 1, mode="edge")
    if library == "cupy":
        import cupy

        x = cupy.asarray(x)
    y = x.copy()
    times = []
    for _ in range(ROUNDS + 1):
        now, then = x.copy(), y
        begin = time.perf_counter()
        for _ in range(steps):
            now[0], now[-1], now[:, 0], now[:, -1] = now[1], now[-2], now[:, 1], now[:, -2]
            kapi.call_kernel(smooth, kapi.Range(size, size), now, then)
            now, then = then, now
        times.append(time.perf_counter() - begin)
    return statistics.median(times[1:]), float(now[1:-1, 1:-1].sum(dtype=np.float64))


def main() -> None:
    """Print a line of JSON for each way."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("library", choices=("cupy", "numpy"))
    parser.add_argument("--size", type=int, default=8192)
    parser.add_argument("--steps", type=int, default=10)
    given = parser.parse_args()
    dask.config.set({"array.slicing.split-large-chunks": False})
    seconds, expected = alone(given.size, given.steps, given.library)
    print(json.dumps({"way": "one launch", "seconds": round(seconds, 4)}), flush=True)
    for workers in (1, 2):
        seconds, total = by_dask(given.size, given.steps, workers, given.library)
        row = {"way": f"Dask, {workers} workers", "seconds": round(seconds, 4), "sums": [expected, total]}
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
