from __future__ import annotations

import sys
from pathlib import Path

from tools import places

PYTHON = f"py{sys.version_info.major}.{sys.version_info.minor}"


def test_environments_are_in_the_repository():
    assert places.environments(Path("/a/kapi")) == Path("/a/kapi/.nox") / PYTHON


def test_environments_leave_a_path_with_a_space():
    found = places.environments(Path("/a b/kapi"), cache=Path("/cache"))
    assert found.parts[:3] == ("/", "cache", "kapi-nox")
    assert found.name == PYTHON
    assert found != places.environments(Path("/a c/kapi"), cache=Path("/cache"))


def test_environments_stay_if_there_is_no_path_without_a_space():
    assert places.environments(Path("/a b/kapi"), cache=Path("/c d")) == Path("/a b/kapi/.nox") / PYTHON


def test_environments_of_another_python_are_in_their_own_folder():
    assert places.environments(Path("/a/kapi"), version="3.99") == Path("/a/kapi/.nox/py3.99")
