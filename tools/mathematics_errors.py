"""Measure kapi-cpu's mathematics for its page: ``python tools/mathematics_errors.py [NAME ...]``.

Writes the rows of the functions named, or of all: the larger error of the code with fused multiplications, and of that
without. A function of one number is compared at all 2**32 of float32 (some two minutes each), one of two at millions of
pairs; float64 at random numbers of each binade with mpmath.
"""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/device/cpu_mathematics.md"
BLOCK = 1 << 17

sys.path.insert(0, str(ROOT / "packages/kapi-cpu/tests"))


def largest_errors(name: str, target: Any) -> tuple[float, float]:
    """The largest errors of a function in float32 and in float64, in units of the last place."""
    measured = import_module("cpu_backend.mathematics")
    function, largest = measured.vectorized(name, "f4", target), 0.0
    is_binary = name in measured.BINARY
    for start in range(0, 1 << (24 if is_binary else 32), BLOCK):
        given = [np.arange(start, start + BLOCK, dtype=np.uint32).view(np.float32)]
        if is_binary:
            random = np.random.default_rng(start)
            given = [random.integers(0, 1 << 32, BLOCK, np.uint32).view(np.float32) for _ in range(2)]
            for each in given:
                each[::2] = random.uniform(-4, 4, BLOCK // 2)
        largest = max(largest, float(measured.single_errors(name, given, function(*given)).max()))
    random = np.random.default_rng(0)
    drawn = measured.points("f8", 0, 10)
    given = [random.permutation(drawn) for _ in range(1 + is_binary)]
    got = measured.vectorized(name, "f8", target)(*given)
    return largest, float(measured.exact_errors(name, given, got).max())


def main(names: list[str]) -> None:
    """Write the rows."""
    measured, host = import_module("cpu_backend.mathematics"), import_module("kapi_cpu").host_target()
    targets = [host, replace(host, features=",".join(each for each in host.features.split(",") if each != "+fma"))]
    for name in names or measured.EXACT:
        single, double = map(max, zip(*(largest_errors(name, each) for each in targets), strict=True))
        row = f"| `{name}` | {measured.BOUNDS[name]:g} | {single:.2f} | {double:.2f} |"
        text, count = re.subn(rf"^\| `{name}` \|.*$", row, PAGE.read_text("utf-8"), flags=re.MULTILINE)
        PAGE.write_text(text if count else f"{text.rstrip()}\n{row}\n", "utf-8")
        print(row, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
