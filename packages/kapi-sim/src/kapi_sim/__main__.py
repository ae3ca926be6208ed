"""The command line: ``python -m kapi_sim check FILE``, ``trace FILE``, ``exercise N`` and ``puzzle N``."""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from kapi_sim import trace
from kapi_sim.errors import KapiError
from kapi_sim.exercises import EXERCISES, PUZZLES, find
from kapi_sim.items.profile import PROFILES
from kapi_sim.programs.checking import check_program
from kapi_sim.programs.running import require_program, run_program
from kapi_sim.settings.simulation_settings import simulation
from kapi_sim.tracing.traces import require_format

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Carry out one command, and return the exit status: 1 if a kernel or a program is wrong, 2 if the command is.

    - `arguments`: as after ``python -m kapi_sim``; those of the program if left out.
    """
    parser = _parser()
    # What a traced program is given may stand anywhere.
    given, rest = parser.parse_known_args(arguments)
    if rest and given.run is not _trace:
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    given.arguments = [*getattr(given, "arguments", ()), *rest]
    try:
        status: int = given.run(given)
    except KapiError as error:
        print(error, file=sys.stderr)
        return 2
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m kapi_sim", description="Kernels in the simulator.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    checking = commands.add_parser(
        "check",
        help="run a program that imports numba.cuda under all checks: status 0 if clean, 1 for faults, 2 if not run",
    )
    checking.add_argument("--checks", default="all", help='"all", "none", or names with commas between')
    checking.add_argument("--seed", type=int, help="the order of threads; program order if left out")
    checking.add_argument("--orders", type=int, default=1, help="how many orders of threads to run and compare")
    checking.add_argument("--profile", choices=sorted(PROFILES), help="the device to pretend")
    checking.add_argument(
        "--wraparound", action="store_true", help="let computed negative indices count from the end, as on a GPU"
    )
    checking.add_argument(
        "--groups", type=float, help="run this many blocks of each launch, or below 1 this part of them, as a sample"
    )
    checking.add_argument(
        "--numba",
        choices=["warn", "error", "off"],
        default="warn",
        help="whether a kernel that an installed Numba does not compile is a warning, a fault, or not asked about",
    )
    checking.add_argument("file", type=Path, help="the program")
    checking.add_argument("arguments", nargs=argparse.REMAINDER, help="what the program is given")
    checking.set_defaults(run=_check)
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
        task.add_argument("--hint", action="store_true", help="print a hint")
        task.add_argument("--answer", action="store_true", help="print the answer")
        task.set_defaults(run=_exercise, kind=kind)
    return parser


def _trace(given: argparse.Namespace) -> int:
    require_program(given.file)
    require_format(given.output)
    with simulation(_names(given.checks), seed=given.seed), trace(given.limit) as traced:
        status, _ = run_program(given.file, given.arguments)
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


def _check(given: argparse.Namespace) -> int:
    return check_program(
        given.file,
        given.arguments,
        numba=given.numba,
        checks=_names(given.checks),
        seed=given.seed,
        schedules=given.orders,
        profile=given.profile,
        wraparound=given.wraparound,
        groups=given.groups,
    )


def _names(checks: str) -> str | list[str]:
    return checks if checks in ("all", "none") else checks.split(",")


def _exercise(given: argparse.Namespace) -> int:
    if given.number is None:
        print("\n".join(each.title for each in (PUZZLES if given.kind == "puzzle" else EXERCISES)))
        return 0
    exercise = find(given.number, given.kind)
    if given.hint:
        print(exercise.hint)
        return 0
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
