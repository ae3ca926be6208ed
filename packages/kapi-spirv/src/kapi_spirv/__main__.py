"""The command line: ``python -m kapi_spirv FILE.py:KERNEL --signature "item1, float32[:]" -o KERNEL.spv``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from kapi_lowering.command_line import CommandLine, run
from kapi_spirv.compiler import COMPILER
from kapi_spirv.target import KAPI_DEFAULT_TARGET, SpirvTarget

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Compile a kernel of a file to SPIR-V, and return the exit status: 1 if it cannot be compiled.

    - `arguments`: as after ``python -m kapi_spirv``; those of the program if left out.
    """
    return run(CommandLine(COMPILER, ".spv", _add_options, _target), arguments)


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--spirv-version", default=KAPI_DEFAULT_TARGET.version, help="%(default)s if left out")
    parser.add_argument("--no-fp64", action="store_true", help="for devices without float64")
    parser.add_argument("--no-fp16", action="store_true", help="for devices without float16")


def _target(given: argparse.Namespace) -> SpirvTarget:
    return SpirvTarget(version=given.spirv_version, has_fp64=not given.no_fp64, has_fp16=not given.no_fp16)


if __name__ == "__main__":
    sys.exit(main())
