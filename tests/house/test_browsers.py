"""How the session `browser` finds a browser."""

from __future__ import annotations

import os

import pytest
from tools import browsers


@pytest.fixture
def folder(tmp_path):
    for name in ("google-chrome", "of-my-own"):
        program = tmp_path / (f"{name}.exe" if os.name == "nt" else name)
        program.write_text("", "utf-8")
        program.chmod(0o755)
    return tmp_path


def test_browser_on_the_path_is_found(folder):
    found = browsers.find({"PATH": str(folder)})
    assert found is not None
    assert found.startswith(str(folder / "google-chrome"))


def test_browser_that_the_variable_names_comes_first(folder):
    program = next(folder.glob("of-my-own*"))
    assert browsers.find({"PATH": str(folder), "KAPI_BROWSER": str(program)}) == str(program)
    assert browsers.find({"PATH": str(folder), "KAPI_BROWSER": str(folder / "missing")}) is None


def test_no_browser_is_told_with_the_package(tmp_path):
    assert browsers.find({"PATH": str(tmp_path)}) is None
    assert "apt-get install chromium" in browsers.HOW_TO_GET_ONE
