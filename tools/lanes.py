"""Commands run side by side, a few at a time; what each prints is shown in one piece when it is done."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass

__all__ = ["Outcome", "run"]

_MOST_LANES = 4  # more gain nothing: the longest session is what a run waits for
_TERMINATE, _KILL = signal.SIGTERM, getattr(signal, "SIGKILL", signal.SIGTERM)
_GRACE = 10.0  # seconds for a command to end by itself once it was told to


@dataclass(frozen=True)
class Outcome:
    """Outcome of one command.

    Attributes
    ----------
    name : str
        What it is called.
    status : int
        Its exit status.
    seconds : float
        How long it took.
    processor_seconds : float
        Processor time of the command and of the processes that it waited for; not a number where a system does not say.
    budget : float, optional
        Processor time that it may take. It is reported, and decides nothing: a busy machine takes longer, and a slow
        one is not at fault.
    """

    name: str
    status: int
    seconds: float
    processor_seconds: float = math.nan
    budget: float | None = None

    @property
    def is_over_budget(self) -> bool:
        """Whether it took more processor time than it may."""
        return self.budget is not None and self.processor_seconds > self.budget

    def __str__(self) -> str:
        text = f"{self.name:<34}{'ok' if self.status == 0 else 'FAILED':<8}{self.seconds:6.0f} s"
        if not math.isnan(self.processor_seconds):
            text += f"{self.processor_seconds:8.0f} s of processor time"
        if self.budget is not None:
            text += f", budget {self.budget:.0f} s" + (": OVER BUDGET" if self.is_over_budget else "")
        return text


def run(
    commands: Mapping[str, Sequence[str]],
    environment: Mapping[str, str] | None = None,
    lanes: int | None = None,
    budgets: Mapping[str, float] | None = None,
    limit: float | None = None,
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
    budgets : mapping of str to float, optional
        Processor seconds that commands may take, by their names.
    limit : float, optional
        Seconds after which a command is ended, with all processes that it started; it has failed then.

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
        # A file, and no pipe: what a command left running would keep a pipe open.
        with tempfile.TemporaryFile() as output:
            process = subprocess.Popen(
                commands[name],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=everything,
                start_new_session=True,
            )
            ended = threading.Timer(limit, _end, [process]) if limit is not None else None
            if ended is not None:
                ended.start()
            status, processor_seconds = _wait(process)
            if ended is not None:
                ended.cancel()
            _end_group(process.pid, _KILL)
            output.seek(0)
            printed = output.read()
        seconds = time.monotonic() - start
        if limit is not None and seconds >= limit:
            printed += f"{name}: TIME LIMIT of {limit:.0f} s\n".encode()
            status = status or 1
        outcome = Outcome(name, status, seconds, processor_seconds, budgets.get(name) if budgets else None)
        with printing:
            sys.stdout.buffer.write(b"\n" + printed)
            print(f"==== {outcome}", flush=True)
        return outcome

    with ThreadPoolExecutor(lanes) as pool:
        return list(pool.map(one, commands))


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a command and what it started; those that print their stacks do so first."""
    _end_group(process.pid, _TERMINATE)
    deadline = time.monotonic() + _GRACE
    while process.returncode is None and time.monotonic() < deadline:
        time.sleep(0.1)
    if process.returncode is None:
        _end_group(process.pid, _KILL)


def _end_group(leader: int, how: int) -> None:
    if hasattr(os, "killpg"):
        with suppress(ProcessLookupError, PermissionError):  # there is none left
            os.killpg(leader, how)


def _wait(process: subprocess.Popen[bytes]) -> tuple[int, float]:
    """Wait for a process; its exit status, and its processor time with that of the processes that it waited for."""
    if not hasattr(os, "wait4"):
        return process.wait(), math.nan
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, used.ru_utime + used.ru_stime
