"""Sizes and lines of the page of installation."""

from __future__ import annotations

import re
from pathlib import Path

from packaging.requirements import Requirement
from tools import code_blocks, install_lines

ROOT = Path(__file__).parents[2]
OTHERS = {"kapi-sim[pytest]"}  # added to an environment that has the package


def rows(text):
    """The cells of each row of a page's tables."""
    return [re.findall(r"(?<=\|) ([^|]*) (?=\|)", line) for line in text.splitlines() if line.startswith("|")]


def test_every_line_of_installation_has_a_size_and_a_program():
    tables = rows((ROOT / "docs" / "install.md").read_text("utf-8").partition("## Sizes")[2])
    shown = {row[0] for row in tables if row and "pip install" in row[0]}
    lines = install_lines.lines(code_blocks.pages())
    made = [str(install_lines.Size(line, 0, (), 0)) for line in lines if all(part.startswith("kapi") for part in line)]
    assert {row.split(" | ")[0].strip("| ") for row in made} - shown <= {f'`pip install "{other}"`' for other in OTHERS}
    for line in lines:
        assert install_lines.programs_of(line)


def test_files_of_lines_for_a_clone_list_all_siblings_lowest_first(projects):
    """pip finds the packages of a clone where all are named, and builds each once."""
    files = sorted((ROOT / "install").glob("*.txt"))
    assert {("-r", f"install/{file.name}") for file in files} <= set(install_lines.lines(code_blocks.pages()))
    for file in files:
        named = [
            Requirement(word.removeprefix("./packages/"))
            for word in install_lines.required_by(file)
            if word.startswith("./packages/")
        ]
        names = [each.name for each in named]
        assert names == [name for name in projects if name in names], file.name
        for each in named:  # which grows by what its extras ask for
            project = projects[each.name]["project"]
            extras = [line for extra in each.extras for line in project["optional-dependencies"][extra]]
            needed = [Requirement(line) for line in (*project["dependencies"], *extras)]
            named += [other for other in needed if other.extras and other.name in projects]
            assert {other.name for other in needed if other.name in projects} <= set(names), file.name
