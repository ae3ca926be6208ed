from __future__ import annotations

import sys

from tools import interpreters


def test_supported_versions_are_those_of_the_classifiers(projects):
    for dist, project in projects.items():
        prefix = "Programming Language :: Python :: 3."
        named = [line.rpartition(" ")[2] for line in project["project"]["classifiers"] if line.startswith(prefix)]
        assert named == list(interpreters.SUPPORTED), dist
        assert project["project"]["requires-python"] == f">={interpreters.SUPPORTED[0]}", dist


def test_running_python_is_found():
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    (found,) = interpreters.find([version]).values()
    assert found.exists()


def test_versions_that_must_be_found_are_read_from_the_variable():
    assert interpreters.wanted({}) == ()
    assert interpreters.wanted({"KAPI_PYTHONS": "3.11, 3.13,"}) == ("3.11", "3.13")
