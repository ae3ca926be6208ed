"""The interpreters that the sessions find."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tools import pythons


@pytest.fixture
def machine(monkeypatch, tmp_path):
    """A machine with the folders of this test on PATH and in pyenv, and nothing else that is looked at."""
    monkeypatch.setenv("PATH", f"{tmp_path / 'shims'}:{tmp_path / 'bin'}")
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "pyenv"))
    monkeypatch.setattr(pythons, "running", lambda: "3.0")

    def put(place: str, prints: str, status: int = 0) -> Path:
        path = tmp_path / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\necho {prints}\nexit {status}\n")
        path.chmod(0o755)
        return path

    return put


def test_supported_versions_are_those_of_the_classifiers(projects):
    for dist, project in projects.items():
        prefix = "Programming Language :: Python :: 3."
        named = [line.rpartition(" ")[2] for line in project["project"]["classifiers"] if line.startswith(prefix)]
        assert named == list(pythons.SUPPORTED), dist
        assert project["project"]["requires-python"] == f">={pythons.SUPPORTED[0]}", dist


def test_running_python_is_found():
    version = pythons.running()
    (found,) = pythons.find([version]).values()
    assert found.exists()
    assert version == f"{sys.version_info.major}.{sys.version_info.minor}"


def test_shim_of_a_version_that_is_switched_off_is_passed_over(machine):
    machine("shims/python3.99", "'command not found'", status=127)
    wanted = machine("pyenv/versions/3.99.10/bin/python3.99", "3.99")
    machine("pyenv/versions/3.99.9/bin/python3.99", "3.99")
    assert pythons.find(["3.98", "3.99"]) == {"3.99": wanted}


def test_plain_name_counts_for_the_version_that_it_is(machine):
    wanted = machine("bin/python3", "3.99")
    assert pythons.find(["3.99"]) == {"3.99": wanted}


def test_builds_without_the_gil_and_other_pythons_do_not_count(machine):
    machine("bin/python3.99", "another")
    assert pythons.find(["3.99"]) == {}


@pytest.mark.parametrize(
    ("value", "versions"), [(None, ()), ("", ()), ("3.11", ("3.11",)), ("3.11, 3.13,", ("3.11", "3.13"))]
)
def test_wanted_versions_are_read_from_the_variable(value, versions):
    assert pythons.wanted({} if value is None else {"KAPI_PYTHONS": value}) == versions
