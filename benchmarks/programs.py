"""Shared parts of the scripts that run other people's programs: a process for each variant, and the table."""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["Times", "agree", "answer", "answers", "arguments", "fallbacks", "finish", "line_of", "summary"]


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds on the clock, and of the processors.

    Attributes
    ----------
    clock, processors : float
        The seconds; those of all threads, and of processes that this one started.
    """

    clock: float
    processors: float

    @classmethod
    def now(cls) -> Times:
        """The times of this process up to now."""
        ticks = 0
        for children in Path("/proc/self/task").glob("*/children"):
            for child in children.read_text().split():
                try:
                    fields = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
                except OSError:  # it has just ended
                    continue
                ticks += int(fields[11]) + int(fields[12])
        return cls(time.perf_counter(), time.process_time() + ticks / os.sysconf("SC_CLK_TCK"))

    def __sub__(self, other: Times) -> Times:
        return Times(self.clock - other.clock, self.processors - other.processors)

    def named(self, whose: str) -> dict[str, float]:
        """As entries of a row."""
        return {
            f"{whose}_s" if whose else "seconds": self.clock,
            f"{whose}_cpu_s" if whose else "cpu_s": self.processors,
        }


def arguments(words: str, program: str, variants: Sequence[str]) -> argparse.ArgumentParser:
    """The options that all of the scripts have.

    Parameters
    ----------
    words : str
        What the script does.
    program : str
        Whose programs it runs.
    variants : sequence of str
        The variants that a program may have.
    """
    parser = argparse.ArgumentParser(description=words)
    parser.add_argument("checkout", type=Path, help=f"a checkout of {program}")
    parser.add_argument("--only", action="append", help="a program's name; may be repeated")
    parser.add_argument("--preset", default="S", help="size of the data, by the name that it has there")
    parser.add_argument("--timeout", type=float, default=60, help="seconds for each variant")
    parser.add_argument("--json", type=Path, help="write the rows to this file, too")
    parser.add_argument("--variant", choices=variants, help="run this variant only")
    parser.add_argument("--worker", nargs=2, help=argparse.SUPPRESS)
    return parser


def answers(
    options: argparse.Namespace, script: str, name: str, variant: str, words: Sequence[str]
) -> list[dict[str, Any]]:
    """All rows that a process of its own prints for a variant, and one for how it ended if that is early."""
    rows, ending = _answered(options, script, name, variant, words)
    return [*rows, ending] if ending["state"] or not rows else rows


def answer(options: argparse.Namespace, script: str, name: str, variant: str, words: Sequence[str]) -> dict[str, Any]:
    """Run a variant in a process of its own, and return the last row that it prints.

    Parameters
    ----------
    options : Namespace
        Those of the script.
    script : str
        Its file.
    name, variant : str
        What that process runs.
    words : sequence of str
        Further options for it.
    """
    rows, ending = _answered(options, script, name, variant, words)
    return rows[-1] if rows else ending


def _answered(
    options: argparse.Namespace, script: str, name: str, variant: str, words: Sequence[str]
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    command = [sys.executable, script, str(options.checkout), "--preset", options.preset, "--worker", name, variant]
    try:
        done = subprocess.run(
            [*command, *words], capture_output=True, text=True, timeout=options.timeout, check=False,
            env={**os.environ, "KAPI_CACHE": "0"},
        )  # fmt: skip  # first calls do not depend on earlier runs
        printed, said = done.stdout, (done.stderr.strip().splitlines() or ["no words"])[-1][:150]
        state = "error" if done.returncode else ""
    except subprocess.TimeoutExpired as error:
        printed = error.stdout.decode() if isinstance(error.stdout, bytes) else error.stdout or ""
        state, said = "no answer", f"{options.timeout:g} s"
    rows = [json.loads(each) for each in printed.splitlines() if each.startswith("{")]
    return rows, {"state": state, "cause": said}


def fallbacks(warned: Sequence[Any]) -> str:
    """The ids of the fallbacks among warnings, with commas between them."""
    import kapi_numba_offload

    texts = [str(each.message) for each in warned if each.category is kapi_numba_offload.OffloadFallbackWarning]
    return ", ".join(sorted({match.group(1) for text in texts if (match := re.search(r"\[([a-z-]+)\]", text))}))


def agree(found: Any, expected: Any) -> bool:
    """Whether two results agree: element by element, or as NPBench has it, by the norm of their difference."""
    if np.allclose(found, expected, rtol=1e-4, atol=1e-6, equal_nan=True):
        return True
    difference, size = np.linalg.norm(np.subtract(found, expected)), np.linalg.norm(expected)
    return bool(np.shape(found) == np.shape(expected) and difference <= 1e-5 * size)


def line_of(row: dict[str, Any]) -> str:
    """A row as text."""
    times = [row.get(each) for each in ("first_s", "seconds", "numpy_s", "numba_s", "numba_first_s", "dpnp_s")]
    texts = ["" if each is None else f"{each:.4f}" for each in times]
    return (
        f"{row['program']:26} {row['variant']:4} {row['state']:9} {row.get('where', ''):7} "
        f"{' '.join(f'{each:>9}' for each in texts)}  {row['cause']}"
    )


def summary(rows: Sequence[dict[str, Any]]) -> str:
    """Count the programs that are right and on the device in some variant, and the causes that stop the others."""
    programs: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        programs.setdefault(row["program"], []).append(row)
    right = [name for name, own in programs.items() if any(each["state"] == "right" for each in own)]
    device = [
        name
        for name, own in programs.items()
        if any(each["state"] == "right" and each["where"] == "device" for each in own)
    ]
    causes: dict[str, list[str]] = {}
    for name, own in programs.items():
        if name not in device:
            best = min(own, key=lambda each: each["state"] != "right")
            causes.setdefault(best["cause"] or best["state"], []).append(name)
    lines = [f"{len(programs)} programs: {len(right)} right, {len(device)} wholly on the device"]
    lines += [f"  {cause}: {', '.join(names)}" for cause, names in sorted(causes.items())]
    return "\n".join(lines)


def finish(options: argparse.Namespace, rows: Sequence[dict[str, Any]]) -> None:
    """Print the summary, and write the rows where the options say."""
    print(summary(rows))
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
