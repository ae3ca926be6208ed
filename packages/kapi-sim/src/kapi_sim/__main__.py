"""The command line: ``python -m kapi_sim trace FILE`` and ``python -m kapi_sim exercise N``."""

from __future__ import annotations

import argparse
import runpy
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from kapi_sim.errors import KapiError, KernelLaunchError
from kapi_sim.exercises import EXERCISES, find
from kapi_sim.settings.control import simulation
from kapi_sim.tracebacks import from_program, rendered, shorten
from kapi_sim.tracing import trace
from kapi_sim.tracing.trace import FORMATS

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
    exercise = commands.add_parser("exercise", help="write an exercise here, or say whether it is solved")
    exercise.add_argument("number", type=int, nargs="?", help="from 1 on; all are listed if it is left out")
    exercise.add_argument("--answer", action="store_true", help="print the answer")
    exercise.set_defaults(run=_exercise)
    return parser


def _trace(given: argparse.Namespace) -> int:
    if not given.file.is_file():
        raise KernelLaunchError(f"the program must be a file that is there, got {given.file}", code="kernel-absent")
    if given.output.suffix.lower() not in FORMATS:
        raise KernelLaunchError(
            f"path must end in {', '.join(FORMATS)}, got {str(given.output)!r}", code="picture-format"
        )
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
                status = end.code if isinstance(end.code, int) else int(end.code is not None)
            except KapiError as error:
                shorten(error, True)
                print("\n".join(rendered(error)), file=sys.stderr)
                status = 1
            except Exception as error:  # the program's own
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


def _exercise(given: argparse.Namespace) -> int:
    if given.number is None:
        print("\n".join(exercise.title for exercise in EXERCISES))
        return 0
    exercise = find(given.number)
    if given.answer:
        print(exercise.answer.read_text("utf-8"), end="")
        return 0
    own = Path(exercise.file.name)
    if not own.exists():
        shutil.copyfile(exercise.file, own)
        print(f"{own} is here now: mend the kernel `wrong` in it, and run this again")
    verdict = exercise.judge(own)
    print(verdict)
    return int(not verdict.is_right)


if __name__ == "__main__":
    sys.exit(main())
