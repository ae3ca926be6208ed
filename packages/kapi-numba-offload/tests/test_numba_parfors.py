"""Numba's own tests of parallel code give the same counts with this package and without it."""

import json
import os
import subprocess
import sys

import pytest

ALL = {
    "numba.tests.test_parfors": 293,
    "numba.tests.test_stencils": 119,
    "numba.tests.test_parallel_backend": 104,
    "numba.tests.test_parfors_passes": 30,
    "numba.tests.test_parfors_caching": 4,
}
ONE_CLASS = {"numba.tests.test_parfors.TestParforsBitMask": 6}

RUN = """
import json, sys, unittest
import numba
import _kapi_numba_hooks, _kapi_types_hooks
if sys.argv[1] == "with":
    # As Numba itself installs it: importing the package would load dpctl, and with it a TBB that Numba then finds.
    numba.njit(lambda: 0)()
    assert _kapi_numba_hooks.is_installed()
else:
    _kapi_numba_hooks.remove()
    _kapi_types_hooks.remove()
suite = unittest.defaultTestLoader.loadTestsFromNames(sys.argv[2:])
result = unittest.TextTestRunner(stream=sys.stderr).run(suite)
counts = {"run": result.testsRun, "skipped": len(result.skipped)}
counts["failed"] = sorted(test.id() for test, _ in (*result.failures, *result.errors))
print(json.dumps(counts))
"""


def counts(mode, names):
    # Without SUBPROC_TEST nearly all of them skip in silence.
    environment = {**os.environ, "SUBPROC_TEST": "1"}
    done = subprocess.run(
        [sys.executable, "-c", RUN, mode, *names], capture_output=True, text=True, check=False, env=environment
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout.strip().splitlines()[-1])


def compare(listed):
    found = {mode: counts(mode, listed) for mode in ("with", "without")}
    assert found["with"] == found["without"]
    assert found["with"]["run"] >= sum(listed.values())
    return found["with"]


def test_one_class_of_numbas_tests_passes():
    """All of one class run, with the package and without it."""
    found = compare(ONE_CLASS)
    assert (found["skipped"], found["failed"]) == (0, [])


@pytest.mark.nightly
def test_all_of_numbas_tests_give_the_same_counts():
    """550 tests: the same run, skipped and failed with the package and without it."""
    compare(ALL)
