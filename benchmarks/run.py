"""Run all benchmarks and print them as tables. `--quick` takes small sizes and few rounds."""

from __future__ import annotations

import argparse
import platform

from opencl_peer import share_driver_with_pyopencl

share_driver_with_pyopencl()  # before anything asks for devices

from launch_cost import launch_costs  # noqa: E402
from timing import interleaved  # noqa: E402
from workloads import pairwise_distance, saxpy  # noqa: E402

import kapi_runtime as kapi  # noqa: E402

WORKLOADS = (pairwise_distance, saxpy)


def main() -> None:
    """Parse the command line, run, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes and few rounds: seconds, not minutes")
    quick = parser.parse_args().quick
    device = kapi.list_devices()[0]
    print(f"{device.name}, {platform.system()}, Python {platform.python_version()}\n")
    for module in WORKLOADS:
        workload = module.build(0.1 if quick else 1.0)
        timings = interleaved(workload.candidates, 5 if quick else 15)
        workload.verify()
        kapi_median = timings["kapi"].median
        print(f"{workload.name}: first call, median, fastest in ms; ratio of medians to kapi")
        for name, each in timings.items():
            print(
                f"  {name:<16}{each.first * 1e3:10.2f}{each.median * 1e3:10.2f}{each.fastest * 1e3:10.2f}"
                f"{each.median / kapi_median:8.2f}"
            )
        print()
    print("host time of one asynchronous launch in us: median, fastest batch")
    for name, (median, fastest) in launch_costs(5 if quick else 25).items():
        print(f"  {name:<16}{median:10.1f}{fastest:10.1f}")


if __name__ == "__main__":
    main()
