"""Functions for njit written at random give over dpnp arrays what the same Python gives over NumPy arrays."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

BLOCKS, EACH = 100, 10  # 2,000 functions at night, in two processes of 10 at a time: what is compiled stays in memory
BY_DAY = 4
FOLDER = Path(__file__).parent / "random_functions"


@pytest.mark.nightly(one_in=BLOCKS)
@pytest.mark.parametrize("block", range(BLOCKS))
def test_random_functions_agree(block):
    first = int(os.environ.get("KAPI_TEST_SEED", "0")) * 10_000 + 2 * block * EACH
    count = EACH if os.environ.get("KAPI_NIGHTLY", "0") != "0" else BY_DAY

    def run(seed):
        command = [sys.executable, str(FOLDER), str(seed), str(count)]
        return subprocess.run(command, capture_output=True, text=True, timeout=1800)

    with ThreadPoolExecutor(2) as pool:
        for done in pool.map(run, (first, first + EACH)):
            assert done.returncode == 0, f"{done.stdout[-6000:]}\n{done.stderr[-3000:]}"


@pytest.mark.parametrize("seed", [400003], ids=["numba-runs-it-for-arrays-of-one-memory"])
def test_functions_that_once_differed(seed):
    done = subprocess.run([sys.executable, str(FOLDER), str(seed), "1"], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, f"{done.stdout[-6000:]}\n{done.stderr[-3000:]}"
