"""Run everything of kapi that needs an NVIDIA GPU, and print one table: ``python tools/gpu.py [--json FILE]``.

It needs no index: an interpreter that has Numba, cuda-bindings and CuPy (PyTorch, JAX and numba-cuda are used where
they are), hypothesis and pytest for the kernels that programs write and for offload's tests, and kapi's packages, which
``--wheels FOLDER`` takes from their wheels there.  The exit status is the number of rows that failed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
GPU = next(path for path in (HERE.parent / "tests" / "gpu", HERE) if (path / "checks.py").exists())
TIMEOUT = 540


def conformance(options: list[str], processes: int) -> dict[str, Any]:
    """Run all cases in several processes at once."""
    command = [sys.executable, str(GPU / "conformance.py"), *options]
    parts = [[*command, "--part", f"{part}/{processes}"] for part in range(processes)]
    return in_processes(" ".join(["conformance", *options]), parts)


def written(kind: str, count: int, seed: int, processes: int) -> dict[str, Any]:
    """Run so many kernels that programs write, in several processes at once."""
    sizes = [(count + part) // processes for part in range(processes)]
    command = [sys.executable, str(GPU / "written.py"), kind]
    parts = [[*command, str(seed * processes + part), str(size)] for part, size in enumerate(sizes) if size]
    return in_processes(f"{kind} that programs write", parts)


def in_processes(name: str, commands: list[list[str]]) -> dict[str, Any]:
    """Run commands that each print a line of JSON, how many passed and what failed, at once."""
    start = time.perf_counter()
    running = [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for command in commands
    ]
    passed = 0
    failed: dict[str, str] = {}
    for part, process in enumerate(running):
        try:
            out, err = process.communicate(timeout=TIMEOUT)
            told = json.loads(out.splitlines()[-1])
            passed += told["passed"]
            failed |= told["failed"]
        except (subprocess.TimeoutExpired, IndexError, ValueError):
            process.kill()
            failed[f"part {part}"] = (
                f"ended with {process.returncode}: {err[-2000:]}" if process.returncode else "timeout"
            )
    return {
        "check": name,
        "passed": not failed and passed > 0,
        "found": {"passed": passed, "failed": failed},
        "seconds": round(time.perf_counter() - start, 1),
    }


def checks(script: str, names: list[str]) -> list[dict[str, Any]]:
    """Run a script that prints a line of JSON for each check, in a process of its own."""
    command = [sys.executable, str(GPU / script), *names]
    try:
        ran = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=False)
        out, err = ran.stdout, ran.stderr
    except subprocess.TimeoutExpired as error:
        out, err = (error.stdout or b"").decode(), "timeout"
    rows = [json.loads(line) for line in out.splitlines() if line.startswith('{"check"')]
    if err.strip():
        rows.append({"check": f"what {script} wrote to stderr", "passed": True, "found": err[-4000:], "seconds": 0})
    if not rows:
        rows.append({"check": script, "passed": False, "found": err[-4000:], "seconds": 0})
    return rows


def use_wheels(folder: Path, target: Path) -> None:
    """Let the processes that are started import kapi's packages from their wheels, which are pure Python."""
    wheels = sorted(folder.glob("kapi_*.whl"))
    if not wheels:
        raise SystemExit(f"{folder} must hold the wheels of kapi's packages, got none: `nox -s build` makes them")
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(target)
    os.environ["PYTHONPATH"] = os.pathsep.join([str(target), *filter(None, [os.environ.get("PYTHONPATH")])])


def main() -> int:
    """Run what is asked for, and return how many rows failed."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--json", help="write all rows there as well")
    parser.add_argument("--processes", type=int, default=max(1, min(8, (os.cpu_count() or 2) // 2)))
    parser.add_argument("--wheels", type=Path, help="a folder with the wheels of kapi's packages")
    parser.add_argument("--only", choices=("conformance", "checks", "offload", "written"))
    parser.add_argument("--kernels", type=int, default=200, help="how many random kernels to run")
    parser.add_argument("--compositions", type=int, default=2000, help="how many statements of all levels to run")
    parser.add_argument("--functions", type=int, default=100, help="how many random njit functions to run")
    parser.add_argument("--npbench", help="a checkout of NPBench, whose programs are run as well")
    parser.add_argument("--seed", type=int, default=int(os.environ.get("KAPI_TEST_SEED", "0")), help="which of them")
    parser.add_argument("names", nargs="*", help="checks to run; all by default")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as unpacked:
        if given.wheels is not None:
            use_wheels(given.wheels, Path(unpacked))
        rows = all_rows(given)
    for row in rows:
        found = row["found"]
        text = found if isinstance(found, str) else json.dumps(found)
        print(f"{'ok  ' if row['passed'] else 'FAIL'} {row['seconds']:7.1f} s  {row['check']:<34} {text}")
    if given.json:
        Path(given.json).write_text(json.dumps(rows, indent=1))
    return sum(not row["passed"] for row in rows)


def all_rows(given: argparse.Namespace) -> list[dict[str, Any]]:
    """Run what is asked for."""
    rows: list[dict[str, Any]] = []
    if given.only in (None, "checks"):
        rows += checks("checks.py", given.names)
    if given.names:
        return rows
    if given.only in (None, "checks"):
        rows += checks("pages.py", [])
    if given.only in (None, "conformance"):
        for options in ([], ["--coarse"], ["--any-launch"], ["--debug"], ["--without-inlining"]):
            rows.append(conformance(options, given.processes))
    if given.only in (None, "offload"):
        what = [["answers"], ["tests"], *([["npbench", given.npbench]] if given.npbench else [])]
        for each in what:
            rows += checks("offload.py", [str(given.processes), *each])
    if given.only in (None, "written"):
        for kind, count in (
            ("kernels", given.kernels),
            ("compositions", given.compositions),
            ("functions", given.functions),
        ):
            rows.append(written(kind, count, given.seed, given.processes))
    return rows


if __name__ == "__main__":
    sys.exit(main())
