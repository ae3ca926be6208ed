"""Run the benchmarks: each workload in every column, interleaved and verified, then what one launch costs the host."""

from __future__ import annotations

import argparse
import importlib
from pathlib import Path

from opencl_peer import share_driver_with_pyopencl

share_driver_with_pyopencl()  # before anything asks for devices

import report  # noqa: E402
from launch_cost import launch_costs  # noqa: E402
from timing import interleaved  # noqa: E402

NAMES = (
    "black_scholes dbscan gpairs kmeans knn l2_norm pairwise_distance pca rambo "
    "mandelbrot n_body matmul histogram tree_reduction stencil spmv saxpy"
).split()
"""The nine problems of DPBench, at the sizes of its preset S, then eight more."""


def main() -> None:
    """Parse the command line, run, print, and write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rounds and seconds: five minutes in all")
    parser.add_argument("--scale", type=float, default=1.0, help="size of the problems against the usual (default 1)")
    parser.add_argument("--only", nargs="+", choices=NAMES, default=NAMES, metavar="NAME", help="these workloads alone")
    parser.add_argument("--out", type=Path, help="folder for results.json and chart.png")
    options = parser.parse_args()
    machine = report.machine()
    print(report.describe(machine))
    rows = []
    for name in options.only:
        workload = importlib.import_module(f"workloads.{name}").build(options.scale)
        runs = {column: each.run for column, each in workload.columns.items()}
        timings = interleaved(runs, rounds=7 if options.quick else 15, seconds=0.7 if options.quick else 4.0)
        workload.verify()
        rows.append(report.Row(workload.name, workload.size, timings))
        print(report.row_text(rows[-1]))
    print(report.summary(rows))
    costs = launch_costs(5 if options.quick else 25)
    print("host time of one asynchronous launch in us: median, fastest batch")
    for name, (median, fastest) in costs.items():
        print(f"  {name:<24}{median:10.1f}{fastest:10.1f}")
    if options.out:
        report.write(options.out, machine, rows, costs)


if __name__ == "__main__":
    main()
