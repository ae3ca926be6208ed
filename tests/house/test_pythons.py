from __future__ import annotations

import sys

from tools import pythons


def test_supported_versions_are_those_of_the_classifiers(projects):
    for dist, project in projects.items():
        prefix = "Programming Language :: Python :: 3."
        named = [line.rpartition(" ")[2] for line in project["project"]["classifiers"] if line.startswith(prefix)]
        assert named == list(pythons.SUPPORTED), dist
        assert project["project"]["requires-python"] == f">={pythons.SUPPORTED[0]}", dist


def test_running_python_is_found():
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    (found,) = pythons.find([version]).values()
    assert found.exists()


def test_versions_that_must_be_found_are_read_from_the_variable():
    assert pythons.wanted({}) == ()
    assert pythons.wanted({"KAPI_PYTHONS": "3.11, 3.13,"}) == ("3.11", "3.13")
