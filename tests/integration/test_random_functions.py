"""Functions for njit written at random give over dpnp arrays what the same Python gives over NumPy arrays."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

BLOCKS, EACH = 50, 40  # 2,000 functions at night, in processes of 40: what is compiled stays in memory
FOLDER = Path(__file__).parent / "random_functions"


@pytest.mark.nightly(one_in=BLOCKS)
@pytest.mark.parametrize("block", range(BLOCKS))
def test_random_functions_agree(block):
    first = int(os.environ.get("KAPI_TEST_SEED", "0")) * 10_000 + block * EACH
    run = [sys.executable, str(FOLDER), str(first), str(EACH)]
    done = subprocess.run(run, capture_output=True, text=True, timeout=1800)
    assert done.returncode == 0, f"{done.stdout[-6000:]}\n{done.stderr[-3000:]}"
