from __future__ import annotations

from tools import interpreters


def test_supported_versions_are_those_of_the_classifiers(projects):
    for dist, project in projects.items():
        prefix = "Programming Language :: Python :: 3."
        named = [line.rpartition(" ")[2] for line in project["project"]["classifiers"] if line.startswith(prefix)]
        assert named == list(interpreters.SUPPORTED), dist
        assert project["project"]["requires-python"] == f">={interpreters.SUPPORTED[0]}", dist


def test_versions_that_must_be_found_are_read_from_the_variable():
    assert interpreters.wanted({}) == ()
    assert interpreters.wanted({"KAPI_PYTHONS": "3.11, 3.13,"}) == ("3.11", "3.13")
