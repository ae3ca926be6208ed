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
SHARES = 12  # of which a night takes one: with and without the package all of them take two hours and a half
ONE_CLASS = {"numba.tests.test_parfors.TestParforsBitMask": 6}

RUN = """
import json, os, sys, unittest, zlib
import numba
import _kapi_numba_hooks, _kapi_types_hooks
if sys.argv[1] == "with":
    # As Numba itself installs it: importing the package would load dpctl, and with it a TBB that Numba then finds.
    numba.njit(lambda: 0)()
    assert _kapi_numba_hooks.is_installed()
else:
    _kapi_numba_hooks.remove()
    _kapi_types_hooks.unregister()
def tests_of(suite):
    for each in suite:
        if isinstance(each, unittest.TestSuite):
            yield from tests_of(each)
        else:
            yield each
share, shares, *names = json.loads(sys.argv[2])
listed = tests_of(unittest.defaultTestLoader.loadTestsFromNames(names))
suite = unittest.TestSuite(test for test in listed if zlib.crc32(test.id().encode()) % shares == share)
result = unittest.TextTestRunner(stream=sys.stderr).run(suite)
counts = {"run": result.testsRun, "skipped": len(result.skipped)}
counts["failed"] = sorted(test.id() for test, _ in (*result.failures, *result.errors))
print(json.dumps(counts))
"""


def counts(mode, names, share, shares):
    # Without SUBPROC_TEST nearly all of them skip in silence.
    environment = {**os.environ, "SUBPROC_TEST": "1"}
    command = [sys.executable, "-c", RUN, mode, json.dumps([share, shares, *names])]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout.strip().splitlines()[-1])


def compare(listed, share=0, shares=1):
    found = {mode: counts(mode, listed, share, shares) for mode in ("with", "without")}
    assert found["with"] == found["without"]
    # A hash makes the shares, so they differ in size.
    assert found["with"]["run"] >= sum(listed.values()) // (shares if shares == 1 else 2 * shares)
    return found["with"]


@pytest.mark.sycl
def test_one_class_of_numba_tests_passes():
    """All of one class run, with the package and without it."""
    found = compare(ONE_CLASS)
    assert (found["skipped"], found["failed"]) == (0, [])


@pytest.mark.nightly
def test_numba_tests_give_the_same_counts():
    """A share of 550 tests, another each night: the same run, skipped and failed with the package and without it."""
    compare(ALL, int(os.environ.get("KAPI_TEST_SEED", "0")) % SHARES, SHARES)
