"""Tracebacks that hold the user's frames only, and the names of files as the user knows them.

A launch goes through some ten frames of kapi, which say nothing about a mistake in a kernel.  They are left out where
the launch returns to the user's code.  The environment variable ``KAPI_FULL_TRACEBACK=1`` leaves all frames in.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from traceback import TracebackException
from types import FrameType, TracebackType

from kapi_sim import environment_variables

__all__ = [
    "file_name",
    "from_program",
    "is_full",
    "is_users_own",
    "rendered",
    "shorten",
    "users_frame",
    "users_frames",
    "with_cell",
]

_NOT_USERS = frozenset(("numpy", "contextlib")).union(
    f"kapi_{name}" for name in ("sim", "types", "lowering", "cpu", "spirv", "ptx", "runtime")
)
_OF_NOTEBOOKS = frozenset(("IPython", "ipykernel"))
_DESCRIBED = re.compile(r"(?P<file>.+?):(?=\d+: )")
_LOCATION = re.compile(r'^  File "(?P<file>.+)", line (?=\d)')


def is_full() -> bool:
    """Return whether the user asks for all frames."""
    return environment_variables.FULL_TRACEBACK.is_on


def is_users_own(module: str) -> bool:
    """Return whether a module of this name is neither of kapi's kernels nor NumPy's."""
    return module.partition(".")[0] not in _NOT_USERS or module.startswith("kapi_sim.testing.")


def users_frame(frame: FrameType) -> FrameType:
    """Return the innermost frame of the user's own code: this one, or the nearest that called it."""
    while frame.f_back is not None and not is_users_own(frame.f_globals.get("__name__") or ""):
        frame = frame.f_back
    return frame


def shorten(error: BaseException, is_reported: bool) -> None:
    """Leave the simulator's frames out of an error's traceback, and of those of its causes.

    The caller has to re-raise with a bare ``raise``, which adds no frame of its own.

    - `error`: what is on its way to the user.
    - `is_reported`: whether the message says all: the simulator found a mistake in the kernel.  The frames below the
      user's last one stay otherwise, for the place of a mistake in the simulator is in them.
    """
    if is_full():
        return
    seen: set[int] = set()
    pending: list[BaseException | None] = [error]
    while pending:
        each = pending.pop()
        if each is None or id(each) in seen:
            continue
        seen.add(id(each))
        each.__traceback__ = users_frames(each.__traceback__, is_reported)
        pending += (each.__cause__, each.__context__)


def users_frames(traceback: TracebackType | None, is_reported: bool) -> TracebackType | None:
    """Return a traceback without the simulator's frames.

    - `traceback`: from the outermost frame on.
    - `is_reported`: whether frames of the simulator below the user's last one are left out too.
    """
    entries = list(_entries(traceback))
    last = max((i for i, entry in enumerate(entries) if _is_users(entry)), default=-1)
    kept: TracebackType | None = None
    for i in reversed(range(len(entries))):
        entry = entries[i]
        is_below = i > last and not is_reported and not _module(entry).startswith("kapi_sim.numbers.")
        if _is_users(entry) or is_below:
            kept = TracebackType(kept, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return kept


def rendered(error: BaseException) -> list[str]:
    """Return an error as the lines that a notebook shows: the user's frames, and cells by their numbers."""
    described = TracebackException(type(error), error, _outside_notebook(error.__traceback__))
    return [_with_cells(line) for part in described.format() for line in part.rstrip("\n").split("\n")]


def from_program(error: BaseException, program: str | os.PathLike[str]) -> str:
    """Return an error that a program ended with as Python reports it, without the frames of who ran the program.

    - `error`: what the program's file raised when it was run.
    - `program`: the file.  An error in its syntax has no frame of it, and is told by its place alone.
    """
    entries = [] if is_full() else list(_entries(error.__traceback__))
    file = os.path.realpath(program)
    found = (each for each in entries if os.path.realpath(each.tb_frame.f_code.co_filename) == file)
    first = next(found, error.__traceback__ if is_full() else None)
    return "".join(TracebackException(type(error), error, first).format()).rstrip("\n")


def file_name(file: str) -> str:
    """Return the short name of a file: its last part, or of a notebook's cell ``Cell In[3]``."""
    return _cell(file) or file.replace("\\", "/").rpartition("/")[2]


def with_cell(described: str) -> str:
    """Return ``file:line: text`` with the name of a notebook's cell in place of its temporary file."""
    location = _DESCRIBED.match(described)
    cell = "" if location is None else _cell(location["file"])
    return described if location is None or not cell else f"{cell}, line {described[location.end() :]}"


def _entries(traceback: TracebackType | None) -> Iterator[TracebackType]:
    while traceback is not None:
        yield traceback
        traceback = traceback.tb_next


def _module(entry: TracebackType) -> str:
    return str(entry.tb_frame.f_globals.get("__name__") or "")


def _is_users(entry: TracebackType) -> bool:
    return is_users_own(_module(entry))


def _outside_notebook(traceback: TracebackType | None) -> TracebackType | None:
    """Leave out the frames of the notebook that runs the cells."""
    kept: TracebackType | None = None
    for entry in reversed(list(_entries(traceback))):
        if _module(entry).partition(".")[0] not in _OF_NOTEBOOKS and _is_users(entry):
            kept = TracebackType(kept, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return kept


def _with_cells(line: str) -> str:
    location = _LOCATION.match(line)
    cell = "" if location is None else _cell(location["file"])
    return line if location is None or not cell else f"  {cell}, line {line[location.end() :]}"


def _cell(file: str) -> str:
    """Return what IPython calls the cell that was compiled as this file; nothing if it is none."""
    get_ipython = getattr(sys.modules.get("IPython"), "get_ipython", None)
    shell = None if get_ipython is None else get_ipython()
    format_code_name = getattr(getattr(shell, "compile", None), "format_code_name", None)
    found = None if format_code_name is None else format_code_name(file)
    return "" if found is None else " ".join(found)
