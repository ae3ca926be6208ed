"""The lesson on a program of others: each summary on the page is what the command prints for that stage."""

from __future__ import annotations

from pathlib import Path

import pytest
from tools import code_blocks

from kapi_sim.__main__ import main

PAGE = Path(__file__).parents[2] / "docs/learn/check_a_program.md"


@pytest.fixture
def checked(tmp_path, monkeypatch, capsys):
    """A function that checks a program: the command's status, its report, and its lines of summary."""
    monkeypatch.chdir(tmp_path)

    def check(text):
        Path("smooth.py").write_text(text, "utf-8")
        status = main(["check", "smooth.py"])
        report = capsys.readouterr().err
        said = [line for line in report.splitlines() if line.startswith("kapi_sim: ")]
        return status, report, [line for line in said if "Numba is not installed" not in line]

    return check


def test_each_stage_is_as_the_page_says(checked):
    blocks = [block.code for block in code_blocks.blocks(PAGE)]
    program, mended = (code for code in blocks if "tile[t + 1]" in code)
    summaries = [code.splitlines() for code in blocks if code.startswith("kapi_sim: ")]
    (hint,) = (code.rstrip() for code in blocks if code.startswith("  a `cuda.syncthreads()`"))
    status, _, said = checked(program)
    assert (status, said) == (1, summaries[0])
    body = program[program.index("    tile[t + 1] = ") : program.index("\n\nn = 20")].rstrip()
    program = program.replace(body, mended.rstrip())
    status, report, said = checked(program)
    assert (status, said) == (1, summaries[1])
    assert hint in report
    status, _, said = checked(program.replace("    if i <= last:", "    cuda.syncthreads()\n    if i <= last:"))
    assert (status, said) == (0, summaries[2])
