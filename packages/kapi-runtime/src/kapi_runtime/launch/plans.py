"""The plans of one kernel: what repeated launches need, by index space, made by the platform of their arrays."""

from __future__ import annotations

import threading
from typing import Any

from kapi_runtime.launch.preparation import Prepared
from kapi_runtime.platform.interface import LaunchPlan
from kapi_sim import NdRange, Range
from kapi_sim.forks import reinit_after_fork

__all__ = ["PlanTable"]

_SPACES, _PLANS = 64, 8  # index spaces of which a kernel remembers plans, and plans for each


class PlanTable(dict["Range | NdRange", "tuple[LaunchPlan, ...]"]):
    """The plans of one kernel by index space, the latest first; those of old index spaces are forgotten."""

    __slots__ = ("_lock",)

    def __init__(self) -> None:
        super().__init__()
        self._lock = reinit_after_fork(threading.Lock())

    def add(self, space: Range | NdRange, prepared: Prepared, tried: tuple[LaunchPlan, ...]) -> None:
        """Put a plan for launches like this one before the others of its index space.

        Parameters
        ----------
        space : Range or NdRange
            The index space.
        prepared : Prepared
            The launch.
        tried : tuple of LaunchPlan
            The plans of the index space, which the launch is none of.  If they are others by now, another thread has
            made one, and the next launch tells whether that one serves.
        """
        plan = prepared.plan() if self.get(space, ()) == tried else None
        if plan is None:
            return
        with self._lock:
            if self.get(space, ()) == tried:
                self.pop(space, None)
                self[space] = (plan, *tried[: _PLANS - 1])
                while len(self) > _SPACES:
                    del self[next(iter(self))]

    def forget(self, device: Any) -> None:
        """Drop the plans of launches on a device."""
        with self._lock:
            for space, plans in list(self.items()):
                self[space] = tuple(plan for plan in plans if plan.device != device)
