"""The folder of the sessions' environments."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

__all__ = ["folder"]


def folder(root: Path, cache: Path | None = None, version: str | None = None) -> Path:
    """Return the folder for the environments of one Python.

    It is below ``.nox``, or below the user's cache if the repository's path has a space: Intel's OpenCL driver looks
    for its parts where its own path, cut at the first space, points to, and then makes no context.

    Parameters
    ----------
    root : Path
        The repository.
    cache : Path, optional
        The user's cache, ``~/.cache`` if not given.
    version : str, optional
        That Python's, such as ``"3.12"``; the one that runs this if not given.

    Returns
    -------
    Path
        A folder for this version of Python alone: nox would reuse an environment of another.
    """
    python = f"py{version or f'{sys.version_info.major}.{sys.version_info.minor}'}"
    inside = root / ".nox" / python
    if " " not in str(inside):
        return inside
    name = hashlib.sha256(str(root).encode()).hexdigest()[:12]
    outside = (cache or Path.home() / ".cache") / "kapi-nox" / name / python
    # A home with a space too leaves no better folder: what needs no device works there all the same.
    return inside if " " in str(outside) else outside
