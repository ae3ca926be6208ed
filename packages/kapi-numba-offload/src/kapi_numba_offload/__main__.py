"""The command line: ``python -m kapi_numba_offload report PROGRAM``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from kapi_numba_offload.frontend.program_report import report_program
from kapi_sim.errors import KapiError
from kapi_sim.programs.running import require_program

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Carry out one command, and return the exit status: the program's, or 2 if there is none.

    - `arguments`: as after ``python -m kapi_numba_offload``; those of the program if left out.
    """
    parser = argparse.ArgumentParser(
        prog="python -m kapi_numba_offload", description="njit functions over device arrays."
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    reporting = commands.add_parser(
        "report", help="run a program, and print the time and the bytes moved for each line of its offloaded functions"
    )
    reporting.add_argument("--html", type=Path, metavar="FILE", help="write a page with a picture as well")
    reporting.add_argument("program", type=Path)
    reporting.add_argument("arguments", nargs=argparse.REMAINDER, help="those of the program")
    given = parser.parse_args(arguments)
    try:
        require_program(given.program)
    except KapiError as error:
        print(error, file=sys.stderr)
        return 2
    report = report_program(given.program, given.arguments)
    print(report.text)
    if given.html is not None:
        given.html.write_text(report.page, encoding="utf-8")
    return report.status


if __name__ == "__main__":
    sys.exit(main())
