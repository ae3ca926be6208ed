"""Hands the submission to the tests: ``pytest --submission submissions/ada.py``."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

pytest_plugins = ["kapi_sim.testing.plugin"]


def pytest_addoption(parser):
    parser.addoption("--submission", type=Path, default=Path(__file__).with_name("submissions") / "ada.py")


@pytest.fixture
def stencil(request):
    """The kernel that the course asked for."""
    return runpy.run_path(str(request.config.getoption("--submission")))["stencil"]
