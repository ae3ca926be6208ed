"""A program's file, run as Python runs it: under the name ``__main__``, with its own arguments."""

from __future__ import annotations

import runpy
import sys
from collections.abc import Sequence
from pathlib import Path

from kapi_sim.errors import KapiError, KernelLaunchError
from kapi_sim.tracebacks import from_program, shorten

__all__ = ["require_program", "run_program"]


def require_program(file: Path) -> None:
    """Raise `KernelLaunchError` if there is no such file."""
    if not file.is_file():
        raise KernelLaunchError(f"the program must be a file that is there, got {file}", code="kernel-absent")


def run_program(file: Path, arguments: Sequence[str]) -> tuple[int, Exception | None]:
    """Run a program, and print the error that it ends with as Python does.

    Returns the exit status, and what the program ended with.
    """
    before = sys.argv, sys.path[:]
    sys.argv = [str(file), *arguments]
    sys.path.insert(0, str(file.resolve().parent))
    try:
        runpy.run_path(str(file), run_name="__main__")
    except SystemExit as end:
        return _status(end.code), None
    except Exception as error:
        shorten(error, isinstance(error, KapiError))
        print(from_program(error, file), file=sys.stderr)
        return 1, error
    finally:
        sys.argv, sys.path[:] = before
    return 0, None


def _status(code: object) -> int:
    """Return the exit status that a program gave, and print a text that it gave instead."""
    if code is None or isinstance(code, int):
        return int(code or 0)
    print(code, file=sys.stderr)
    return 1
