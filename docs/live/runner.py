"""Runner in the reader's browser: one program of an exercise or a puzzle, judged and traced."""

from __future__ import annotations

import linecache
from itertools import count
from pathlib import Path

import kapi_sim
from kapi_sim import exercises

_numbers = count(1)


def run(kind: str, number: int, text: str) -> dict[str, object]:
    """Judge the reader's kernel in a text.

    Parameters
    ----------
    kind : str
        ``"exercise"`` or ``"puzzle"``.
    number : int
        From 1 on.
    text : str
        A program with the kernel `wrong` of an exercise, or `solve` of a puzzle.

    Returns
    -------
    dict
        ``report``, the judge's words or Python's; ``is_right``; ``trace``, a page, empty if nothing was launched.
    """
    # A file for each run: reports and pictures show the lines of the text that ran.
    file = Path(f"{kind}_{number}_run_{next(_numbers)}.py")
    file.write_text(text, "utf-8")
    with kapi_sim.trace() as trace:
        try:
            verdict = exercises.find(number, kind).judge(file)
            report, is_right = str(verdict), verdict.is_right
        except SyntaxError as error:
            report, is_right = f"{type(error).__name__} in line {error.lineno}: {error.msg}", False
        except Exception as error:
            report, is_right = f"{type(error).__name__}: {error}", False
    linecache.checkcache(str(file))
    # The launch that the verdict is about is the last one.
    trace.launches[:] = trace.launches[-1:]
    return {"report": report, "is_right": is_right, "trace": trace.html() if trace.launches else ""}
