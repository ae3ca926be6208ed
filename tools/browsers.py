"""The browser of this machine: Chromium or what is built of it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

__all__ = ["HOW_TO_GET_ONE", "VARIABLE", "find"]

VARIABLE = "KAPI_BROWSER"
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
HOW_TO_GET_ONE = (
    f"a browser must be there, got none: install the package `chromium` (Debian: apt-get install chromium), or let "
    f"{VARIABLE} name the program of a Chromium or Chrome"
)


def find(environment: Mapping[str, str] = os.environ) -> str | None:
    """Return the browser's path: the one that the variable ``KAPI_BROWSER`` names, else the first on the path.

    Parameters
    ----------
    environment : mapping of str to str
        Environment variables.
    """
    named = environment.get(VARIABLE)
    if named:
        return named if Path(named).is_file() else shutil.which(named, path=environment.get("PATH", ""))
    found = (shutil.which(name, path=environment.get("PATH", "")) for name in NAMES)
    return next((path for path in found if path), None)
