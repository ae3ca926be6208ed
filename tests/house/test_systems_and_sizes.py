"""The README's tables of systems and sizes: the documentation's first page has them, and the tools measure them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tools import code_blocks, install_lines, installed_sizes

ROOT = Path(__file__).parents[2]
BEGIN, END = "<!-- the tables of systems and sizes -->", "<!-- until here: systems and sizes -->"
OTHERS = ("kapi-runtime[dpnp]", "kapi-sim[pytest]")  # added to an environment that has the package


@pytest.fixture(scope="module")
def tables():
    _, begin, rest = (ROOT / "README.md").read_text("utf-8").partition(BEGIN)
    inside, end, _ = rest.partition(END)
    assert begin
    assert end
    return [re.findall(r"(?<=\|) ([^|]*) (?=\|)", line) for line in inside.splitlines() if line.startswith("|")]


def test_first_page_of_the_documentation_includes_the_tables():
    page = (ROOT / "docs" / "index.md").read_text("utf-8")
    assert f"```{{include}} ../README.md\n:start-after: {BEGIN}\n:end-before: {END}\n```" in page


def test_systems_are_tested_expected_or_not(tables):
    systems = {row[0]: row[1:] for row in tables if row and row[0].startswith(("Linux", "Windows", "macOS"))}
    assert len(systems) == 4
    assert {cell for row in systems.values() for cell in row} == {"tested", "expected", "not"}
    assert {name for name, row in systems.items() if "tested" in row} == {"Linux, x86-64"}, "as the classifiers say"


def test_sizes_are_those_of_the_lines_that_are_measured(tables):
    shown = [row for row in tables if row and "pip install" in row[0]]
    measured = [installed_sizes.Size(line, 0, (), 0) for line in installed_sizes.LINES]
    assert [row[0] for row in shown] == [installed_sizes.row(size).split(" | ")[0].strip("| ") for size in measured]
    for row in shown:
        assert re.fullmatch(r"\d+", row[1])
        assert re.fullmatch(r"\d+", row[2])


def test_every_line_of_installation_that_pages_name_has_a_size():
    lines = [" ".join(line) for line in install_lines.lines(code_blocks.pages()) if all(map(is_ours, line))]
    assert len(lines) > 8
    assert set(lines) <= {*installed_sizes.LINES, *OTHERS}


def is_ours(requirement):
    return requirement.startswith("kapi")


def test_every_line_of_installation_that_pages_name_has_a_program():
    for line in install_lines.lines(code_blocks.pages()):
        assert install_lines.programs_of(line)


def test_lines_of_installation_are_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text('`pip install kapi-sim`. Or\n\npip install kapi-x "kapi-y[a,b]"  # this\n', "utf-8")
    assert install_lines.lines([page]) == [("kapi-sim",), ("kapi-x", "kapi-y[a,b]")]


def test_bytes_are_summed_and_links_count_nothing(tmp_path):
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "a.so").write_bytes(b"12345")
    (tmp_path / "b").write_bytes(b"123")
    (tmp_path / "lib64").symlink_to("lib", target_is_directory=True)
    (tmp_path / "c").symlink_to("b")
    assert installed_sizes.nbytes(tmp_path) == 8


def test_row_has_megabytes():
    size = installed_sizes.Size("kapi-numba-offload kapi-runtime[cpu]", 3_192_400_000, (("mkl", 687e6), ("x", 6e5)), 27)
    assert installed_sizes.row(size) == (
        '| `pip install kapi-numba-offload "kapi-runtime[cpu]"` | 3192 | 27 | mkl 687, x 0.6 |'
    )
