"""Batches in processes of their own: a kernel that ends its process is found, and memory is given back."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from compositions.judging import compare
from compositions.statements import LEVELS, Statement, count, statement

__all__ = ["main", "run_in_processes", "total"]

BATCH = 300
_SECONDS = 3.0  # for a statement, on a machine that does much else


def total() -> int:
    """How many statements there are."""
    return sum(map(count, LEVELS))


def _level_of(number: int) -> tuple[str, int]:
    for level in LEVELS:
        if number < count(level):
            return level, number
        number -= count(level)
    raise IndexError(f"number must be below {total()}")


def _batches(first: int, last: int) -> Iterator[tuple[int, list[Statement]]]:
    """Batches of one level each, with the number after their last statement."""
    while first < last:
        level, number = _level_of(first)
        size = min(BATCH, last - first, count(level) - number)
        first += size
        yield first, [statement(level, number + n) for n in range(size)]


def main(first: int, last: int) -> None:
    """Compare statements and print a line for each batch: where it ends, counts, and differences."""
    for end, statements in _batches(first, last):
        verdict = compare(statements)
        print(json.dumps([end, verdict.counts, list(map(str, verdict.differences))]), flush=True)


def run_in_processes(first: int, last: int, processes: int = 2) -> tuple[Counter[str], list[str]]:
    """Compare statements `first` to `last` in some processes at a time; returns counts and differences as text."""
    bounds = [first + (last - first) * n // processes for n in range(processes + 1)]
    with ThreadPoolExecutor(processes) as pool:
        answers = list(pool.map(_run, bounds[:-1], bounds[1:]))
    counts: Counter[str] = Counter()
    differences: list[str] = []
    for found, texts in answers:
        counts += found
        differences += texts
    return counts, differences


def _run(first: int, last: int) -> tuple[Counter[str], list[str]]:
    """As `run_in_processes`, one after the other; what ends its process is looked for by halves."""
    counts: Counter[str] = Counter()
    differences: list[str] = []
    pending = [(first, last)]
    while pending:
        first, last = pending.pop()
        done, text = _process(first, last)
        for end, found, texts in done:
            first = end
            counts.update(found)
            differences += texts
        if first == last:
            continue
        size = min(BATCH, last - first)
        if size == 1:
            differences.append(f"the process of statement {first} ended: {statement(*_level_of(first)).text}\n{text}")
            pending.append((first + 1, last))
        else:
            halves = [(first, first + size // 2), (first + size // 2, first + size)]
            pending += [each for each in ((first + size, last), *reversed(halves)) if each[0] < each[1]]
    return counts, differences


def _process(first: int, last: int) -> tuple[list[tuple[int, dict[str, int], list[str]]], str]:
    folder = Path(__file__).parent.parent
    folders = (folder, folder.parents[1] / "packages/kapi-lowering/tests")
    # What was compiled yesterday is compiled again: the compiler is what is tested.
    path = os.pathsep.join(map(str, folders))
    variables = os.environ | {"PYTHONPATH": path, "KAPI_CACHE": "0", "PYTHONWARNINGS": "ignore"}
    command = [sys.executable, "-m", "compositions", str(first), str(last)]
    try:
        ran = subprocess.run(
            command, env=variables, capture_output=True, text=True, check=False, timeout=300 + _SECONDS * (last - first)
        )
        out, error = ran.stdout, f"status {ran.returncode}\n{ran.stderr[-2000:]}"
    except subprocess.TimeoutExpired as late:
        out, error = (late.stdout or b"").decode(), "it took too long"
    return [tuple(json.loads(line)) for line in out.splitlines() if line.startswith("[")], error  # type: ignore[misc]
