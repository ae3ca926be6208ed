"""Fixtures of the tests."""

from __future__ import annotations

import importlib.util
import linecache
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

# The tests' own programs, which are on no path: they run against the package that is installed.
_specification = importlib.util.spec_from_file_location("planted", Path(__file__).with_name("planted") / "__init__.py")
_package = importlib.util.module_from_spec(_specification)
sys.modules["planted"] = _package
_specification.loader.exec_module(_package)

collect_ignore = [] if hasattr(os, "fork") else ["test_forks.py"]  # Windows has no forks


@pytest.fixture
def line_with(request: pytest.FixtureRequest) -> Callable[[str], int]:
    """Return a function that finds the only line of the test's file that ends with a comment."""
    lines = request.path.read_text(encoding="utf-8").splitlines()

    def find(comment: str) -> int:
        found = [number for number, line in enumerate(lines, 1) if line.rstrip().endswith(comment)]
        assert len(found) == 1, f"one line must end with {comment!r}, got {found}"
        return found[0]

    return find


@pytest.fixture
def defined() -> Callable[..., dict[str, object]]:
    """Return a function that runs a source whose lines can be had, and returns the names that it made."""

    def run(source: str, **names: object) -> dict[str, object]:
        file = f"<source-{len(linecache.cache)}>"
        linecache.cache[file] = (len(source), None, source.splitlines(True), file)
        exec(compile(source, file, "exec"), names)
        return names

    return run
