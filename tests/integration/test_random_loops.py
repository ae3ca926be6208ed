"""Loops over elements written at random are compiled by their first call, and Python accesses no array in each step."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

BLOCKS, EACH = 100, 6
FOLDER = Path(__file__).parent / "random_loops"


@pytest.mark.nightly(one_in=BLOCKS)
@pytest.mark.parametrize("block", range(BLOCKS))
def test_random_loops_are_compiled(block):
    first = int(os.environ.get("KAPI_TEST_SEED", "0")) * 10_000 + block * EACH
    command = [sys.executable, str(FOLDER), str(first), str(EACH)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1800)
    assert done.returncode == 0, f"{done.stdout[-6000:]}\n{done.stderr[-3000:]}"
