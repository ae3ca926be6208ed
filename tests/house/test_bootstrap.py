from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path

import pytest
from tools import bootstrap


@pytest.fixture
def made(monkeypatch):
    """Record the environments that are made, as empty ones with an interpreter."""
    record: list[Path] = []

    def make(home: Path, python: Path, environment: dict[str, str]) -> None:
        record.append(home)
        python.parent.mkdir(parents=True, exist_ok=True)
        if not python.exists():
            python.symlink_to(sys.executable)

    monkeypatch.setattr(bootstrap, "_make", make)
    return record


def test_environment_is_made_once(tmp_path, made):
    folder = tmp_path / "with space" / ".nox"
    folder.parent.mkdir()
    assert bootstrap.private_python(folder, {}) == bootstrap.private_python(folder, {})
    assert made == [folder / f"bootstrap-{sys.version_info.major}.{sys.version_info.minor}"]


def test_half_made_environment_is_redone(tmp_path, made):
    python = bootstrap.private_python(tmp_path, {})
    (python.parents[1] / "complete").unlink()
    bootstrap.private_python(tmp_path, {})
    assert len(made) == 2


def test_environment_of_other_tools_is_redone(tmp_path, made, monkeypatch):
    bootstrap.private_python(tmp_path, {})
    monkeypatch.setattr(bootstrap, "REQUIREMENTS", ("nox==0",))
    bootstrap.private_python(tmp_path, {})
    assert len(made) == 2


def test_moved_environments_are_discarded_but_not_the_home(tmp_path, made):
    before, after = tmp_path / "before", tmp_path / "after"
    bootstrap.private_python(before, {})
    (before / "tests").mkdir()
    (before / "home").mkdir()
    before.rename(after)
    bootstrap.private_python(after, {})
    assert len(made) == 2
    assert not (after / "tests").exists()
    assert (after / "home").exists()


@pytest.mark.parametrize("home", ["", None, "/nonexistent/folder"])
def test_unusable_home_is_replaced(tmp_path, monkeypatch, home):
    monkeypatch.delenv("HOME", raising=False)
    if home is not None:
        monkeypatch.setenv("HOME", home)
    assert bootstrap.child_environment(tmp_path)["HOME"] == str(tmp_path / "home")
    assert (tmp_path / "home").is_dir()


def test_usable_home_is_kept_and_source_paths_are_not(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", "src")
    environment = bootstrap.child_environment(tmp_path / ".nox")
    assert environment["HOME"] == str(tmp_path)
    assert "PYTHONPATH" not in environment


def test_program_beside_this_python_is_found(tmp_path, monkeypatch):
    python, uv = tmp_path / "python", tmp_path / ("uv.exe" if os.name == "nt" else "uv")
    monkeypatch.setattr(sys, "executable", str(python))
    with pytest.raises(bootstrap.BootstrapError, match="uv must be installed in "):
        bootstrap.program("uv")
    uv.touch(0o755)
    assert Path(bootstrap.program("uv")) == uv


def test_windows_programs_speak_utf_8(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "name", "nt")
    assert bootstrap.child_environment(tmp_path)["PYTHONUTF8"] == "1"
    monkeypatch.setenv("PYTHONUTF8", "0")
    assert bootstrap.child_environment(tmp_path)["PYTHONUTF8"] == "0"


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
