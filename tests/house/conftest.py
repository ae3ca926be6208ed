from __future__ import annotations

import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# For the repository's own scripts, which are no package that could be installed.
sys.path.insert(0, str(ROOT))


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture(scope="session")
def projects() -> dict[str, dict]:
    """Each package's pyproject.toml by the name of its folder, lowest layer first."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    order = [module.replace("_", "-") for module in settings["tool"]["importlinter"]["root_packages"]]
    found = {path.parent.name: path for path in (ROOT / "packages").glob("*/pyproject.toml")}
    assert sorted(found) == sorted(order), "import-linter's root_packages must be the folders of packages/"
    return {dist: tomllib.loads(found[dist].read_text("utf-8")) for dist in order}
