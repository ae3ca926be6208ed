"""Statements of programs, on CuPy arrays: ``python tests/gpu/written.py kernels|compositions|functions NUMBER COUNT``.

They are those of tests/integration: random kernels, against the simulator and plain Python over NumPy's scalars;
operations of the table with all kinds of values, in all positions; and random njit functions, against Python.  NUMBER
says which.  Prints a line of JSON: how many agreed, and the differences.  Needs hypothesis and pytest.
"""

from __future__ import annotations

import json
import os
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from coarse_ranges import use_coarse_entry_points

ROOT = Path(__file__).resolve().parents[2]
LISTED = 5  # differences of each kind

os.environ.update(KAPI_ARRAYS="cupy", KAPI_CACHE="0")  # what is compiled once is not compiled again
sys.path[:0] = [str(ROOT / "tests" / "integration"), str(ROOT / "packages" / "kapi-cpu" / "tests")]


def kernels(number: int, count: int) -> tuple[int, list[str]]:
    """So many random kernels that only this number gives."""
    import test_random_kernels as tests
    from hypothesis import Phase, given, seed, settings
    from hypothesis import strategies as st

    agreed, differences = 0, []

    @settings(max_examples=count, phases=[Phase.generate], **tests.QUIET)
    @seed(number)
    @given(program=tests.random_kernels.programs(), values=st.integers(0, 1000))
    def run(program: Any, values: int) -> None:
        nonlocal agreed
        try:
            tests.compare(program, values)
            agreed += 1
        except Exception as error:  # one kernel's does not keep the others from being run
            differences.append(f"{type(error).__name__}: {str(error)[:1500]}\n{program.source}\n{program.arrays}")

    run()
    return agreed, differences


def compositions(number: int, count: int) -> tuple[int, list[str]]:
    """So many statements of all levels that only this number gives."""
    import numpy as np
    from compositions import LEVELS, Verdict, compare, statement
    from compositions import count as number_of

    rng, verdict = random.Random(number), Verdict()
    with np.errstate(all="ignore"):
        for has_groups in (False, True):
            levels = [level for level in LEVELS if ("group" in level) is has_groups]
            left = count // 4 if has_groups else count - count // 4
            while left > 0:
                size = min(100 if has_groups else 300, left)
                chosen = [statement(level, rng.randrange(number_of(level))) for level in rng.choices(levels, k=size)]
                verdict.add(compare(chosen))
                left -= size
    return verdict.counts["statements"] - len(verdict.differences), list(map(str, verdict.differences))


def functions(number: int, count: int) -> tuple[int, list[str]]:
    """So many random njit functions that only this number gives."""
    import warnings

    from random_functions import differences, written

    import _kapi_numba_hooks

    _kapi_numba_hooks.install()  # wheels that are unpacked have no entry points
    warnings.simplefilter("ignore")
    found = []
    for seed in range(number * 10_000, number * 10_000 + count):
        told = differences(written(seed))
        if told:
            found.append(f"seed {seed}: {told[0][:1500]}")
    return count - len(found), found


KINDS: dict[str, Callable[[int, int], tuple[int, list[str]]]] = {
    "kernels": kernels,
    "compositions": compositions,
    "functions": functions,
}


def main() -> None:
    kind, number, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    if number % 2:  # every other process lets threads run several work-items, which few of these ranges are for
        use_coarse_entry_points()
    start = time.perf_counter()
    agreed, differences = KINDS[kind](number, count)
    failed = {f"{number}.{k}": text for k, text in enumerate(differences[:LISTED])}
    if len(differences) > LISTED:
        failed[f"{number}: further"] = str(len(differences) - LISTED)
    print(json.dumps({"passed": agreed, "failed": failed, "seconds": round(time.perf_counter() - start, 1)}))


if __name__ == "__main__":
    main()
