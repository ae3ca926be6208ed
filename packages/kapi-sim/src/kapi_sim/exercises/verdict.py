"""The verdict on a reader's kernel: whether it is right, the goals that it reaches, and its faults."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from kapi_sim.errors import KapiError
from kapi_sim.settings.simulation_settings import simulation

__all__ = ["Verdict", "judge"]

_SEEDS = (None, 1, 2, 3)
"""A kernel is right if it is right in each of these orders."""


class Verdict(str):
    """The verdict on a kernel.

    Attributes
    ----------
    is_right : bool
        Whether it does what is asked for.
    goals : tuple of str
        The goals that it reaches, in order.
    problem : str
        The report of the first failure; empty if nothing is.
    """

    is_right: bool
    goals: tuple[str, ...]
    problem: str
    __slots__ = ("goals", "is_right", "problem")

    def __new__(cls, text: str, is_right: bool, goals: tuple[str, ...] = (), problem: str = "") -> Verdict:
        made = super().__new__(cls, text)
        made.is_right, made.goals, made.problem = is_right, goals, problem
        return made


def judge(check: Callable[[Any], object], kernel: Any) -> Verdict:
    """Return what is right with a kernel, and the report of the first failure.

    Parameters
    ----------
    check : callable
        Launches the kernel it is given, and raises AssertionError if the results are others than they should be.
        A generator names each goal, by ``yield``, before it tests it; the verdict then lists them.
    kernel : Kernel
        What is looked at.

    Examples
    --------
    >>> import numpy as np, kapi_sim as kapi
    >>> @kapi.kernel
    ... def double(item: kapi.Item, a):
    ...     a[item.get_id(0)] *= 2
    >>> def check(kernel):
    ...     a = np.arange(4)
    ...     yield "each element is doubled"
    ...     kernel[4](a)
    ...     assert a.tolist() == [0, 2, 4, 6]
    >>> print(judge(check, double))
    `double` is right: it passed all checks, in 4 orders of its work-items.
      right: each element is doubled
    """
    goals: tuple[str, ...] = ()
    for seed in _SEEDS:
        goals, error = _goals(check, kernel, seed)
        if error is None:
            continue
        order = "" if seed is None else f" (in the order that simulation(seed={seed}) replays)"
        head = f"`{kernel.__name__}` is not right yet{order}"
        listed = "".join(f"\n  right: {goal}" for goal in goals[:-1])
        listed += "".join(f"\n  wrong: {goal}" for goal in goals[-1:])
        told = _summary(error, bool(goals))
        text = f"{head}{listed}\n{told}" if goals else f"{head}: {told}"
        return Verdict(text, False, goals[:-1], told)
    listed = "".join(f"\n  right: {goal}" for goal in goals)
    text = f"`{kernel.__name__}` is right: it passed all checks, in {len(_SEEDS)} orders of its work-items."
    return Verdict(text + listed, True, goals)


def _goals(check: Callable[[Any], object], kernel: Any, seed: int | None) -> tuple[tuple[str, ...], Exception | None]:
    """Return the goals that were tested in one order, the last one missed if there is an error."""
    goals: list[str] = []
    try:
        with simulation(seed=seed):
            named = check(kernel)
            if inspect.isgenerator(named):
                goals.extend(map(str, named))
    except Exception as error:
        return tuple(goals), error
    return tuple(goals), None


def _summary(error: Exception, has_goals: bool) -> str:
    notes = "".join(f"\n  {note}" for note in getattr(error, "__notes__", ()))
    if isinstance(error, AssertionError):
        # A goal that is missed says of itself whether it is about results.
        return ("" if has_goals else "its results are wrong. ") + " ".join(str(error).split())
    return f"{type(error).__name__}: {error}{notes if isinstance(error, KapiError) else ''}"
