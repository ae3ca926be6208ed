"""The words at which work-items of a group meet: barriers and group algorithms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kapi_sim.language.table.group_rows import GROUP_ROWS
from kapi_sim.language.words import group_algorithms
from kapi_sim.language.words.convergence import group_barrier

__all__ = ["ALGORITHM", "Yielded", "defaults_of", "is_algorithm", "is_meeting", "parameters_of"]

Yielded = tuple[Any, ...]
"""What a kernel yields: site (file, line, column, turns of the loops around it), group and fence scope
at a barrier; at a group algorithm `ALGORITHM` in place of the scope, and then the word, the work-item's
value and the other argument.  In a loop: its place, the number of its run, `kapi_sim.memory.watchdog.SPIN`, the
turns since it last yielded, and the variables that its course depends on, if that is known."""

ALGORITHM = -2
"""In place of a fence scope: the work-item is at a group algorithm."""

_ALGORITHMS: dict[int, Callable[..., Any]] = {
    id(function): function for function in (getattr(group_algorithms, row.name) for row in GROUP_ROWS)
}


def is_algorithm(value: object) -> bool:
    """Tell whether `value` is a group algorithm."""
    return id(value) in _ALGORITHMS


def is_meeting(value: object) -> bool:
    """Tell whether `value` is the barrier or a group algorithm."""
    return value is group_barrier or id(value) in _ALGORITHMS


def parameters_of(word: Callable[..., Any]) -> tuple[str, ...]:
    """Return the names of a word's parameters."""
    code = word.__code__
    return code.co_varnames[: code.co_argcount]


def defaults_of(word: Callable[..., Any]) -> dict[str, int]:
    """Return the defaults of a word's parameters, all of which are integers."""
    values = word.__defaults__ or ()
    return {name: int(value) for name, value in zip(parameters_of(word)[-len(values) :], values, strict=False)}
