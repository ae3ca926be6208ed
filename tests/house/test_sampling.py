"""The repository's conftest.py: which tests a run takes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections import Counter

import pytest

SUITE = """
import pytest
@pytest.mark.parametrize("n", range(20))
@pytest.mark.nightly(one_in=10)
def test_sampled(n): pass
@pytest.mark.parametrize("n", range(20))
@pytest.mark.nightly(one_in=20, at_night=5)
def test_huge(n): pass
@pytest.mark.parametrize("n", [0, pytest.param(1, marks=pytest.mark.nightly)])
def test_mixed(n): pass
@pytest.mark.nightly
def test_long(): pass
"""


@pytest.fixture
def kept(root, tmp_path):
    """The names of the tests of a suite, beside the repository's conftest.py, that a run with some variables takes."""
    shutil.copy(root / "conftest.py", tmp_path)
    (tmp_path / "test_suite.py").write_text(SUITE, "utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = nightly(one_in=None, at_night=None): x\n", "utf-8")
    unset = {name: value for name, value in os.environ.items() if name not in ("KAPI_TEST_SEED", "KAPI_NIGHTLY")}

    def names(**variables):
        command = [sys.executable, "-m", "pytest", "-q", "--collect-only", "-p", "no:cacheprovider", str(tmp_path)]
        environment = unset | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"} | variables
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment, cwd=tmp_path)
        return [line.partition("::")[2] for line in done.stdout.splitlines() if "::" in line]

    return names


def test_sample_of_a_day_is_the_same_for_every_seed(kept):
    sample = kept()
    assert kept(KAPI_TEST_SEED="7") == sample
    counts = Counter(name.partition("[")[0] for name in sample)
    assert counts == {"test_sampled": 2, "test_huge": 1, "test_mixed": 1}


def test_night_runs_all_but_what_it_samples_by_its_seed(kept):
    one, other = (kept(KAPI_NIGHTLY="1", KAPI_TEST_SEED=seed) for seed in ("1", "2"))
    assert len(one) == 20 + 4 + 1 + 1
    assert one != other
    assert set(kept(KAPI_NIGHTLY="all")) == {*one, "test_mixed[0]", *(f"test_huge[{n}]" for n in range(20))}
