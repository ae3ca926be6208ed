"""The README's tables of systems and sizes, which the documentation's first page includes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tools import code_blocks, install_lines

ROOT = Path(__file__).parents[2]
BEGIN, END = "<!-- the tables of systems and sizes -->", "<!-- until here: systems and sizes -->"
OTHERS = {"kapi-sim[pytest]"}  # added to an environment that has the package


@pytest.fixture(scope="module")
def tables():
    inside = (ROOT / "README.md").read_text("utf-8").partition(BEGIN)[2].partition(END)[0]
    return [re.findall(r"(?<=\|) ([^|]*) (?=\|)", line) for line in inside.splitlines() if line.startswith("|")]


def test_first_page_of_the_documentation_includes_the_tables():
    page = (ROOT / "docs" / "index.md").read_text("utf-8")
    assert f"```{{include}} ../README.md\n:start-after: {BEGIN}\n:end-before: {END}\n```" in page


def test_systems_are_tested_expected_or_not(tables):
    systems = {row[0]: row[1:] for row in tables if row and row[0].startswith(("Linux", "Windows", "macOS"))}
    assert len(systems) == 4
    assert {cell for row in systems.values() for cell in row} == {"tested", "expected", "not"}
    assert {name for name, row in systems.items() if "tested" in row} == {"Linux, x86-64"}, "as the classifiers say"


def test_every_line_of_installation_has_a_size_and_a_program(tables):
    shown = {row[0] for row in tables if row and "pip install" in row[0]}
    lines = install_lines.lines(code_blocks.pages())
    rows = [str(install_lines.Size(line, 0, (), 0)) for line in lines if all(part.startswith("kapi") for part in line)]
    assert {row.split(" | ")[0].strip("| ") for row in rows} - shown <= {f'`pip install "{other}"`' for other in OTHERS}
    for line in lines:
        assert install_lines.programs_of(line)
