"""The example on a cluster of processes, each with a sub-device of its own."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.distance import cdist

EXAMPLE = Path(__file__).parents[2] / "examples" / "distributed_distances.py"


def run(folder, *arguments):
    done = subprocess.run(
        [sys.executable, *arguments], cwd=folder, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def printed(tmp_path_factory):
    return run(tmp_path_factory.mktemp("cluster"), str(EXAMPLE), "--points", "600", "--block", "150", "--workers", "2")


def test_workers_compute_what_one_process_does(printed):
    assert printed.endswith("results are equal\n")
    assert "16 blocks: " in printed


def test_each_worker_owns_a_sub_device(printed):
    owners = re.findall(r"^(\d): <Device: a sub-device of .* \(1 of \d+ compute units\)>$", printed, re.MULTILINE)
    assert owners == ["0", "1"]


def test_progress_is_displayed(printed):
    assert re.search(r"blocks: 100%\|.*\| 16/16 ", printed)


@pytest.mark.filterwarnings("ignore")  # those of the libraries that the example imports
def test_one_process_computes_what_scipy_does():
    example = runpy.run_path(str(EXAMPLE))
    points = np.random.default_rng(3).random((90, 16), dtype=np.float32)
    kernel, distances, summary = (example[name] for name in ("pairwise_distance", "distances", "summary"))
    found = {block: summary(distances(kernel, *pair)) for block, *pair in example["blocks"](points, 40)}
    index, distance = example["nearest"](found, 90)
    expected = cdist(points, points) + np.diag(np.full(90, np.inf))
    np.testing.assert_array_equal(index, expected.argmin(axis=1))
    np.testing.assert_allclose(distance, expected.min(axis=1), rtol=1e-5)
