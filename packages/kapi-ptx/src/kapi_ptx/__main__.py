"""The command line: ``python -m kapi_ptx FILE.py:KERNEL --signature "item1, float32[:]" --sm 90 -o KERNEL.ptx``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from kapi_lowering.command_line import CommandLine, run
from kapi_ptx.compiler import COMPILER
from kapi_ptx.target import KAPI_DEFAULT_TARGET, PtxTarget

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Compile a kernel of a file to PTX, and return the exit status: 1 if it cannot be compiled.

    - `arguments`: as after ``python -m kapi_ptx``; those of the program if left out.
    """
    return run(CommandLine(COMPILER, ".ptx", _add_options, _target), arguments)


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--sm", type=int, default=KAPI_DEFAULT_TARGET.sm, help="the architecture, 90 for sm_90; %(default)s if left out"
    )
    parser.add_argument("--ptx-version", default="", help="the lowest that knows the architecture if left out")


def _target(given: argparse.Namespace) -> PtxTarget:
    return PtxTarget(given.sm, given.ptx_version)


if __name__ == "__main__":
    sys.exit(main())
