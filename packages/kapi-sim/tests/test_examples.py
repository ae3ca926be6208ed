"""The examples run, and the README shows their real code and output."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import kapi_sim

PACKAGE = Path(__file__).resolve().parents[1]
EXAMPLES = sorted((PACKAGE / "examples").glob("*.py"))
MODULES = sorted(
    module.name for module in pkgutil.walk_packages(kapi_sim.__path__, "kapi_sim.") if "_cases" not in module.name
)


def output_of(example):
    result = subprocess.run([sys.executable, "-W", "error", str(example)], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_there_are_examples():
    assert len(EXAMPLES) >= 2


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs(example):
    assert len(output_of(example).splitlines()) > 5


def test_readme_shows_the_example_and_its_output():
    readme = (PACKAGE / "README.md").read_text()
    race = PACKAGE / "examples" / "race.py"
    assert output_of(race).rstrip() in readme
    code = readme.split("```python\n")[1].split("\n```")[0]
    assert code in race.read_text()


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples(name):
    module = importlib.import_module(name)
    outcome = doctest.testmod(module, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert outcome.failed == 0
