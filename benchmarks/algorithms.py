"""`kapi.algorithms` against CUB by CuPy, or NumPy and Numba; run by itself.

    python benchmarks/algorithms.py [--sizes N ...] [--only NAME ...] [--json FILE] [--clock processor]

Where CuPy finds a GPU, the arrays are CuPy's, and times are by CUDA events behind a kernel that waits, so that the
host is not in them; ``host`` is the time until a call returns.  Otherwise they are NumPy's.  Results are verified
before they are timed, and contenders take turns.  A ratio above 1 means that kapi is faster.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from timing import interleaved

import kapi_runtime as kapi

SIZES = {"gpu": (1 << 16, 1 << 20, 1 << 24, 1 << 27), "cpu": (1 << 10, 1 << 16, 1 << 20, 1 << 24)}

Problem = tuple[str, dict[str, Callable[[], Any]]]


@kapi.device_func
def larger(x, y):
    """An operator of one's own."""
    return x if x > y else y


@kapi.device_func
def is_small(x):
    """A predicate that holds for half of the elements."""
    return x < 50


@kapi.device_func
def before(x, y):
    """A comparison of one's own."""
    return x < y


def _problems(xp: Any, count: int) -> list[Problem]:
    algorithms = kapi.algorithms
    rng = np.random.default_rng(7)
    integers = rng.integers(0, 100, count)
    numbers = {name: xp.asarray(integers.astype(name)) for name in ("int32", "float32", "float64")}
    keys32 = xp.asarray(rng.integers(-(2**31), 2**31, count).astype(np.int32))
    floats = xp.asarray(rng.standard_normal(count).astype(np.float32))
    wide = xp.asarray(rng.integers(-(2**62), 2**62, count))
    values = xp.asarray(np.arange(count, dtype=np.int32))
    found: list[Problem] = []
    for name in ("int32", "float32", "float64"):
        a, out, theirs = numbers[name], xp.empty(count, name), xp.empty(count, name)
        one = xp.empty(1, name)
        found.append(
            (
                f"reduce {name}",
                {
                    "kapi": lambda a=a, one=one: algorithms.reduce(a, out=one),
                    "library": lambda a=a, name=name: a.sum(dtype=name),
                },
            )
        )
        found.append(
            (
                f"inclusive_scan {name}",
                {
                    "kapi": lambda a=a, out=out: algorithms.inclusive_scan(a, out=out),
                    "library": lambda a=a, name=name, out=theirs: xp.cumsum(a, dtype=name, out=out),
                },
            )
        )
    a, one = numbers["int32"], xp.empty(1, "int32")
    found.append(
        (
            "reduce, own operator",
            {"kapi": lambda: algorithms.reduce(a, op=larger, out=one), "library": lambda: a.max()},
        )
    )
    for name, source in (("int32", keys32), ("float32", floats), ("int64", wide)):
        work = source.copy()

        def sort(work: Any = work, source: Any = source) -> Any:
            work[...] = source
            algorithms.sort(work)
            return work

        found.append((f"sort {name}", {"kapi": sort, "library": lambda source=source: xp.sort(source)}))
    work, moved = keys32.copy(), values.copy()

    def sort_by_key() -> Any:
        work[...], moved[...] = keys32, values
        algorithms.sort_by_key(work, moved)
        return moved

    def sort_own() -> Any:
        work[...] = keys32
        algorithms.sort(work, before)
        return work

    def by_argsort() -> Any:
        order = xp.argsort(keys32, kind="stable") if xp is np else xp.argsort(keys32)
        return values[order]

    found.append(("sort_by_key int32", {"kapi": sort_by_key, "library": by_argsort}))
    if count <= 1 << 24:
        found.append(("sort, own comparison", {"kapi": sort_own, "library": lambda: xp.sort(keys32)}))
    found.append(
        ("copy_if int32", {"kapi": lambda: algorithms.copy_if(a, is_small), "library": lambda: a[a < 50]}),
    )
    found.append(
        (
            "histogram float32",
            {
                "kapi": lambda: algorithms.histogram(floats, 256, -4.0, 4.0),
                "library": lambda: xp.histogram(floats, 256, (-4.0, 4.0))[0],
            },
        )
    )
    if xp is np:
        _add_numba(dict(found), numbers)
    else:
        _add_cub(xp, dict(found), numbers)
    return found


def _add_cub(xp: Any, problems: dict[str, dict[str, Callable[[], Any]]], numbers: dict[str, Any]) -> None:
    """Add CUB's scan alone, which works in place; `cupy.cumsum` copies before and after it."""
    cub = xp.cuda.cub
    for name, a in numbers.items():
        tried, work = a.copy(), a.copy()
        cub.device_scan(tried, cub.CUPY_CUB_CUMSUM)
        if bool((tried == xp.cumsum(a, dtype=name)).all()):
            problems[f"inclusive_scan {name}"]["CUB"] = lambda work=work: cub.device_scan(work, cub.CUPY_CUB_CUMSUM)


def _add_numba(problems: dict[str, dict[str, Callable[[], Any]]], numbers: dict[str, Any]) -> None:
    import numba

    @numba.njit(parallel=True)
    def total(a):
        found = a.dtype.type(0)
        for i in numba.prange(a.shape[0]):
            found += a[i]
        return found

    @numba.njit
    def scan(a, out):
        found = a.dtype.type(0)
        for i in range(a.shape[0]):
            found += a[i]
            out[i] = found
        return out

    for name, a in numbers.items():
        out = np.empty_like(a)
        problems[f"reduce {name}"]["Numba"] = lambda a=a: total(a)
        problems[f"inclusive_scan {name}"]["Numba"] = lambda a=a, out=out: scan(a, out)


def _host(value: Any) -> np.ndarray[Any, Any]:
    return np.asarray(value.get() if hasattr(value, "get") else value)


def _verify(name: str, contenders: dict[str, Callable[[], Any]]) -> None:
    own = {each: call for each, call in contenders.items() if each != "CUB"}  # which has no result of its own
    results = {each: _host(call()).astype(np.float64).reshape(-1) for each, call in own.items()}
    wanted = results["library"]
    for each, got in results.items():
        tolerance = 1e-3 if "float32" in name and "sort" not in name else 1e-12
        assert np.allclose(got, wanted, rtol=tolerance), (name, each, got, wanted)


def _on_gpu(contenders: dict[str, Callable[[], Any]]) -> tuple[dict[str, float], dict[str, float]]:
    import cupy
    from cuda_speed import event_timer, interleaved_medians

    medians, _ = interleaved_medians(contenders, event_timer())
    host = {}
    for name, call in contenders.items():
        times = []
        for _ in range(5):
            cupy.cuda.Device().synchronize()
            start = time.perf_counter()
            call()
            times.append(time.perf_counter() - start)
        host[name] = statistics.median(times) * 1e6
    return {name: each * 1e3 for name, each in medians.items()}, host


def main() -> None:
    """Print a row for each problem and size, in microseconds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", nargs="*", type=int)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--json")
    parser.add_argument("--clock", choices=("wall", "processor"), default="wall")
    given = parser.parse_args()
    try:
        import cupy as xp

        xp.cuda.runtime.getDeviceCount()
        xp._core.set_routine_accelerators(["cub"])
        xp._core.set_reduction_accelerators(["cub"])
        on_gpu = True
    except ImportError:
        xp, on_gpu = np, False
    clock = time.perf_counter if given.clock == "wall" else time.process_time
    rows = []
    for count in given.sizes or SIZES["gpu" if on_gpu else "cpu"]:
        for name, contenders in _problems(xp, count):
            if given.only and not any(name.startswith(each) for each in given.only):
                continue
            _verify(name, contenders)
            host: dict[str, float] = {}
            if on_gpu:
                taken, host = _on_gpu(contenders)
            else:
                timings = interleaved(contenders, 5, 1.5, 30, clock)
                taken = {each: timing.median * 1e6 for each, timing in timings.items()}
            ratios = {each: taken[each] / taken["kapi"] for each in taken if each != "kapi"}
            rows.append({"problem": name, "elements": count, "us": taken, "host": host})
            parts = [f"{each} {us:.1f}" for each, us in taken.items()]
            parts += [f"{each} / kapi {ratio:.2f}" for each, ratio in ratios.items()]
            parts += [f"host {each} {us:.0f}" for each, us in host.items()]
            print(f"{count:>10} {name:24}", "; ".join(parts), flush=True)
            if given.json:
                with open(given.json, "w", encoding="utf-8") as file:
                    json.dump(rows, file, indent=1)


if __name__ == "__main__":
    main()
