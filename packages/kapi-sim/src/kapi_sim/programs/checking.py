"""``python -m kapi_sim check``: a program under all checks, and a summary of what its kernels did."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kapi_sim.errors import KapiError
from kapi_sim.numba_cuda.launches.dispatcher import other_compiler
from kapi_sim.numba_cuda.support import RefusedWordError
from kapi_sim.programs.front_end import FrontEnd
from kapi_sim.programs.running import require_program, run_program
from kapi_sim.programs.stand_ins import stand_ins
from kapi_sim.settings.simulation_report import Report
from kapi_sim.settings.simulation_settings import simulation
from kapi_sim.tracebacks import is_users_own

__all__ = ["CLEAN", "FAULTY", "INTERRUPTED", "NOT_RUN", "check_program", "summary"]

CLEAN, FAULTY, NOT_RUN = 0, 1, 2
"""Exit statuses of the command."""
_HARMLESS = ("benign race", "harmless race")
"""The first words of notes of races that are no faults."""
_LOCATION = re.compile(r" at (\S+:\d+): `")
INTERRUPTED = 130
"""Status of a program that Ctrl-C ended."""


def check_program(file: Path, arguments: Sequence[str], numba: str = "warn", **controls: Any) -> int:
    """Run a program under checks, and print a summary on standard error.

    - `file`: the program; its imports of ``numba.cuda`` get `kapi_sim.numba_cuda`.
    - `numba`: how a kernel counts that the front end of an installed Numba refuses, or that it is not asked.
    - `**controls`: of `kapi_sim.simulation`.

    Returns `CLEAN`, `FAULTY`, `INTERRUPTED`, or `NOT_RUN`: the program failed for another reason, or launched no
    kernel.
    """
    require_program(file)
    error: Exception | None = None
    location = position = ""
    front_end = None if numba == "off" else FrontEnd.installed()
    other_compiler.set(None if front_end is None else front_end.ask)
    with simulation(**controls) as report, stand_ins() as notes:
        try:
            status, error = run_program(file, arguments)
        except KeyboardInterrupt as interrupt:
            status, location = INTERRUPTED, _location(interrupt)
            notes_of = getattr(interrupt, "__notes__", [])
            position = notes_of[0].removeprefix("interrupted") if notes_of else ""
    if isinstance(error, KapiError):
        report.note_fault("", error)
    other_compiler.set(None)
    refusals = [] if front_end is None else front_end.findings
    for line in (*notes, *summary(report), *(f"numba: {each}" for each in dict.fromkeys(refusals))):
        print(f"kapi_sim: {line}", file=sys.stderr)
    is_interrupted = status == INTERRUPTED and error is None
    is_faulty = any(not isinstance(each.error, RefusedWordError) for each in report.faults)
    is_faulty |= bool(refusals) and numba == "error"
    if is_interrupted or (status and not is_faulty):
        end = "ended with an error" if error else f"exited with status {status}"
        end = f"was interrupted at {location}{position}" if is_interrupted else end
        print(f"kapi_sim: {file} {end}", file=sys.stderr)
    if is_faulty:
        return FAULTY
    if is_interrupted:
        return INTERRUPTED
    return NOT_RUN if status or report.faults or not report.launches else CLEAN


def summary(report: Report) -> list[str]:
    """Return what a report amounts to, as lines: counts, then each fault with its place.

    - `report`: of a simulation that has ended.
    """
    launched = [launch.kernel for launch in report.launches] + [each.kernel for each in report.faults if each.kernel]
    checked = sum(bool(launch.checks) for launch in report.launches)
    errors = [each.error for each in report.faults]
    refused = [each for each in errors if isinstance(each, RefusedWordError)]
    faults = [each for each in errors if not isinstance(each, RefusedWordError)]
    lines = [
        f"{_counted(len(set(launched)), 'kernel', 'kernels')}, {_counted(len(launched), 'launch', 'launches')}: "
        f"{checked} checked to the end, {_counted(len(faults), 'fault', 'faults')}"
    ]
    partial = [each for each in report.launches if each.left_out is not None]
    if partial:
        most = ", ".join(dict.fromkeys(f"{each.left_out} of {each.kernel}" for each in partial[:3]))
        more = ", ..." if len(partial) > 3 else ""
        lines.append(f"not checked: {most}{more}: the other groups were a sample")
    if not launched and not report.faults:
        lines = ["no launch of a kernel came to its end, so nothing was checked"]
    lines += [f"fault: {_described(each)}" for each in faults]
    lines += [f"refused: {_described(each)}" for each in refused]
    harmless = [each for each in report.notes if each.startswith(_HARMLESS)]
    lines += [f"harmless: {_in_one_line(each).removeprefix('harmless ')}" for each in dict.fromkeys(harmless)]
    lines += [f"note: {each}" for each in report.notes if each not in harmless]
    return lines


def _in_one_line(note: str) -> str:
    """Return the first line of a note, after the latter of the places that it names."""
    first, *more = note.split("\n")
    locations = _LOCATION.findall("\n".join(more))
    return f"{locations[-1]}: {first}" if locations else first


def _counted(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"


def _described(error: Exception) -> str:
    """Return the place of a fault, its class, and the first line of its message."""
    message = str(error).partition("\n")[0]
    code = getattr(error, "code", "")
    tag = f" [{code}]" if code and f"[{code}]" not in message else ""
    return ": ".join(filter(None, (_location(error), type(error).__name__, f"{message}{tag}")))


def _location(error: BaseException) -> str:
    """Return ``file:line`` of the innermost line of the user's that an error came from."""
    location = ""
    traceback = error.__traceback__
    while traceback is not None:
        if is_users_own(traceback.tb_frame.f_globals.get("__name__") or ""):
            location = f"{traceback.tb_frame.f_code.co_filename}:{traceback.tb_lineno}"
        traceback = traceback.tb_next
    return location
