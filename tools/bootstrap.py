"""Run nox on a machine that has Python and nothing else.

nox and uv are installed into a private environment under ``.nox/``; the user's own Python is left as it is.
Standard library only: this module runs before anything is installed.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Iterator
from pathlib import Path

__all__ = ["BootstrapError", "main", "program"]

# Bounded above, so that a later release cannot change what an old checkout does.
REQUIREMENTS = ("nox>=2026.10.20,<2027", "uv>=0.13.8,<0.14")

OLDEST_PYTHON = (3, 11)

# A user's settings that would reach into the environments: other folders to import from or to install to.
LEAKING_VARIABLES = ("PYTHONPATH", "PYTHONHOME", "PIP_TARGET", "PIP_PREFIX", "PIP_USER")


class BootstrapError(RuntimeError):
    """The private environment cannot be made; the message says what the machine lacks."""


def main(noxfile: Path, arguments: list[str]) -> int:
    """Run nox with `arguments` in the private environment and return its exit status.

    Parameters
    ----------
    noxfile : Path
        The file of sessions; the environments go into ``.nox`` beside it.
    arguments : list of str
        What nox is to be called with.

    Returns
    -------
    int
        The exit status of nox, or 1 with a message on standard error if its environment cannot be made.
    """
    nox_folder = noxfile.parent / ".nox"
    try:
        if sys.version_info < OLDEST_PYTHON:
            oldest, got = ".".join(map(str, OLDEST_PYTHON)), sys.version.split()[0]
            raise BootstrapError(f"Python must be {oldest} or later, got {got} at {sys.executable}")
        environment = child_environment(nox_folder)
        python = private_python(nox_folder, environment)
    except BootstrapError as error:
        print(f"noxfile.py: {error}", file=sys.stderr)
        return 1
    command = [str(python), "-m", "nox", "--noxfile", str(noxfile), *arguments]
    if os.name == "posix":
        sys.stdout.flush()
        os.execve(python, command, environment)
    return subprocess.call(command, env=environment)


def program(name: str) -> str:
    """Return the path of a program that is installed beside this Python.

    Parameters
    ----------
    name : str
        Its name without the ending that Windows gives to programs.

    Raises
    ------
    BootstrapError
        If there is none.
    """
    folder = Path(sys.executable).parent
    found = shutil.which(name, path=str(folder))
    if found is None:
        raise BootstrapError(f"{name} must be installed in {folder}, got none: run `python3 noxfile.py`, not nox alone")
    return found


def child_environment(nox_folder: Path) -> dict[str, str]:
    """Return the variables for nox: the user's, less what leaks, with a home folder that can be written.

    Parameters
    ----------
    nox_folder : Path
        Where a home folder is made if the user's is unset, empty or not writable.

    Returns
    -------
    dict of str to str
        The variables.
    """
    environment = {name: value for name, value in os.environ.items() if name not in LEAKING_VARIABLES}
    if os.name == "nt":
        # Files and pipes of the tests are UTF-8, which Windows' own encoding is not.
        environment.setdefault("PYTHONUTF8", "1")
    # Caches go to the home folder; without one, pip and uv would write to "/" or to a folder named "~".
    if os.name == "posix" and not os.access(environment.get("HOME", ""), os.W_OK):
        home = nox_folder / "home"
        home.mkdir(parents=True, exist_ok=True)
        environment["HOME"] = str(home)
    return environment


def private_python(nox_folder: Path, environment: dict[str, str]) -> Path:
    """Return the interpreter of a private environment that holds nox and uv, made or redone where needed.

    Parameters
    ----------
    nox_folder : Path
        The ``.nox`` folder.
    environment : dict of str to str
        Variables for the commands that are run.

    Returns
    -------
    Path
        The environment's interpreter.

    Raises
    ------
    BootstrapError
        If the environment cannot be made.
    """
    nox_folder.mkdir(exist_ok=True)
    home = nox_folder / f"bootstrap-{sys.version_info.major}.{sys.version_info.minor}"
    python = home / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    # Written last: without it an environment is half made; with another text it is out of date.
    marker = home / "complete"
    identity = "\n".join([str(home), sys.base_prefix, sys.version, *REQUIREMENTS])
    with _lock(nox_folder / "bootstrap.lock"):
        _discard_moved_environments(nox_folder)
        if not (python.exists() and marker.is_file() and marker.read_text("utf-8") == identity):
            print(f"noxfile.py: setting up nox in .nox/{home.name} (once)", file=sys.stderr)
            _make(home, python, environment)
            marker.write_text(identity, "utf-8")
    return python


@contextlib.contextmanager
def _lock(path: Path) -> Iterator[None]:
    """Let one process at a time in; where the platform has no file locks, let all in."""
    with path.open("a") as handle:
        with contextlib.suppress(ImportError):
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _discard_moved_environments(nox_folder: Path) -> None:
    """Remove every environment if the folder was copied or moved: their scripts hold absolute paths."""
    recorded = nox_folder / "location"
    if recorded.is_file() and recorded.read_text("utf-8") != str(nox_folder):
        for entry in nox_folder.iterdir():
            if entry.is_dir() and entry.name != "home":
                shutil.rmtree(entry, ignore_errors=True)
    recorded.write_text(str(nox_folder), "utf-8")


def _make(home: Path, python: Path, environment: dict[str, str]) -> None:
    shutil.rmtree(home, ignore_errors=True)
    if importlib.util.find_spec("ensurepip"):
        with_pip, pip = True, [str(python), "-m", "pip"]
    elif importlib.util.find_spec("pip"):
        # Debian can have pip without ensurepip; pip then installs into the other environment from here.
        with_pip, pip = False, [sys.executable, "-m", "pip", "--python", str(python)]
    else:
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        raise BootstrapError(
            f"Python must have the ensurepip module, got {sys.executable} without it; on Debian and Ubuntu "
            f"install the package python{version}-venv (apt-get install python{version}-venv), then run this "
            "command again"
        )
    try:
        venv.EnvBuilder(symlinks=os.name == "posix", with_pip=with_pip).create(home)
        subprocess.run(
            [*pip, "install", "--quiet", "--disable-pip-version-check", "--no-input", *REQUIREMENTS],
            env=environment,
            stdin=subprocess.DEVNULL,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError) as error:
        raise BootstrapError(
            f"nox and uv must be installable into {home}, got: {error}; check that the package index can be "
            "reached (python3 -m pip download nox) and run this command again"
        ) from error
