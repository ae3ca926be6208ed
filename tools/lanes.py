"""Commands run side by side, a few at a time; what each prints is shown in one piece when it is done."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

__all__ = ["Outcome", "run"]

_MOST_LANES = 4  # more gain nothing: the longest session is what a run waits for


@dataclass(frozen=True)
class Outcome:
    """How one command ended.

    Attributes
    ----------
    name : str
        What it is called.
    status : int
        Its exit status.
    seconds : float
        How long it took.
    """

    name: str
    status: int
    seconds: float

    def __str__(self) -> str:
        return f"{self.name:<34}{'ok' if self.status == 0 else 'FAILED':<8}{self.seconds:6.0f} s"


def run(
    commands: Mapping[str, Sequence[str]], environment: Mapping[str, str] | None = None, lanes: int | None = None
) -> list[Outcome]:
    """Run every command, whatever becomes of the others, and return how each ended.

    Parameters
    ----------
    commands : mapping of str to sequence of str
        Name and command line, in the order in which they are started.
    environment : mapping of str to str, optional
        Variables to add to this process's.
    lanes : int, optional
        How many run at a time; if not given one more than there are processors, for sessions wait now and then, and
        at most four.

    Returns
    -------
    list of Outcome
        In the order of the commands.
    """
    lanes = lanes or min(_MOST_LANES, 1 + (os.cpu_count() or 1))
    everything = {**os.environ, **(environment or {})}
    printing = threading.Lock()

    def one(name: str) -> Outcome:
        start = time.monotonic()
        done = subprocess.run(
            commands[name],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=everything,
            check=False,
        )
        outcome = Outcome(name, done.returncode, time.monotonic() - start)
        with printing:
            sys.stdout.buffer.write(b"\n" + done.stdout)
            print(f"==== {outcome}", flush=True)
        return outcome

    with ThreadPoolExecutor(lanes) as pool:
        return list(pool.map(one, commands))
