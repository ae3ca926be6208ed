"""The pytest plugin, run by a pytest of its own."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap

import pytest

SUITE = """
import numpy as np
import pytest

import kapi_sim as kapi


@kapi.kernel
def fill(nd_item: kapi.NdItem, a):
    a[nd_item.get_global_id(0)] = 1


@kapi.kernel
def race(nd_item: kapi.NdItem, a):
    a[0] = nd_item.get_local_id(0)


@kapi.kernel
def double(nd_item: kapi.NdItem, a):
    a[nd_item.get_global_id(0)] = nd_item.get_global_id(0) * np.float64(0.5)


SPACE = kapi.NdRange(4, 2)


def test_plain(kapi_checks):
    kapi.call_kernel(fill, SPACE, np.zeros(4, np.float32))
    assert kapi_checks.launches[0].kernel == "fill"
    assert len(kapi_checks.launches[0].checks) == 5


def test_race(kapi_checks):
    kapi.call_kernel(race, SPACE, np.zeros(4))


@pytest.mark.kapi(checks="none")
def test_unchecked(kapi_checks):
    kapi.call_kernel(race, SPACE, np.zeros(4))
    assert kapi_checks.launches[0].checks == frozenset()


@pytest.mark.kapi(orders=3, profiles=[None, "no-fp64"])
def test_profiles(kapi_checks):
    kapi.call_kernel(double, SPACE, np.zeros(4, np.float32))


@pytest.mark.kapi(profiles=[kapi.Profile(max_work_group_size=1)])
def test_own_profile(kapi_checks):
    with pytest.raises(kapi.LimitError):
        kapi.call_kernel(fill, SPACE, np.zeros(4, np.float32))


def test_without_the_fixture():
    pass
"""


def run(tmp_path, suite, *options):
    (tmp_path / "conftest.py").write_text('pytest_plugins = ["kapi_sim.testing.plugin"]\n', encoding="utf-8")
    (tmp_path / "test_suite.py").write_text(textwrap.dedent(suite), encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-rA",
        "--strict-markers",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:hypothesispytest",
        *options,
    ]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    return result.stdout + result.stderr


def test_suite_runs_by_checks_orders_and_profiles(tmp_path):
    output = run(tmp_path, SUITE)
    outcomes = {name: word for word, name in re.findall(r"^(PASSED|FAILED) test_suite.py::(\S+)", output, re.MULTILINE)}
    assert outcomes == {
        "test_plain[program-order]": "PASSED",
        "test_race[program-order]": "FAILED",
        "test_unchecked[program-order]": "PASSED",
        "test_profiles[program-order]": "PASSED",
        "test_profiles[seed1]": "PASSED",
        "test_profiles[seed2]": "PASSED",
        "test_profiles[program-order-no-fp64]": "FAILED",
        "test_profiles[seed1-no-fp64]": "FAILED",
        "test_profiles[seed2-no-fp64]": "FAILED",
        "test_own_profile[program-order-own-profile]": "PASSED",
        "test_without_the_fixture": "PASSED",
    }, output


def test_option_sets_the_orders(tmp_path):
    output = run(tmp_path, SUITE, "--kapi-orders=2", "-k", "test_plain or test_unchecked")
    assert "4 passed" in output
    assert "test_plain[seed1]" in output


@pytest.mark.parametrize(
    ("marker", "message"),
    [
        ("kapi(order=2)", "by name, got order"),
        ("kapi(orders=0)", "orders must be an integer of at least 1, got 0"),
        ("kapi(profiles=['gpu'])", "profiles must be Profile objects, None or of .*, got 'gpu'"),
    ],
)
def test_marker_is_validated(tmp_path, marker, message):
    output = run(tmp_path, f"import pytest\n@pytest.mark.{marker}\ndef test_it(kapi_checks): pass\n")
    assert re.search(message, output), output
