"""The programs of the pages that need an NVIDIA GPU: ``python tests/gpu/pages.py``.

Each ``py`` block whose comment says so is run as a program of its own, with the arrays that it takes for given, and
what it makes of them is compared with NumPy's.  Each program of an error's code has to raise it.  Prints a line of JSON
for each.
"""

from __future__ import annotations

import json
import runpy
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "docs" / "_extensions")]

import kapi_programs  # noqa: E402  # the documentation's own
from tools.code_blocks import Block, blocks, pages  # noqa: E402  # the repository's root is on no path

Names = dict[str, Any]


def sums_of(groups: int, size: int, is_numba: bool) -> tuple[Names, Callable[[Names], bool]]:
    """Values, of which the last group has not all, and room for their sums."""
    values = np.random.default_rng(1).integers(0, 9, groups * size - (6 if is_numba else 0)).astype(np.float32)
    padded = np.zeros(groups * size, np.float32)
    padded[: values.size] = values
    names = on_device(is_numba, values=values, sums=np.full(groups, -1, np.float32))
    return names, lambda made: bool((host(made["sums"]) == padded.reshape(groups, size).sum(1)).all())


def product() -> tuple[Names, Callable[[Names], bool]]:
    """Two matrices of small integers, and room for their product."""
    a, b = (np.random.default_rng(seed).integers(0, 9, (64, 64)).astype(np.float32) for seed in (1, 2))
    names = on_device(True, a=a, b=b, c=np.zeros((64, 64), np.float32))
    return names, lambda made: bool((host(made["c"]) == a @ b).all())


def on_device(is_numba: bool, **arrays: np.ndarray[Any, Any]) -> Names:
    """The arrays as those of numba-cuda, or of CuPy."""
    if is_numba:
        if not hasattr(np, "row_stack"):  # numba-cuda 0.30 asks for it, and NumPy 2.5 does without
            setattr(np, "row_stack", np.vstack)  # noqa: B010
        from numba import cuda

        return {name: cuda.to_device(array) for name, array in arrays.items()}
    import cupy

    return {name: cupy.asarray(array) for name, array in arrays.items()}


def host(array: Any) -> np.ndarray[Any, Any]:
    """An array's elements."""
    made: np.ndarray[Any, Any] = array.copy_to_host() if hasattr(array, "copy_to_host") else array.get()
    return made


def saxpy(names: Names) -> bool:
    """Whether the first kernel of the page about NVIDIA's GPUs did what it says."""
    x = np.arange(1_000_000, dtype=np.float32)
    return bool((host(names["y"]) == 2 * x + 1).all() and (names["t"].cpu().numpy() == 2 * x + 1).all())


def given_to(block: Block) -> tuple[Names, Callable[[Names], bool]]:
    """Prelude of a block, and the check of its outcome."""
    is_numba = "from numba import cuda" in block.code
    if "group_sums[" in block.code:
        return sums_of(4096, 256, is_numba)
    if "block_sums[4, 64]" in block.code:
        return sums_of(4, 64, is_numba)
    if "matmul[" in block.code:
        return product()
    if "def saxpy" in block.code:
        return {}, saxpy
    raise ValueError(f"{block.page.name}:{block.line} must be a block that is known here, got a new one")


def chosen() -> Iterator[Block]:
    """The blocks of the pages that one GPU is needed for."""
    for page in pages():
        for block in blocks(page):
            if block.language == "py" and "an NVIDIA GPU" in block.reason:
                yield block


def run_block(block: Block) -> None:
    """Run a page's block, and compare its outcome with NumPy's."""
    names, is_right = given_to(block)
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "program.py"  # a file, so that a kernel's source can be looked up
        script.write_text(block.code)
        made = runpy.run_path(str(script), names)
    assert is_right(made), "the outcome must be NumPy's"


def run_program(code: str, text: str) -> None:
    """Run the program of an error's code in a process of its own, since some lose the GPU."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "program.py"
        script.write_text(text)
        done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=120, check=False)
    assert f"[{code}]" in done.stderr, done.stdout + done.stderr


def checks() -> Iterator[tuple[str, Callable[[], None]]]:
    """The name of each check, and the check."""
    for block in chosen():
        yield f"page {block.page.relative_to(ROOT)}:{block.line}", partial(run_block, block)
    for code, program in kapi_programs.programs(kapi_programs.FILE.read_text("utf-8")).items():
        if program.needs == kapi_programs.GPU:
            yield f"program of {code}", partial(run_program, code, program.text)


def main() -> int:
    failed = 0
    for name, check in checks():
        start = time.perf_counter()
        told: dict[str, Any] = {"check": name}
        try:
            check()
            told |= {"passed": True, "found": "right"}
        except BaseException:
            failed += 1
            told |= {"passed": False, "found": traceback.format_exc()[-3000:]}
        print(json.dumps(told | {"seconds": round(time.perf_counter() - start, 2)}), flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
