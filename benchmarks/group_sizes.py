"""Work-groups of a `Range` on CPUs: kapi's rule against other sizes, over the workloads of both sets; run by itself."""

from __future__ import annotations

import argparse
import gc
import importlib
import statistics
from collections.abc import Callable, Sequence
from typing import Any

from opencl_peer import share_driver_with_pyopencl

share_driver_with_pyopencl()

from run import CLOCKS, SETS  # noqa: E402

import kapi_runtime as kapi  # noqa: E402
from kapi_runtime.launch.plans import PlanTable  # noqa: E402
from kapi_runtime.sycl import platform as sycl  # noqa: E402

Rule = Callable[[Sequence[int], int, int, bool], tuple[list[int], "list[int] | None"]]

_LEAST_SECONDS = 0.003
_RULE: Rule = sycl.rounded_range


def _driver(space: Sequence[int], units: int, most: int, has_loops: bool) -> tuple[list[int], list[int] | None]:
    return list(space), None


def _fixed(size: int) -> Rule:
    """Work-groups of one size along the last axis, to which the range is rounded up."""

    def rule(space: Sequence[int], units: int, most: int, has_loops: bool) -> tuple[list[int], list[int] | None]:
        rounded = [*space[:-1], -(-space[-1] // size) * size]
        return rounded, [*[1] * (len(space) - 1), size]

    return rule


def _rows(most: int) -> Rule:
    """Work-groups of whole rows, of so many work-items at most; the driver's where one row has more.

    A single axis has groups of so many.
    """
    along_axis = _fixed(most)

    def rule(space: Sequence[int], units: int, largest: int, has_loops: bool) -> tuple[list[int], list[int] | None]:
        if len(space) == 1:
            return along_axis(space, units, largest, has_loops)
        last = -(-space[-1] // 64) * 64
        local, budget = [last], most // last
        for extent in reversed(space[:-1]):
            step = max((each for each in range(1, min(budget, extent) + 1) if extent % each == 0), default=1)
            local.insert(0, step)
            budget //= step
        return [*space[:-1], last], local if last <= most else None

    return rule


RULES: dict[str, Rule] = {
    "rule": _RULE,
    "again": _RULE,
    "driver": _driver,
    **{str(size): _fixed(size) for size in (64, 256, 512, 1024)},
    **{f"r{most}": _rows(most) for most in (1024, 2048, 4096, 8192)},
}
"""The candidates; "again" is the rule itself, and shows how much of a difference is noise."""


def main() -> None:
    """Print, for each workload that is launched over a `Range`, the time of each rule as a ratio to kapi's."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=0.25, help="size of the problems against the usual")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument(
        "--clock", choices=CLOCKS, default="processor", help="processor (default), or wall on a quiet machine"
    )
    parser.add_argument("--only", nargs="+", metavar="NAME", help="these workloads alone")
    options = parser.parse_args()
    print(
        f"{options.clock + ' time / that of the rule':36}" + "".join(f"{name:>8}" for name in RULES if name != "rule")
    )
    worst = []
    for name in options.only or [*SETS["first"], *SETS["second"]]:
        ratios = _ratios(name, options.scale, options.rounds, CLOCKS[options.clock])
        if ratios is None:
            continue
        worst.append(min(1.0, *ratios.values()))
        print(f"{name:36}" + "".join(f"{ratio:8.2f}" for ratio in ratios.values()), flush=True)
    print(f"the best against the rule, in the mean: {statistics.geometric_mean(worst):.3f}")


def _ratios(name: str, scale: float, rounds: int, clock: Callable[[], float]) -> dict[str, float] | None:
    """Median time of each rule against the first one's; None for a workload that has no `Range`."""
    runs: dict[str, Callable[[], Any]] = {}
    asked: list[int] = []

    def counted(rule: Rule) -> Rule:
        def count(space: Sequence[int], units: int, most: int, has_loops: bool) -> tuple[list[int], list[int] | None]:
            asked.append(1)
            return rule(space, units, most, has_loops)

        return count

    for label, rule in RULES.items():
        for table in [each for each in gc.get_objects() if isinstance(each, PlanTable)]:
            table.clear()  # a plan keeps the work-groups that it was made with
        sycl.rounded_range = counted(rule)
        workload = importlib.import_module(f"workloads.{name}").build(scale)
        runs[label] = workload.columns["kapi"].run
        runs[label]()
        if not asked:
            return None
        runs[label]()
    sycl.rounded_range = _RULE
    start = clock()
    runs["rule"]()
    repeats = max(1, int(_LEAST_SECONDS / max(clock() - start, 1e-6)))
    times: dict[str, list[float]] = {label: [] for label in runs}
    for _ in range(rounds):
        for label, run in runs.items():
            run()  # the first call after another one's is not timed
            start = clock()
            for _ in range(repeats):
                run()
            times[label].append(clock() - start)
    medians = {label: statistics.median(each) for label, each in times.items()}
    return {label: medians[label] / medians["rule"] for label in RULES if label != "rule"}


if __name__ == "__main__":
    assert kapi  # the drivers are found by importing it
    main()
