"""Another package's overloads over USM arrays: built as its own wheel, installed, and used in another process."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from hatchling import build

HERE = Path(__file__).parent

PROGRAM = """
import numba
import numpy as np
import usm_histogram
from usm_histogram import Samples, count_bins

@numba.njit
def analyse(samples, counts):
    return samples.span(), count_bins(samples, 0.0, 4.0, counts), samples

samples = Samples([0.5, 1.5, 1.75, 3.0, 9.0])
counts = np.zeros(4, np.int64)
span, counted, returned = analyse(samples, counts)
assert (span, counted.tolist(), returned is samples) == (8.5, [1, 2, 0, 1], True)

class OnDevice(Samples):
    usm_type = "device"

try:
    numba.njit(lambda samples, counts: count_bins(samples, 0.0, 4.0, counts))(OnDevice([1.0]), counts)
except numba.TypingError as error:
    assert "samples must be in memory that the host reaches, got usm_array(float32, 1d, C, device)" in str(error)
else:
    raise AssertionError("device memory was taken")
print(usm_histogram.__file__)
"""


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A folder with the package as an installer puts it there."""
    monkeypatch.chdir(HERE / "third_party")
    wheel = build.build_wheel(str(tmp_path / "dist"))
    folder = tmp_path / "site"
    with zipfile.ZipFile(tmp_path / "dist" / wheel) as archive:
        archive.extractall(folder)
    return folder


def test_third_party_package_reuses_the_types(site, tmp_path):
    """Its wheel has an array class and overloads of its own; nothing of it is imported from this tree."""
    path = os.pathsep.join([str(site), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", PROGRAM],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert Path(done.stdout.strip()) == site / "usm_histogram.py"
