"""Graphs of launches in the simulator: each replay runs all launches anew, with all checks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kapi_sim.errors import KapiError, KernelLaunchError
from kapi_sim.kernels import DoneEvent, Kernel
from kapi_sim.language import NdRange, Range
from kapi_sim.language.launchables import graph as language
from kapi_sim.language.launchables.graph import Slot, simulated, slot_values
from kapi_sim.language.launchables.launchable import BoundLaunch
from kapi_sim.tracebacks import shorten

__all__ = ["Graph", "graph"]


class Graph(language.Graph):
    """Launches that a ``with`` block records, and that a call runs in their order; `graph` makes it.

    Inside of the block they do not run.  See `kapi_sim.language.launchables.graph.Graph`, whose rules it has.

    Examples
    --------
    >>> import numpy as np, kapi_sim as kapi
    >>> @kapi.kernel
    ... def add(item: kapi.Item, target, value):
    ...     target[item.get_id(0)] += value
    >>> target = np.zeros(3)
    >>> with kapi.graph() as step:
    ...     value = step.slot("value", 1.0)
    ...     kapi.call_kernel(add, kapi.Range(3), target, value)
    ...     kapi.call_kernel(add, kapi.Range(3), target, value)
    >>> step.run()
    >>> step.update(value=10.0)
    >>> step.run()
    >>> target
    array([22., 22., 22.])
    """

    def __init__(self) -> None:
        super().__init__()
        self._launches: list[tuple[BoundLaunch, dict[str, Slot]]] = []

    def add(self, kernel: Kernel, space: Range | NdRange, given: tuple[Any, ...]) -> None:
        """Record a launch."""
        self._require_own(given)
        launch = BoundLaunch(kernel, space, slot_values(given))
        slots = {name: value for name, value in zip(launch._names, given, strict=False) if isinstance(value, Slot)}
        self._launches.append((launch, slots))

    def __call__(self, dependent_events: Iterable[Any] = ()) -> tuple[Any, Any]:
        self._require_recorded()
        before = dependent_events
        try:
            for launch, _ in self._launches:
                launch.kernel.submit(launch.index_space, before, launch.given)
                before = ()
        except Exception as error:
            shorten(error, isinstance(error, KapiError))
            raise
        return DoneEvent(), DoneEvent()

    def run(self) -> None:
        self()

    def __repr__(self) -> str:
        return f"<graph of {len(self._launches)} launches, {self._state}>"

    def _begin(self) -> None:
        if simulated.get() is not None:
            raise KernelLaunchError(
                "one graph must be recorded at a time, got another one inside of its block", code="graph-nested"
            )
        simulated.set(self)

    def _end(self, is_whole: bool) -> None:
        simulated.set(None)
        if not is_whole:
            self._launches.clear()

    def _changed(self, slots: set[Slot]) -> None:
        for launch, its in self._launches:
            changed = {name: slot.value for name, slot in its.items() if slot in slots}
            if changed:
                launch.replace(**changed)


def graph(queue: Any = None) -> Graph:
    """Return a graph, which records the launches of a ``with`` block and replays them.

    Parameters
    ----------
    queue : object, optional
        The queue of the launches on a device; the simulator has none.

    Returns
    -------
    Graph

    Raises
    ------
    KernelLaunchError
        At the beginning of the block, if another graph is recording in this thread.
    """
    return Graph()
