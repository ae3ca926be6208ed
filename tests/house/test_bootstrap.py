"""`python3 noxfile.py` on the machines that contributors have."""

from __future__ import annotations

import importlib.util
import sys

import pytest
from tools import bootstrap


@pytest.mark.parametrize("home", ["", None, "/nonexistent/folder"])
def test_unusable_home_is_replaced(tmp_path, monkeypatch, home):
    monkeypatch.delenv("HOME", raising=False)
    if home is not None:
        monkeypatch.setenv("HOME", home)
    assert bootstrap.child_environment(tmp_path)["HOME"] == str(tmp_path / "home")
    assert (tmp_path / "home").is_dir()


def test_source_paths_do_not_reach_the_sessions(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", "src")
    assert "PYTHONPATH" not in bootstrap.child_environment(tmp_path)


def test_old_python_is_an_error_that_names_the_oldest(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "version_info", (3, 10, 13))
    assert bootstrap.main(tmp_path / "noxfile.py", []) == 1
    assert "Python must be 3.11 or later, got " in capsys.readouterr().err


def test_missing_ensurepip_and_pip_is_an_error_that_names_the_package(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert bootstrap.main(tmp_path / "noxfile.py", []) == 1
    message = capsys.readouterr().err
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    assert "Python must have the ensurepip module" in message
    assert f"apt-get install python{version}-venv" in message
