"""The problems: each module has a NAME and a function `build(scale)` that gives a Workload."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["Workload"]


@dataclass(frozen=True)
class Workload:
    """One problem at one size.

    Attributes
    ----------
    name : str
        Problem and size.
    candidates : dict of str to callable
        Column to a call that solves the problem once and waits.
    verify : callable
        Raises AssertionError unless every candidate's last result is right.
    """

    name: str
    candidates: dict[str, Callable[[], object]]
    verify: Callable[[], None]
