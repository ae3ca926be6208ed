"""Run the benchmarks: workloads in every column, launches, the way to a first result, growth, the simulator."""

from __future__ import annotations

import argparse
import importlib
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from opencl_peer import share_driver_with_pyopencl

share_driver_with_pyopencl()  # before anything asks for devices

import report  # noqa: E402
import scaling  # noqa: E402
from cpu_costs import cpu_costs, cpu_text  # noqa: E402
from launch_cost import launch_costs  # noqa: E402
from simulator import simulator_costs, simulator_text  # noqa: E402
from start_cost import start_costs, start_text  # noqa: E402
from timing import interleaved  # noqa: E402

SETS = {
    "first": (
        "black_scholes dbscan gpairs kmeans knn l2_norm pairwise_distance pca rambo "
        "mandelbrot n_body matmul histogram tree_reduction stencil spmv saxpy"
    ).split(),
    "second": [
        f"second.{name}"
        for name in (
            "float_histogram escape julia collatz monte_carlo gather heat life n_body matmul tree_sum one_barrier "
            "group_sum scan transpose ragged search morton convolution small"
        ).split()
    ],
}
"""The first: the nine problems of DPBench, at the sizes of its preset S, then eight more. The second: other idioms and
types, written before anything was tuned for them."""

CLOCKS: dict[str, Callable[[], float]] = {"wall": time.perf_counter, "processor": time.process_time}

PARTS = ("workloads", "cpu", "launches", "start", "simulator", "growth")


def main() -> None:
    """Parse the command line, run, print, and write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rounds and seconds: five minutes in all")
    parser.add_argument("--scale", type=float, default=1.0, help="size of the problems against the usual (default 1)")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS, metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--set", nargs="+", choices=SETS, default=["first"], help="workloads: first (default), second")
    parser.add_argument(
        "--only", nargs="+", choices=[*SETS["first"], *SETS["second"]], metavar="NAME", help="these workloads alone"
    )
    parser.add_argument("--columns", nargs="+", metavar="COLUMN", help="these columns alone, beside kapi (CPU)")
    parser.add_argument(
        "--clock",
        choices=CLOCKS,
        default="wall",
        help="of the workloads: wall (default), or processor on a busy machine",
    )
    parser.add_argument("--out", type=Path, help="folder for results.json and the charts")
    options = parser.parse_args()
    results: dict[str, Any] = {"machine": report.machine(), "clock": options.clock}
    print(report.describe(results["machine"]))
    if "workloads" in options.parts:
        results["workloads"] = _workloads(
            options.only or [name for each in options.set for name in SETS[each]],
            options.scale,
            options.quick,
            CLOCKS[options.clock],
            options.columns,
        )
        print(report.summary(results["workloads"]))
    if "cpu" in options.parts:
        results["cpu_seconds"] = cpu_costs(3 if options.quick else 25)
        print(cpu_text(results["cpu_seconds"]))
    if "launches" in options.parts:
        results["launch_us"] = launch_costs(5 if options.quick else 25)
        print("host time of one asynchronous launch in us: median, fastest batch")
        for name, (median, fastest) in results["launch_us"].items():
            print(f"  {name:<36}{median:10.1f}{fastest:10.1f}")
        print()
    if "start" in options.parts:
        results["start_seconds"] = start_costs(3 if options.quick else 9)
        print(start_text(results["start_seconds"]))
    if "simulator" in options.parts:
        results["simulator_us"] = simulator_costs(2 if options.quick else 7)
        print(simulator_text(results["simulator_us"]))
    if "growth" in options.parts:
        results["growth_seconds"] = scaling.curves(2 ** (24 if options.quick else 28), 5 if options.quick else 9)
        print(scaling.curves_text(results["growth_seconds"]))
    if options.out:
        report.write(options.out, results)


def _workloads(
    names: Sequence[str], scale: float, quick: bool, clock: Callable[[], float], columns: Sequence[str] | None
) -> list[report.Row]:
    rows = []
    for name in names:
        workload = importlib.import_module(f"workloads.{name}").build(scale)
        if columns:
            workload = workload.with_columns(columns)
        runs = {column: each.run for column, each in workload.columns.items()}
        timings = interleaved(runs, rounds=7 if quick else 15, seconds=0.7 if quick else 4.0, clock=clock)
        workload.verify()
        is_second = name.startswith("second.") and workload.name in SETS["first"]
        rows.append(report.Row(workload.name + " (second)" * is_second, workload.size, timings))
        print(report.row_text(rows[-1]), flush=True)
    return rows


if __name__ == "__main__":
    main()
