"""A right program, and the changes of its text that make it wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import kapi_sim as kapi

__all__ = ["BARRIER", "BOUNDS", "COLLECTIVE", "DEADLOCK", "RACE", "UNWRITTEN", "Fault", "Program"]

RACE = kapi.DataRaceError
BARRIER = (kapi.BarrierDivergenceError, kapi.CollectiveMismatchError)
COLLECTIVE = kapi.CollectiveMismatchError
BOUNDS = kapi.OutOfBoundsError
UNWRITTEN = kapi.UninitializedReadError
DEADLOCK = kapi.DeadlockError

Fault = tuple[str, str, Any]
"""A part of the program's text, what stands in its place, and the class of the error, or several."""


@dataclass(frozen=True, slots=True)
class Program:
    """A kernel that the simulator has nothing to say about.

    Attributes
    ----------
    space : tuple
        The extents of the index space: ``(global, local)`` of an NdRange, ``(grid, block)`` of a launch of numba.cuda.
    arguments : function
        Returns fresh arguments.
    source : str
        The text of a function ``f``.
    faults : dict
        By name, what makes it wrong.
    """

    space: tuple[Any, Any]
    arguments: Callable[[], tuple[Any, ...]]
    source: str
    faults: Mapping[str, Fault]

    def with_fault(self, name: str) -> str:
        """The text with one fault in it."""
        old, new, _ = self.faults[name]
        assert old in self.source
        return self.source.replace(old, new, 1)
