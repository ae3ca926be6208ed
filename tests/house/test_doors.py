"""The documentation's first page and its three doors: what a newcomer reads in the first hour."""

from __future__ import annotations

import pytest

DOORS = {
    "learn/index.md": "pip install ./packages/kapi-sim",
    "offload.md": "pip install -r install/njit-cpu.txt",
    "device/first_kernel.md": "pip install -r install/cpu.txt",
}


def section(text, title):
    return text.partition(f"## {title}\n")[2].partition("\n## ")[0]


def first_results(root):
    """The rows of the table of times, by the line of installation."""
    table = section((root / "docs" / "install.md").read_text("utf-8"), "Minutes to the first result")
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines() if "`pip" in line]
    return {row[1].strip("`"): row for row in rows}


def test_each_line_for_a_clone_has_the_time_to_its_first_result(root):
    lines = {f"pip install -r install/{file.name}" for file in (root / "install").glob("*.txt")}
    assert set(first_results(root)) == lines | {"pip install ./packages/kapi-sim"}


@pytest.mark.parametrize(("page", "line"), DOORS.items())
def test_first_page_of_a_door_says_limits_installation_and_time_before_its_first_program(root, page, line):
    text = (root / "docs" / page).read_text("utf-8")
    begin = text.partition("```python")[0]
    assert "**Limits.**" in begin
    assert f"`{line}`" in begin
    assert "install.md#minutes-to-the-first-result" in begin
    download = first_results(root)[line][2]
    assert f"{download} MB" in begin
    assert "`python first.py`" in begin
