"""Functions for njit written at random give, offloaded, what the same Python gives over NumPy arrays.

By day their arrays are NumPy's, in the context of the CPU; at night those of every second block are dpnp's.
"""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

BLOCKS, EACH = 100, 10  # 2,000 functions at night, in two processes of 10 at a time: what is compiled stays in memory
BY_DAY = 4  # of each 10, all in one process: the first function of a process takes Numba as long as the next four
ONCE_DIFFERED = 400003, 1090001  # Numba runs all of them: for arrays of one memory, and for int32 arrays
FOLDER = Path(__file__).parent / "random_functions"


@pytest.mark.nightly(one_in=BLOCKS)
@pytest.mark.parametrize("block", range(BLOCKS))
def test_random_functions_agree(block):
    first = int(os.environ.get("KAPI_TEST_SEED", "0")) * 10_000 + 2 * block * EACH
    processes = [[first, EACH], [first + EACH, EACH]]
    if os.environ.get("KAPI_NIGHTLY", "0") == "0":
        processes = [[first, BY_DAY, first + EACH, BY_DAY]]
    if block == 0:
        processes[0] += [number for seed in ONCE_DIFFERED for number in (seed, 1)]

    def run(seeds):
        command = [sys.executable, str(FOLDER), *map(str, seeds)]
        environment = {**os.environ, "KAPI_ARRAYS": "dpnp" if block % 2 else "numpy"}
        return subprocess.run(command, capture_output=True, text=True, timeout=1800, env=environment)

    with ThreadPoolExecutor(2) as pool:
        for done in pool.map(run, processes):
            assert done.returncode == 0, f"{done.stdout[-6000:]}\n{done.stderr[-3000:]}"
