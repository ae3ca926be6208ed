"""The interpreters of this machine, by version."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

__all__ = ["SUPPORTED", "candidates", "find", "running", "wanted"]

SUPPORTED = ("3.11", "3.12", "3.13")
"""The versions that the classifiers of the packages name: each of them is tested."""

# Printed by an interpreter that can be used: CPython, and with the GIL, which Numba's and dpctl's wheels are built for.
_PROBE = """
import platform, sys, sysconfig
is_usual = platform.python_implementation() == "CPython" and not sysconfig.get_config_var("Py_GIL_DISABLED")
print(f"{sys.version_info[0]}.{sys.version_info[1]}" if is_usual else "another")
"""


def running() -> str:
    """Return the version of the Python that runs this, such as ``"3.11"``."""
    return f"{sys.version_info.major}.{sys.version_info.minor}"


def wanted(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the versions that must be found, from ``KAPI_PYTHONS``; none if it is not set.

    Parameters
    ----------
    environment : mapping of str to str
        Environment variables.
    """
    return tuple(part.strip() for part in environment.get("KAPI_PYTHONS", "").split(",") if part.strip())


def find(versions: Iterable[str]) -> dict[str, Path]:
    """Look for an interpreter of each version and return those found, in the order of `versions`.

    Parameters
    ----------
    versions : iterable of str
        Such as ``"3.12"``.
    """
    found = {}
    for version in versions:
        working = (path for path in candidates(version) if _version(path) == version)
        path = next(working, None)
        if path is not None:
            found[version] = path
    return found


def candidates(version: str) -> Iterator[Path]:
    """Give the paths where an interpreter of a version may be, the Python that runs this first.

    Parameters
    ----------
    version : str
        Such as ``"3.12"``.
    """
    if version == running():
        # Of a virtual environment, what it was made from.
        yield Path(getattr(sys, "_base_executable", None) or sys.executable)
    names = [f"python{version}", "python3", "python"]
    folders = [*os.environ.get("PATH", "").split(os.pathsep), "/usr/bin", "/usr/local/bin"]
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    # Newest patch release first. What pyenv puts on PATH works for the versions alone that the user has switched on.
    installed = sorted((pyenv / "versions").glob(f"{version}.*"), key=_patch, reverse=True)
    for folder in [*map(Path, filter(None, folders)), *(each / "bin" for each in installed)]:
        for name in names:
            path = folder / (f"{name}.exe" if os.name == "nt" else name)
            if os.access(path, os.X_OK):
                yield path
    uv = shutil.which("uv", path=str(Path(sys.executable).parent)) or shutil.which("uv")
    if uv is not None:
        command = [uv, "python", "find", "--no-project", "--no-python-downloads", "--managed-python", version]
        answer = subprocess.run(command, capture_output=True, text=True, check=False)
        if answer.returncode == 0:
            yield Path(answer.stdout.strip())


def _patch(folder: Path) -> tuple[int, ...]:
    last = folder.name.rpartition(".")[2]
    return (int(last),) if last.isdigit() else (-1,)  # a pre-release, or a build with another name


def _version(path: Path) -> str:
    """Version that an interpreter reports; empty if it does not run."""
    try:
        answer = subprocess.run([path, "-I", "-c", _PROBE], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return answer.stdout.strip() if answer.returncode == 0 else ""
