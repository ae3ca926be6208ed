"""The lesson on a program of others: each summary on the page is what the command prints for that stage."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tools import code_blocks

PAGE = Path(__file__).parents[2] / "docs/learn/check_a_program.md"


def checked(folder: Path, text: str) -> tuple[int, str, list[str]]:
    (folder / "smooth.py").write_text(text, "utf-8")
    command = [sys.executable, "-m", "kapi_sim", "check", "smooth.py"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    said = [line for line in done.stderr.splitlines() if line.startswith("kapi_sim: ")]
    return done.returncode, done.stderr, [line for line in said if "Numba is not installed" not in line]


def test_each_stage_is_as_the_page_says(tmp_path):
    blocks = [block.code for block in code_blocks.blocks(PAGE)]
    program, mended = (code for code in blocks if "tile[t + 1]" in code)
    summaries = [code.splitlines() for code in blocks if code.startswith("kapi_sim: ")]
    (hint,) = (code.rstrip() for code in blocks if code.startswith("  a `cuda.syncthreads()`"))
    status, _, said = checked(tmp_path, program)
    assert (status, said) == (1, summaries[0])
    body = program[program.index("    tile[t + 1] = ") : program.index("\n\nn = 20")].rstrip()
    program = program.replace(body, mended.rstrip())
    status, report, said = checked(tmp_path, program)
    assert (status, said) == (1, summaries[1])
    assert hint in report
    status, _, said = checked(
        tmp_path, program.replace("    if i <= last:", "    cuda.syncthreads()\n    if i <= last:")
    )
    assert (status, said) == (0, summaries[2])
