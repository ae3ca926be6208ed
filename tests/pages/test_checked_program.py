"""The summary on the page of checked programs is what the command prints for the program there."""

from __future__ import annotations

from pathlib import Path

import pytest
from tools import code_blocks

from kapi_sim.__main__ import main

PAGE = Path(__file__).parents[2] / "docs/coming_from/numba_cuda_checked.md"


@pytest.fixture
def summary(tmp_path, monkeypatch, capsys):
    """A function that checks a program: the command's status, and its lines of summary."""
    monkeypatch.chdir(tmp_path)

    def check(text, name="sums.py"):
        Path(name).write_text(text, "utf-8")
        status = main(["check", name])
        return status, [line for line in capsys.readouterr().err.splitlines() if line.startswith("kapi_sim: ")]

    return check


def test_summary_is_what_the_command_prints(summary):
    blocks = [block.code for block in code_blocks.blocks(PAGE)]
    program = next(code for code in blocks if "from numba import cuda\n\n\n@cuda.jit" in code)
    expected = next(code for code in blocks if code.startswith("kapi_sim: "))
    assert summary(program) == (1, expected.splitlines())
    mended = program.replace("    step = 4\n", "    step = 4\n    cuda.syncthreads()\n")
    assert summary(mended) == (0, ["kapi_sim: 1 kernel, 1 launch: 1 checked to the end, 0 faults"])


def test_lock_on_the_page_is_as_it_says(summary):
    blocks = [block.code for block in code_blocks.blocks(PAGE)]
    program = next(code for code in blocks if "def counted(" in code)
    faulty, right = (code.splitlines() for code in blocks if code.startswith("kapi_sim: 1 ") and "sums.py" not in code)
    assert summary(program, "counted.py") == (1, faulty)
    mended = program.replace("            pass\n", "            pass\n        cuda.threadfence()\n")
    assert summary(mended, "counted.py") == (0, right)
