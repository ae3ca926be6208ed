"""Lines of installation: their sizes, files and times, and what the first pages say of them; the picture of speed."""

from __future__ import annotations

import re
import runpy
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from tools import code_blocks, install_lines
from tools.packages import DISTRIBUTIONS

ROOT = Path(__file__).parents[2]
DOORS = {
    "learn/index.md": "pip install ./packages/kapi-sim",
    "offload.md": "pip install -r install/njit-cpu.txt",
    "device/first_kernel.md": "pip install -r install/cpu.txt",
}
"""The first pages that a newcomer reads, each with its line of installation."""
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


def test_files_of_lines_for_a_clone_list_all_siblings_lowest_first():
    """pip finds the packages of a clone where all are named, and builds each once."""
    packages = {dist: (ROOT / "packages" / dist / "pyproject.toml").read_text("utf-8") for dist in DISTRIBUTIONS}
    projects = {dist: tomllib.loads(text)["project"] for dist, text in packages.items()}
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
            project = projects[each.name]
            extras = [line for extra in each.extras for line in project["optional-dependencies"][extra]]
            needed = [Requirement(line) for line in (*project["dependencies"], *extras)]
            named += [other for other in needed if other.extras and other.name in projects]
            assert {other.name for other in needed if other.name in projects} <= set(names), file.name


def first_results():
    """The rows of the table of times, by the line of installation."""
    text = (ROOT / "docs" / "install.md").read_text("utf-8")
    table = text.partition("## Minutes to the first result\n")[2].partition("\n## ")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines() if "`pip" in line]
    return {row[1].strip("`"): row for row in rows}


def test_each_line_for_a_clone_has_the_time_to_its_first_result():
    lines = {f"pip install -r install/{file.name}" for file in (ROOT / "install").glob("*.txt")}
    assert set(first_results()) == lines | {"pip install ./packages/kapi-sim"}


@pytest.mark.parametrize(("page", "line"), DOORS.items())
def test_first_page_says_limits_installation_and_time_before_its_first_program(page, line):
    begin = (ROOT / "docs" / page).read_text("utf-8").partition("```python")[0]
    told = ["**Limits.**", f"`{line}`", "install.md#minutes-to-the-first-result", f"{first_results()[line][2]} MB"]
    assert [each for each in (*told, "`python first.py`") if each not in begin] == []


def test_picture_of_speed_has_the_figures_of_the_page():
    module = runpy.run_path(str(ROOT / "benchmarks" / "speed_picture.py"))
    assert module["PICTURE"].read_text("utf-8") == module["drawn"](), "python benchmarks/speed_picture.py draws it anew"
    page = (ROOT / "docs" / "benchmarks.md").read_text("utf-8")
    rows = re.findall(r"^\| ([^|]+) \|(?: \d+ \|)? ([\d.]+) \|", page, re.MULTILINE)
    for device, peers in module["GROUPS"]:
        for peer, speed in peers:
            found = {float(value) for name, value in rows if name.startswith(peer.partition(",")[0])}
            assert speed in found, f"{device}: {peer}"
