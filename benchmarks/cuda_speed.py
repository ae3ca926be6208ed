"""kapi on an NVIDIA GPU against CUDA C++, numba-cuda, Triton, Warp and CuPy's own operations.

    python benchmarks/cuda_speed.py [--json FILE] [--only NAME ...] [--quick]

It needs CuPy; PyTorch, numba-cuda, Triton and Warp take part where they are installed.  Each contender's results are
verified before it is timed.  Kernel times are by CUDA events on the default stream, medians of 7 rounds in which the
contenders take turns.  A contender that fails leaves the others alone, and the table says why.  A ratio above 1 means
that kapi is faster.  CUDA C++ and kapi contract a multiplication and an addition into one operation both or neither.
The others contract; numba-cuda cannot be told not to, so it stands against both.

Names for --only: those of `PROBLEMS`, and ``launches`` and ``compile``.
"""

from __future__ import annotations

import argparse
import json
import math
import platform
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from cuda_further_problems import FURTHER_PROBLEMS
from cuda_launches import compile_times, launch_variants, microseconds, why
from cuda_peers import triton_launch, warp_launch
from cuda_problems import PROBLEMS as FIRST_PROBLEMS
from cuda_problems import Problem

import kapi_runtime as kapi

PROBLEMS = {**FIRST_PROBLEMS, **FURTHER_PROBLEMS}

KAPI, CONTRACTING = "kapi", "kapi, contracting"
CPP, CPP_CONTRACTING = "CUDA C++", "CUDA C++, contracting"
NUMBA, CUPY, TRITON, WARP = "numba-cuda", "CuPy", "Triton", "Warp"

RATIOS = {
    "C++ / kapi": (CPP, KAPI),
    "C++ / kapi, both contracting": (CPP_CONTRACTING, CONTRACTING),
    "numba-cuda / kapi": (NUMBA, KAPI),
    "numba-cuda / kapi contracting": (NUMBA, CONTRACTING),
    "Triton / kapi contracting": (TRITON, CONTRACTING),
    "Warp / kapi contracting": (WARP, CONTRACTING),
    "CuPy / kapi": (CUPY, KAPI),
}

ROUNDS = 7
LEAST_MS = 3.0  # a round of a short kernel is as many launches as take this long, at most MOST
MOST = 20

Launch = Callable[[], Any]
Timer = Callable[[Launch, int], float]

SPIN = """
extern "C" __global__ void spin(long long cycles) {
    const long long start = clock64();
    while (clock64() - start < cycles) {}
}
"""


def event_timer() -> Timer:
    """Return what times so many launches on the device, in milliseconds a launch.

    A kernel that waits goes ahead of them, so that the device finds them all submitted and the host is not in the time.
    """
    import cupy

    spin = cupy.RawKernel(SPIN, "spin")
    begin, end = cupy.cuda.Event(), cupy.cuda.Event()

    def timed(launch: Launch, repeats: int) -> float:
        start = time.perf_counter()
        launch()
        host = time.perf_counter() - start
        # A millisecond, or longer than the host takes: else the device would wait for it.
        spin((1,), (1,), (np.int64(max(2_000_000, min(2e8, 4e9 * host * repeats))),))
        begin.record()
        for _ in range(repeats):
            launch()
        end.record()
        end.synchronize()
        return float(cupy.cuda.get_elapsed_time(begin, end)) / repeats

    return timed


def interleaved_medians(
    launches: Mapping[str, Launch], timer: Timer, rounds: int = ROUNDS
) -> tuple[dict[str, float], dict[str, list[float]]]:
    """Return the median of each contender, and all its rounds; the contenders take turns, and each is warmed first."""
    repeats = {}
    for name, launch in launches.items():
        timer(launch, 1)
        repeats[name] = min(MOST, max(1, math.ceil(LEAST_MS / max(timer(launch, 1), 1e-6))))
    taken: dict[str, list[float]] = {name: [] for name in launches}
    for iteration in range(rounds):
        order = list(launches)
        first = iteration % len(order) if order else 0
        for name in order[first:] + order[:first]:
            taken[name].append(timer(launches[name], repeats[name]))
    return {name: statistics.median(each) for name, each in taken.items()}, taken


def contenders(problem: Problem, has_own: bool = True) -> dict[str, Callable[[], Launch]]:
    """Return what makes each contender's launch."""

    def in_kapi(**options: Any) -> Launch:
        kernel = kapi.kernel(**options)(problem.kernel) if options else kapi.kernel(problem.kernel)
        return kernel.bind(problem.space, *problem.arguments)

    def in_cpp(option: str) -> Launch:
        import cupy

        module = cupy.RawModule(code=problem.cpp, options=("--std=c++17", option))
        function = module.get_function(problem.entry)
        return lambda: function(problem.grid, problem.block, problem.cpp_arguments)

    def in_numba() -> Launch:
        import cuda_numba_kernels as numba_kernels
        from numba import cuda

        kernel = cuda.jit(getattr(numba_kernels, problem.numba))[problem.grid, problem.block]
        given = [
            cuda.as_cuda_array(each) if hasattr(each, "__cuda_array_interface__") else each
            for each in problem.numba_arguments
        ]
        return lambda: kernel(*given)

    launches: dict[str, Callable[[], Launch]] = {
        KAPI: in_kapi,
        CONTRACTING: lambda: in_kapi(fastmath={"contract"}),
        CPP: lambda: in_cpp("-fmad=false"),
        CPP_CONTRACTING: lambda: in_cpp("-fmad=true"),
        NUMBA: in_numba,
    }
    own = problem.own
    if own is not None and has_own:
        launches[CUPY] = lambda: own
    return launches


def wrong(results: Sequence[Any], expected: Sequence[Any], problem: Problem) -> str:
    """Return what is wrong with results, or nothing."""
    if len(results) != len(expected):
        return f"{len(results)} results where {len(expected)} are right"
    for result, right in zip(results, expected, strict=True):
        if result.shape != right.shape:
            return f"shape {result.shape} where {right.shape} is right"
        difference = abs(result.astype(np.float64) - right)
        bad = ~(difference <= problem.atol + problem.rtol * abs(right))  # NaN is bad
        count = int(bad.sum())
        if count > problem.misses * bad.size:
            return f"{count} of {bad.size} elements are wrong, the largest difference is {float(difference.max())!r}"
    return ""


def peers(problem: Problem) -> dict[str, Callable[[], Launch | None]]:
    """Return what makes the launch of Triton and of Warp, where they are installed; it gives None for no kernel."""
    return {
        name: lambda launch=launch: launch(problem)  # type: ignore[misc]  # mypy takes the default for an argument
        for name, module, launch in ((TRITON, "triton", triton_launch), (WARP, "warp", warp_launch))
        if find_spec(module) is not None
    }


def verified(problem: Problem, wait: Callable[[], object]) -> tuple[dict[str, Launch], dict[str, str]]:
    """Return the contenders whose results are right, and why the others have none."""
    expected = problem.expected()
    good: dict[str, Launch] = {}
    failed: dict[str, str] = {}
    for name, build in {**contenders(problem), **peers(problem)}.items():
        try:
            for output in problem.outputs:
                output[...] = problem.poison
            wait()
            launch = build()
            if launch is None:
                continue
            returned = launch()
            wait()
            if name == CUPY:
                right = expected if problem.own_expected is None else problem.own_expected()
                message = wrong(returned, right, problem)
            else:
                message = wrong(problem.outputs, expected, problem)
        except Exception as error:
            message = why(error)
        if message:
            failed[name] = message
        else:
            good[name] = launch
    return good, failed


def measured(name: str, quick: bool, timer: Timer, xp: Any, wait: Callable[[], object]) -> dict[str, Any]:
    """Return the record of one problem."""
    start = time.perf_counter()
    problem = PROBLEMS[name](xp, quick)
    launches, failed = verified(problem, wait)
    medians, rounds = interleaved_medians(launches, timer)
    return {
        "problem": problem.shown,
        "ms": medians,
        "ratios": ratios(medians),
        "rounds": rounds,
        "failed": failed,
        "seconds": round(time.perf_counter() - start, 1),
    }


def ratios(medians: Mapping[str, float]) -> dict[str, float]:
    """Return the ratios whose two contenders have times."""
    return {
        name: medians[theirs] / medians[ours]
        for name, (theirs, ours) in RATIOS.items()
        if theirs in medians and ours in medians
    }


def summary(records: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return of each ratio its geometric mean, and the worst with its problem."""
    found: dict[str, dict[str, Any]] = {}
    for name in RATIOS:
        each = {record["problem"]: record["ratios"][name] for record in records.values() if name in record["ratios"]}
        if each:
            worst = min(each, key=each.__getitem__)
            found[name] = {
                "geometric mean": math.exp(statistics.fmean(map(math.log, each.values()))),
                "worst": each[worst],
                "worst problem": worst,
                "problems": len(each),
            }
    return found


def table(records: Mapping[str, Mapping[str, Any]], summaries: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return the ratios as lines of Markdown."""
    lines = [
        "| | kapi, ms | kapi contracting, ms | " + " | ".join(RATIOS) + " |",
        "|---" + "|---:" * (2 + len(RATIOS)) + "|",
    ]
    for record in records.values():
        times = [f"{record['ms'][each]:.3f}" if each in record["ms"] else "" for each in (KAPI, CONTRACTING)]
        cells = [f"{record['ratios'][each]:.2f}" if each in record["ratios"] else "" for each in RATIOS]
        lines.append(f"| {record['problem']} | " + " | ".join(times + cells) + " |")
    means = [
        f"{summaries[each]['geometric mean']:.3f} ({summaries[each]['problems']})" if each in summaries else ""
        for each in RATIOS
    ]
    worst = [
        f"{summaries[each]['worst']:.2f}, {summaries[each]['worst problem']}" if each in summaries else ""
        for each in RATIOS
    ]
    lines += ["| geometric mean | | | " + " | ".join(means) + " |", "| worst | | | " + " | ".join(worst) + " |"]
    lines += [
        f"\n{record['problem']}: {name} failed: {message}"
        for record in records.values()
        for name, message in record["failed"].items()
    ]
    return lines


def launch_costs(quick: bool, wait: Callable[[], object]) -> dict[str, Any]:
    """Return microseconds a launch of each variant, and why some have none."""
    launches: dict[str, Launch] = {}
    failed: dict[str, str] = {}
    for name, build in launch_variants().items():
        try:
            launch = build()
            for _ in range(20):
                launch()
            wait()
            launches[name] = launch
        except Exception as error:
            failed[name] = why(error)
    return {"us": microseconds(launches, wait, *((3, 20) if quick else (25, 500))), "failed": failed}


def machine() -> dict[str, Any]:
    """Return what the figures are of."""
    import cupy

    versions = {}
    for name in (
        "numpy",
        "numba",
        "llvmlite",
        "cupy-cuda13x",
        "torch",
        "numba-cuda",
        "triton",
        "warp-lang",
        "cuda-bindings",
    ):
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return {
        "device": cupy.cuda.runtime.getDeviceProperties(0)["name"].decode(),
        "driver": cupy.cuda.runtime.driverGetVersion(),
        "nvrtc": list(cupy.cuda.nvrtc.getVersion()),
        "cupy": cupy.__version__,
        "python": platform.python_version(),
        **versions,
    }


def main(given: Sequence[str] | None = None) -> int:
    """Run what was asked for, and print it."""
    names = (*PROBLEMS, "launches", "compile")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    parser.add_argument("--only", nargs="+", choices=names, default=names, metavar="NAME", help="run those alone")
    parser.add_argument("--quick", action="store_true", help="small sizes: shows that all runs, not how fast")
    options = parser.parse_args(given)
    import cupy

    warnings.filterwarnings("ignore", module="numba.*")
    wait = cupy.cuda.Device().synchronize
    result: dict[str, Any] = {"machine": machine(), "quick": options.quick}
    # First of all, while no kernel has been compiled.
    if "compile" in options.only:
        result["compile, ms"] = compile_times()
    timer = event_timer()
    records: dict[str, Any] = {}
    for name in (each for each in PROBLEMS if each in options.only):
        try:
            records[name] = measured(name, options.quick, timer, cupy, wait)
        except Exception as error:  # the problem itself could not be made
            message = why(error)
            records[name] = {"problem": name, "ms": {}, "ratios": {}, "rounds": {}, "failed": {"all": message}}
        # What was measured is seen even if a later problem ends the process.
        print(name, json.dumps({k: v for k, v in records[name].items() if k != "rounds"}), file=sys.stderr, flush=True)
        cupy.get_default_memory_pool().free_all_blocks()
    result["problems"], result["summary"] = records, summary(records)
    if "launches" in options.only:
        try:
            result["launches"] = launch_costs(options.quick, wait)
        except Exception as error:
            result["launches"] = {"us": {}, "failed": {"all": why(error)}}
    report(result)
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n", "utf-8")
    complete = not any(record["failed"] for record in records.values())
    return 0 if complete and not result.get("launches", {}).get("failed") else 1


def report(result: Mapping[str, Any]) -> None:
    """Print the tables, then all figures but the single rounds on a line of JSON."""
    print(" ".join(f"{name}={value}" for name, value in result["machine"].items()), end="\n\n")
    if result["problems"]:
        print("\n".join(table(result["problems"], result["summary"])))
    if "launches" in result:
        print("\n| a launch from Python | us |\n|---|---:|")
        for name, value in result["launches"]["us"].items():
            print(f"| {name} | {value:.2f} |")
        for name, message in result["launches"]["failed"].items():
            print(f"\n{name} failed: {message}")
    if "compile, ms" in result:
        print("\n| first compile, to the first result | cold, ms | warm, ms |\n|---|---:|---:|")
        for name, found in result["compile, ms"].items():
            print(f"| {name} | {found.get('cold', found.get('failed'))} | {found.get('warm', '')} |")
    short = {name: {k: v for k, v in each.items() if k != "rounds"} for name, each in result["problems"].items()}
    print("\n" + json.dumps({**result, "problems": short}))


if __name__ == "__main__":
    sys.exit(main())
