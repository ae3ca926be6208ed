"""Batches in processes of their own: a kernel that ends its process is found, and memory is given back.

With ``KAPI_COMPOSITIONS`` set to a file's path, what each batch gave is a line there, and batches that have one are not
run again: a run that was stopped goes on where it was.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
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
    """The number of statements."""
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
    lines = [line for line in _written(journal) if first <= line[0] and line[1] <= last]
    pending = _left(first, last, lines)

    def note(*line: Any) -> None:
        lines.append(line)
        if journal:
            # Its own end first: the line of a run that was stopped may lack it.
            with journal.open("a", encoding="utf-8") as file:
                file.write("\n" + json.dumps(line) + "\n")

    while pending:
        first, last = pending.pop()
        first, text = _process(first, last, note)
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


def _written(journal: Path | None) -> list[Any]:
    """The whole lines of a journal: of a run that was stopped, the last one may lack its end."""
    lines = journal.read_text("utf-8").splitlines(keepends=True) if journal and journal.exists() else []
    return [json.loads(line) for line in lines if _is_complete(line)]


def _is_complete(line: str) -> bool:
    return line.startswith("[") and line.endswith("]\n")


def _left(first: int, last: int, lines: Sequence[Any]) -> list[tuple[int, int]]:
    """Parts of a range that no line covers, the first part last."""
    done = {number for start, end, *_ in lines for number in range(start, end)}
    left = [number for number in range(first, last) if number not in done]
    starts = [number for number in left if number - 1 in done or number == first]
    ends = [number + 1 for number in left if number + 1 in done or number + 1 == last]
    return list(zip(starts, ends, strict=True))[::-1]


def _process(first: int, last: int, note: Callable[..., None]) -> tuple[int, str]:
    """Compare statements in a process of its own, and note each batch once it is done; returns where it came to."""
    folder = Path(__file__).parent.parent
    path = [str(folder), str(folder.parents[1] / "packages/kapi-cpu/tests"), os.environ.get("PYTHONPATH", "")]
    # What was compiled yesterday is compiled again: the compiler is what is tested.
    variables = os.environ | {
        "PYTHONPATH": os.pathsep.join(filter(None, path)), "KAPI_CACHE": "0", "PYTHONWARNINGS": "ignore"
    }  # fmt: skip
    command = [sys.executable, "-m", "compositions", str(first), str(last)]
    with tempfile.TemporaryFile("w+", errors="replace") as errors:
        child = subprocess.Popen(command, env=variables, stdout=subprocess.PIPE, stderr=errors, text=True)
        late = threading.Timer(300 + _SECONDS * (last - first), child.kill)
        late.start()
        assert child.stdout is not None
        with child:
            for line in child.stdout:
                if _is_complete(line):
                    end, found, texts = json.loads(line)
                    note(first, end, found, texts)
                    first = end
        is_late = not late.is_alive()
        late.cancel()
        errors.seek(0)
        return first, "it took too long" if is_late else f"status {child.returncode}\n{errors.read()[-2000:]}"
