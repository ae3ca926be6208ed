"""Offload over CuPy's arrays: ``python tests/gpu/offload.py PROCESSES answers|tests|npbench [PATH]``.

The tests are those of kapi-numba-offload, which run over dpnp's arrays elsewhere, each file in a process of its own;
they need pytest.  NPBench's programs are those of a checkout, at their smallest size, by ``benchmarks/npbench.py``.
The answers are CuPy's, which the stand-in for it gives.  Prints a line of JSON for each.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
TESTS = ROOT / "packages" / "kapi-numba-offload" / "tests"
LIMIT = 500  # seconds for a file, and for NPBench's programs of a process

ENVIRONMENT = os.environ | {"KAPI_ARRAYS": "cupy", "PYTHONDONTWRITEBYTECODE": "1"}
PYTEST = (
    *(sys.executable, "-m", "pytest", "-q", "--tb=short", "-p", "no:cacheprovider"),
    *("--config-file", str(ROOT / "pyproject.toml"), "--rootdir", str(ROOT)),
    *("-W", "ignore::DeprecationWarning", "-W", "ignore::FutureWarning"),  # CuPy's own
)


def ran(command: Sequence[str]) -> tuple[int, str]:
    """Exit status and output of a command."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=LIMIT, check=False, env=ENVIRONMENT, cwd=ROOT
        )
    except subprocess.TimeoutExpired:
        return 1, "timeout"
    return done.returncode, done.stdout + done.stderr


def tests(processes: int) -> dict[str, Any]:
    """Run the tests of the package, the longest files first."""
    if importlib.util.find_spec("pytest") is None:
        return {"passed": False, "found": "pytest must be installed for them, got an environment without it"}
    _, listed = ran([*PYTEST, "--collect-only", str(TESTS)])  # files of dpnp alone are left out
    names = set(re.findall(r"^(\S*test_\w+\.py)::", listed, re.MULTILINE))
    if not names:
        return {"passed": False, "found": listed[-2000:]}
    files = sorted((ROOT / name for name in names), key=lambda file: -file.stat().st_size)
    passed, failed = 0, {}
    with ThreadPoolExecutor(processes) as pool:
        for file, (code, text) in zip(files, pool.map(ran, ([*PYTEST, str(file)] for file in files)), strict=True):
            counted = re.findall(r"(\d+) passed", text)
            passed += int(counted[-1]) if counted else 0
            broken = re.findall(r"^(?:FAILED|ERROR) (.*)$", text, re.MULTILINE)
            failed |= dict.fromkeys(broken, "")
            if code and not broken:
                failed[file.name] = text[-2000:]
    return {"passed": not failed and passed > 0, "found": {"passed": passed, "failed": failed}}


def answers(processes: int) -> dict[str, Any]:
    """Compare CuPy's answers with those that were recorded."""
    _, text = ran([sys.executable, str(TESTS / "cupy_answers.py")])
    lines = [line for line in text.splitlines() if line.startswith('{"check"')]
    found: dict[str, Any] = json.loads(lines[-1]) if lines else {"passed": False, "found": text[-2000:]}
    return found


def npbench(processes: int, checkout: str) -> dict[str, Any]:
    """Run NPBench's programs for Numba over CuPy's arrays, each variant."""
    names = sorted(each.stem for each in (Path(checkout) / "bench_info").glob("*.json"))
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(processes) as pool:

        def run(part: int) -> list[dict[str, Any]]:
            told = Path(folder) / f"{part}.json"
            script = [sys.executable, str(ROOT / "benchmarks" / "npbench.py"), checkout, "--json", str(told)]
            only = [word for name in names[part::processes] for word in ("--only", name)]
            _, text = ran([*script, "--preset", "S", *only])
            missing = [{"program": f"part {part}", "variant": text[-1000:], "state": "absent"}]
            made: list[dict[str, Any]] = json.loads(told.read_text("utf-8")) if told.exists() else missing
            return made

        for each in pool.map(run, range(min(processes, len(names)))):
            rows += each
    right: dict[str, bool] = {}
    for row in rows:
        right[row["program"]] = right.get(row["program"], False) or row["state"] == "right"
    wrong = [f"{row['program']} {row['variant']}" for row in rows if row["state"] == "wrong"]
    found = {"right": sum(right.values()), "not right": [name for name, one in right.items() if not one]}
    return {"passed": bool(rows) and not wrong, "found": found | {"wrong": wrong}}


NAMES = {
    "tests": ("offload's tests over CuPy's arrays", tests),
    "answers": ("CuPy's answers that were recorded", answers),
    "npbench": ("NPBench over CuPy's arrays", npbench),
}


def main() -> int:
    processes, what, *given = sys.argv[1:]
    name, function = NAMES[what]
    start = time.perf_counter()
    told = function(int(processes), *given)
    print(json.dumps({"check": name} | told | {"check": name, "seconds": round(time.perf_counter() - start, 1)}))
    return not told["passed"]


if __name__ == "__main__":
    sys.exit(main())
