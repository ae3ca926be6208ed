"""The command line: ``python -m kapi_sim trace FILE``, ``exercise N`` and ``puzzle N``."""

from __future__ import annotations

import argparse
import runpy
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from kapi_sim import trace
from kapi_sim.errors import KapiError, KernelLaunchError
from kapi_sim.exercises import EXERCISES, PUZZLES, find
from kapi_sim.settings.control import simulation
from kapi_sim.tracebacks import from_program, shorten
from kapi_sim.tracing.traces import require_format

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Carry out one command, and return the exit status: 1 if a kernel or a program is wrong, 2 if the command is.

    Parameters
    ----------
    arguments : sequence of str, optional
        As after ``python -m kapi_sim``; those of the program if left out.
    """
    parser = _parser()
    # What a traced program is given may stand anywhere.
    given, rest = parser.parse_known_args(arguments)
    if rest and given.run is not _trace:
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    given.arguments = rest
    try:
        status: int = given.run(given)
    except KapiError as error:
        print(error, file=sys.stderr)
        return 2
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m kapi_sim", description="Kernels in the simulator.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    tracing = commands.add_parser(
        "trace", help="run a program, with all further arguments, and write a page of what its kernels do"
    )
    tracing.add_argument("file", type=Path, help="the program")
    tracing.add_argument("-o", "--output", type=Path, default=Path("trace.html"), help="*.html, *.svg or *.txt")
    tracing.add_argument("--checks", default="all", help='"all", "none", or names with commas between')
    tracing.add_argument("--seed", type=int, help="the order of work-items; program order if left out")
    tracing.add_argument("--limit", type=int, default=100_000, help="most events that are kept")
    tracing.set_defaults(run=_trace)
    for kind, article in (("exercise", "an"), ("puzzle", "a")):
        task = commands.add_parser(kind, help=f"write {article} {kind} here, or say whether it is solved")
        task.add_argument("number", type=int, nargs="?", help="from 1 on; all are listed if it is left out")
        task.add_argument("--answer", action="store_true", help="print the answer")
        task.set_defaults(run=_exercise, kind=kind)
    return parser


def _trace(given: argparse.Namespace) -> int:
    if not given.file.is_file():
        raise KernelLaunchError(f"the program must be a file that is there, got {given.file}", code="kernel-absent")
    require_format(given.output)
    names = given.checks if given.checks in ("all", "none") else given.checks.split(",")
    before = sys.argv, sys.path[:]
    sys.argv = [str(given.file), *given.arguments]
    sys.path.insert(0, str(given.file.resolve().parent))
    status = 0
    try:
        with simulation(names, seed=given.seed), trace(given.limit) as traced:
            try:
                runpy.run_path(str(given.file), run_name="__main__")
            except SystemExit as end:
                status = _status(end.code)
            except Exception as error:
                shorten(error, isinstance(error, KapiError))
                print(from_program(error, given.file), file=sys.stderr)
                status = 1
    finally:
        sys.argv, sys.path[:] = before
    count = len(traced.launches)
    if not count:
        print(f"{given.file} launched no kernel in the simulator, so there is nothing to draw", file=sys.stderr)
        return status or 1
    try:
        traced.save(given.output)
    except OSError as error:
        print(f"{given.output} cannot be written: {error.strerror}", file=sys.stderr)
        return 2
    print(f"{given.output}: {count} launch{'es' * (count != 1)}")
    return status


def _status(code: object) -> int:
    """Return the exit status that a program gave, and print a text that it gave instead."""
    if code is None or isinstance(code, int):
        return code or 0
    print(code, file=sys.stderr)
    return 1


def _exercise(given: argparse.Namespace) -> int:
    if given.number is None:
        print("\n".join(each.title for each in (PUZZLES if given.kind == "puzzle" else EXERCISES)))
        return 0
    exercise = find(given.number, given.kind)
    if given.answer:
        print(exercise.answer.read_text("utf-8"), end="")
        return 0
    own = Path(exercise.file.name)
    if not own.exists():
        shutil.copyfile(exercise.file, own)
        verb = "mend" if given.kind == "exercise" else "write"
        print(f"{own} is here now: {verb} the kernel `{exercise.kernel}` in it, and run this again")
    verdict = exercise.judge(own)
    print(verdict)
    return int(not verdict.is_right)


if __name__ == "__main__":
    sys.exit(main())
