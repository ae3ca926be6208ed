"""Batches in processes of their own: a kernel that ends its process is found, and memory is given back.

With ``KAPI_COMPOSITIONS`` set to a file's path, what each batch gave is a line there, and batches that have one are not
run again: a run that was stopped goes on where it was.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from compositions.judging import compare
from compositions.statements import LEVELS, Statement, count, statement

__all__ = ["JOURNAL", "main", "run_in_processes", "total"]

JOURNAL = "KAPI_COMPOSITIONS"
BATCH, OF_GROUPS = 300, 100  # the driver's time for one kernel grows faster than its length
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


def _size(level: str) -> int:
    return OF_GROUPS if "groups" in level else BATCH


def _batches(first: int, last: int) -> Iterator[tuple[int, list[Statement]]]:
    """Batches of one level each, with the number after their last statement."""
    while first < last:
        level, number = _level_of(first)
        size = min(_size(level), last - first, count(level) - number)
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
    """As `run_in_processes`, one after the other; a batch that ends its process is told, and run by halves."""
    counts: Counter[str] = Counter()
    differences: list[str] = []
    journal = Path(os.environ[JOURNAL]) if os.environ.get(JOURNAL) else None
    lines = (
        [json.loads(line) for line in journal.read_text("utf-8").splitlines()] if journal and journal.exists() else []
    )
    lines = [line for line in lines if first <= line[0] and line[1] <= last]
    pending = _left(first, last, lines)

    def note(*line: Any) -> None:
        lines.append(line)
        if journal:
            with journal.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")

    while pending:
        first, last = pending.pop()
        done, text = _process(first, last)
        for end, found, texts in done:
            note(first, end, found, texts)
            first = end
        if first == last:
            continue
        size = min(_size(_level_of(first)[0]), last - first)
        name = statement(*_level_of(first)).name
        note(
            first,
            first,
            {"processes ended": 1},
            [f"a process ended with {size} statements from {first}, {name}\n{text}"],
        )
        pending.append((first + size, last))
        if size > 1:
            pending += [(first + size // 2, first + size), (first, first + size // 2)]
        pending = [each for each in pending if each[0] < each[1]]
    for _, _, found, texts in lines:
        counts.update(found)
        differences += texts
    return counts, differences


def _left(first: int, last: int, lines: Sequence[Any]) -> list[tuple[int, int]]:
    """What of a range no line is about, the first part last."""
    done = {number for start, end, *_ in lines for number in range(start, end)}
    left = [number for number in range(first, last) if number not in done]
    starts = [number for number in left if number - 1 in done or number == first]
    ends = [number + 1 for number in left if number + 1 in done or number + 1 == last]
    return list(zip(starts, ends, strict=True))[::-1]


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
