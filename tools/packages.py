"""The distributions of this repository, lowest layer first: `root_packages` of import-linter, in `pyproject.toml`."""

from __future__ import annotations

import tomllib
from pathlib import Path

__all__ = ["DISTRIBUTIONS", "MODULES"]

_SETTINGS = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text("utf-8"))
MODULES: tuple[str, ...] = tuple(_SETTINGS["tool"]["importlinter"]["root_packages"])
"""The package that each distribution has."""
DISTRIBUTIONS = tuple(module.replace("_", "-") for module in MODULES)
"""In the order in which they are released: a package asks for those before it alone."""
