"""The error of an intrinsic that is called outside of a kernel.

A back end recognises the words by identity, and rewrites or lowers their calls.  What it cannot
recognise, for want of a source or behind a name that it cannot follow, arrives here: in a kernel that
runs in plain Python the word is carried out all the same, elsewhere it says where it belongs.
"""

from __future__ import annotations

from _thread import get_ident
from collections.abc import Callable
from typing import Any, NoReturn

from kapi_sim.errors import KernelLaunchError

__all__ = ["CARRIED_OUT", "carry_out", "fail_outside"]

CARRIED_OUT: dict[int, Callable[[Any, tuple[Any, ...]], Any]] = {}
"""By thread in which a kernel runs, what takes a word and its arguments and returns the result."""


def carry_out(word: Any, *arguments: Any) -> Any:
    """Return what `word` gives for these arguments in the kernel that runs on this thread.

    Raises
    ------
    KernelLaunchError
        If none does.
    """
    run = CARRIED_OUT.get(get_ident())
    if run is None:
        fail_outside(word)
    return run(word, arguments)


def fail_outside(word: Any) -> NoReturn:
    """Raise for a word that was called where it has no meaning."""
    raise KernelLaunchError(
        f"{word.__name__} must be called by its own name inside a kernel or a device function, got a call from "
        f"elsewhere: write `kapi.{word.__name__}(...)` in a function decorated with @kernel or @device_func "
        "whose source is in a file",
        code="word-by-other-name",
    )
