"""The repository's conftest.py: which tests a run takes."""

from __future__ import annotations

import json
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
@pytest.mark.parametrize("n", range(3))
@pytest.mark.nightly(one_in=10)
def test_few(n): pass
@pytest.mark.parametrize("n", range(20))
@pytest.mark.nightly(one_in=20, at_night=5)
def test_huge(n): pass
@pytest.mark.parametrize("n", [0, pytest.param(1, marks=pytest.mark.nightly)])
def test_mixed(n): pass
@pytest.mark.nightly
def test_long(): pass
@pytest.mark.parametrize("option", ["debug", "plain", "unsafe"])
@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
@pytest.mark.nightly(one_in=3)
def test_combined(dtype, option): pass
"""

DRAWS = """
import os
from hypothesis import given, settings, strategies as st
@settings(max_examples=30)
@given(st.integers(), st.floats())
def test_drawn(n, x):
    with open(os.environ["DRAWN"], "a") as file:
        print(n, x, file=file)
"""


LOOP = """
import datetime, json, os, sys
import pytest

today = datetime.datetime

class Later(today):
    @classmethod
    def now(cls, tz=None):
        return today.now(tz) + datetime.timedelta(days=int(os.environ["DAYS_LATER"]))

datetime.datetime = Later

class Ran:
    def pytest_runtest_logreport(self, report):
        if report.when == "call":
            ran.append(report.nodeid.partition("::")[2])

outcomes = []
for variables in json.loads(sys.argv[2]):
    for name in ("KAPI_TEST_SEED", "KAPI_NIGHTLY"):
        os.environ.pop(name, None)
    os.environ.update({"DAYS_LATER": "0", **variables})
    ran = []
    status = pytest.main(["-q", "-p", "no:cacheprovider", sys.argv[1]], plugins=[Ran()])
    outcomes.append([int(status), os.environ["KAPI_TEST_SEED"], ran])
print(json.dumps(outcomes))
"""


@pytest.fixture
def run(root, tmp_path):
    """Run a suite beside the repository's conftest.py, with some variables at a time: status, seed, and what ran."""
    shutil.copy(root / "conftest.py", tmp_path)
    (tmp_path / "test_suite.py").write_text(SUITE, "utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = nightly(one_in=None, at_night=None): x\n", "utf-8")

    def run_suite(*variables):
        command = [sys.executable, "-c", LOOP, str(tmp_path), json.dumps(variables)]
        environment = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, cwd=tmp_path)
        return json.loads(done.stdout.splitlines()[-1]), done.stderr

    return run_suite


def test_sample_is_the_same_on_every_day_and_for_every_seed(run):
    (today, later, (*_, of_a_seed)), _ = run({}, {"DAYS_LATER": "365"}, {"KAPI_TEST_SEED": "7"})
    assert today == later
    assert today[2] == of_a_seed
    counts = Counter(name.partition("[")[0] for name in of_a_seed)
    assert counts == {"test_sampled": 2, "test_few": 1, "test_huge": 1, "test_mixed": 1, "test_combined": 4}


def test_sample_of_a_night_is_repeated_by_its_seed(run):
    ((_, seed, first), (_, other, _)), _ = run({"KAPI_NIGHTLY": "1"}, {"KAPI_NIGHTLY": "1", "DAYS_LATER": "1"})
    assert seed != other
    ((_, _, again),), _ = run({"KAPI_NIGHTLY": "1", "KAPI_TEST_SEED": seed})
    assert first == again


def test_nightly_tests_are_run_in_full(run):
    ((_, _, alone), (_, _, everything)), _ = run({"KAPI_NIGHTLY": "1"}, {"KAPI_NIGHTLY": "all"})
    assert len(alone) == 20 + 3 + 4 + 1 + 1 + 12
    assert set(everything) == {*alone, "test_mixed[0]", *(f"test_huge[{n}]" for n in range(20))}


def test_draws_of_hypothesis_follow_the_seed_alone(root, tmp_path):
    """Whatever the variables are by which it knows a machine of continuous integration."""
    shutil.copy(root / "conftest.py", tmp_path)
    (tmp_path / "test_draws.py").write_text(DRAWS, "utf-8")
    unset = {name: value for name, value in os.environ.items() if not name.startswith(("KAPI_", "CI", "GITHUB_"))}

    def drawn(**variables):
        file = tmp_path / "_".join(["drawn", *variables.values()])
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", os.devnull, str(tmp_path)]
        subprocess.run(command, check=True, env=unset | {"DRAWN": str(file)} | variables, cwd=tmp_path)
        return file.read_text("utf-8")

    by_default = drawn()
    assert by_default.count("\n") == 30
    assert by_default == drawn(CI="true")
    assert drawn(CI="true", KAPI_TEST_SEED="7") != drawn(CI="true", KAPI_TEST_SEED="8")
