"""The summary on the page of checked programs is what the command prints for the program there."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tools import code_blocks

PAGE = Path(__file__).parents[2] / "docs/coming_from/numba_cuda_checked.md"


def summary(folder: Path, text: str, name: str = "sums.py") -> tuple[int, list[str]]:
    (folder / name).write_text(text, "utf-8")
    command = [sys.executable, "-m", "kapi_sim", "check", name]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    return done.returncode, [line for line in done.stderr.splitlines() if line.startswith("kapi_sim: ")]


def test_summary_is_what_the_command_prints(tmp_path):
    blocks = [block.code for block in code_blocks.blocks(PAGE)]
    program = next(code for code in blocks if "from numba import cuda\n\n\n@cuda.jit" in code)
    expected = next(code for code in blocks if code.startswith("kapi_sim: "))
    assert summary(tmp_path, program) == (1, expected.splitlines())
    mended = program.replace("    step = 4\n", "    step = 4\n    cuda.syncthreads()\n")
    assert summary(tmp_path, mended) == (0, ["kapi_sim: 1 kernel, 1 launch: 1 checked to the end, 0 faults"])


def test_lock_on_the_page_is_as_it_says(tmp_path):
    blocks = [block.code for block in code_blocks.blocks(PAGE)]
    program = next(code for code in blocks if "def counted(" in code)
    faulty, right = (code.splitlines() for code in blocks if code.startswith("kapi_sim: 1 ") and "sums.py" not in code)
    assert summary(tmp_path, program, "counted.py") == (1, faulty)
    mended = program.replace("            pass\n", "            pass\n        cuda.threadfence()\n")
    assert summary(tmp_path, mended, "counted.py") == (0, right)
