"""Assertions about errors: class, code and location stand in the test, the words in one file beside all tests.

>>> import kapi_sim as kapi
>>> from kapi_sim.testing.reports import raises
>>> with raises(kapi.LimitError, "range-extent"):
...     kapi.Range(-1)

A folder of tests that has a file ``snapshots/messages.txt`` holds the messages of its tests, by code.
Where a message is another than those, the test fails; ``tools/messages.py --rewrite`` writes the file anew, so that
words are improved in one place and read in one diff.
"""

from __future__ import annotations

import functools
import linecache
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from kapi_sim.codes import CODES
from kapi_sim.errors import KapiError, KernelCompilationError

__all__ = ["Message", "Raised", "changing", "collecting", "raises", "read_messages", "write_messages"]

SNAPSHOT = Path("snapshots", "messages.txt")
"""The file of the messages, from the folder of the tests."""


class Message(NamedTuple):
    """The messages of one test.

    Attributes
    ----------
    code : str
        The error's.
    file : str
        Name of the test's file.
    words : str
        The message and its notes, or the text of one problem; places, line numbers and addresses are replaced by
        words that stay.
    """

    code: str
    file: str
    words: str


class Raised:
    """The exception that the block of `raises` raised.

    Attributes
    ----------
    value : KapiError
        The error; it is there when the block has ended.
    """

    value: KapiError


_collected: list[tuple[Path, Message]] | None = None


@contextmanager
def raises(
    expected: type[KapiError], *codes: str, line: str | int | tuple[str | int, ...] = (), words: bool = True
) -> Iterator[Raised]:
    """Assert that the block raises an error of this class, with this code and place.

    Parameters
    ----------
    expected : type
        A subclass of `KapiError`.
    *codes : str
        The code; of a compilation error all that must be among those of its problems.
    line : str, int or tuple of these
        Lines that the message must name as ``file:line``, by their number or by a part of their text.
    words : bool
        Whether the message is compared with those of the snapshot; not if it is another one in each run.

    Yields
    ------
    Raised
        Gets the error as its `value`.

    Raises
    ------
    AssertionError
        If nothing is raised, or an error with another code, place or message.
    """
    test = Path(sys._getframe(2).f_code.co_filename)
    unknown = [code for code in codes if code not in CODES]
    if unknown or not codes:
        raise ValueError(f"codes must be rows of kapi_sim.codes.CODES, at least one, got {unknown or 'none'}")
    raised = Raised()
    try:
        yield raised
    except expected as error:
        raised.value = error
    else:
        raise AssertionError(f"{expected.__name__} with code {', '.join(codes)} must be raised, got no error")
    _check(raised.value, codes, line if isinstance(line, tuple) else (line,), test, words)


def _check(error: KapiError, codes: tuple[str, ...], lines: tuple[str | int, ...], test: Path, words: bool) -> None:
    problems = error.problems if isinstance(error, KernelCompilationError) else ()
    found = {error.code, *(problem.code for problem in problems)}
    text = "\n".join([str(error), *getattr(error, "__notes__", ())])
    if not found >= set(codes):
        raise AssertionError(f"error must have code {', '.join(codes)}, got {', '.join(sorted(found))}: {text}")
    locations = list(_locations(text, test))
    for line in lines:
        if not any(_is_at(line, *location) for location in locations):
            raise AssertionError(f"message must name line {line!r}, got {text}")
    if words and problems:
        for problem in problems:
            _compare(test, Message(problem.code, test.name, _stable(problem.text, test)))
    elif words:
        _compare(test, Message(error.code, test.name, _stable(text.replace(f" [{error.code}]", ""), test)))


def _locations(text: str, test: Path) -> Iterator[tuple[int, str]]:
    """The places that a message names, each with its number and its source, where either can be had."""
    for found in re.finditer(r"([^\s`'\"(]+):(\d+)(?:: `([^`\n]*)`)?", text):
        name, number, shown = found[1], int(found[2]), found[3]
        file = str(test) if Path(name).name == test.name else name
        yield number, shown or linecache.getline(file, number)


def _is_at(wanted: str | int, number: int, source: str) -> bool:
    return wanted == number if isinstance(wanted, int) else wanted in source


_CHANGING = (
    (r"(?:[\w.+-]*[\\/])*(?:[\w.+-]+\.py|<[\w -]+>):\d+", "FILE:LINE"),
    (r"(?:(?<=[\s`'\"(])|^)(?:/[\w.+-]+){2,}/?", "PATH"),
    (r"\b(lines?) \d+(?:, \d+)*(?: and (?:line )?\d+)?", r"\1 LINE"),
    (r"\b0x[0-9a-fA-F]{3,}", "ADDRESS"),
)
"""The parts of a message that change from run to run, or where a test is moved."""

_of_the_machine: list[tuple[Path, str, str]] = []


def changing(pattern: str, word: str) -> None:
    """Let messages be compared with a word in place of what is another on each machine, such as a device's name.

    This is for the messages of tests in the folder of the file that calls it.

    Parameters
    ----------
    pattern : str
        A regular expression.
    word : str
        What stands in the snapshot; it may name groups of the pattern.
    """
    _of_the_machine.append((Path(sys._getframe(1).f_code.co_filename).parent, pattern, word))


def _stable(text: str, test: Path) -> str:
    of_the_machine = [(pattern, word) for folder, pattern, word in _of_the_machine if folder in test.parents]
    for pattern, word in (*of_the_machine, *_CHANGING):
        text = re.sub(pattern, word, text, flags=re.MULTILINE)
    return "\n".join(line.rstrip() for line in text.splitlines())


def _compare(test: Path, message: Message) -> None:
    """Raise unless the snapshot of the test's folder has the message; collect it instead where that is asked for."""
    snapshot = _snapshot_of(test.parent)
    if snapshot is None:
        return
    if _collected is not None:
        _collected.append((snapshot, message))
        return
    known = [each for each in _read(snapshot) if each[:2] == message[:2]]
    if message not in known:
        instead = "".join(f"\nor\n{each.words}" for each in known).removeprefix("\nor") or " nothing"
        raise AssertionError(
            f"the message with code {message.code} must be as {SNAPSHOT} has it, got\n{message.words}\nin place of"
            f"{instead}\n`python tools/messages.py --rewrite {test.name}` writes it there"
        )


@functools.cache
def _snapshot_of(folder: Path) -> Path | None:
    return next((each / SNAPSHOT for each in (folder, *folder.parents) if (each / SNAPSHOT).is_file()), None)


@functools.cache
def _read(snapshot: Path) -> tuple[Message, ...]:
    return tuple(read_messages(snapshot))


@contextmanager
def collecting() -> Iterator[list[tuple[Path, Message]]]:
    """Collect the messages of the block's tests, each with the file that it belongs to, and compare nothing."""
    global _collected
    before, _collected = _collected, []
    try:
        yield _collected
    finally:
        _collected = before


def read_messages(snapshot: Path) -> list[Message]:
    """The messages of a snapshot.

    Parameters
    ----------
    snapshot : Path
        A file that `write_messages` wrote.
    """
    found: list[Message] = []
    code = file = ""
    words: list[str] = []
    for line in (*snapshot.read_text("utf-8").splitlines(), "[end]"):
        if line.startswith("    "):
            words.append(line[4:])
            continue
        if words:
            found.append(Message(code, file, "\n".join(words)))
            words = []
        if line.startswith("["):
            code = line[1:-1]
        elif line and not line.startswith("#"):
            file = line
    return found


def write_messages(snapshot: Path, messages: set[Message]) -> None:
    """Write a snapshot: by code, then by the file of the test.

    Parameters
    ----------
    snapshot : Path
        Where it is written.
    messages : set of Message
        All that it is to hold.
    """
    lines = ["# Messages of the tests here. `python tools/messages.py --rewrite` writes this file.", ""]
    code = ""
    for message in sorted(messages):
        if message.code != code:
            lines += [f"[{message.code}]"]
        code = message.code
        lines += [message.file, *(f"    {line}" for line in message.words.splitlines()), ""]
    snapshot.write_text("\n".join(lines), "utf-8")
