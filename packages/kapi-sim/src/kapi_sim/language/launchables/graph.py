"""Graphs of launches, in every back end: recorded once inside a ``with`` block, and replayed by one call."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from contextvars import ContextVar
from types import TracebackType
from typing import Any, Self

from kapi_sim.errors import KapiError, KernelLaunchError
from kapi_sim.short_repr import short_repr
from kapi_sim.tracebacks import shorten

__all__ = ["RecordedLaunches", "Slot", "require_not_recording", "simulated", "slot_values"]

simulated: ContextVar[Any] = ContextVar("kapi_sim_graph", default=None)
"""The graph that records the simulator's launches of this thread or task, or None."""


def require_not_recording(what: str, graph: Any) -> None:
    """Raise unless the host may read what was launched: what a graph records runs later.

    Parameters
    ----------
    what : str
        What reads or waits, for the message.
    graph : object
        The graph that is recording, or None.

    Raises
    ------
    KernelLaunchError
        If there is a graph.
    """
    if graph is not None:
        raise KernelLaunchError(
            f"{what} must be outside of the block that records a graph, got it inside: what is recorded has not run "
            "yet, and runs at each replay",
            code="graph-host-wait",
        )


class Slot:
    """An argument of recorded launches that `RecordedLaunches.update` replaces; `RecordedLaunches.slot` makes it.

    Attributes
    ----------
    name : str
        By which `RecordedLaunches.update` takes it.
    value : object
        The argument at present.
    """

    __slots__ = ("name", "value")

    def __init__(self, name: str, value: Any) -> None:
        self.name, self.value = name, value

    def __repr__(self) -> str:
        return f"<slot {self.name}: {short_repr(self.value)}>"


def slot_values(given: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the arguments of a launch with the present value of each slot in its place."""
    return tuple(value.value if isinstance(value, Slot) else value for value in given)


class RecordedLaunches(ABC):
    """Launches that a ``with`` block records, and that a call replays in their order.

    Launches inside of the block run at each replay, and not in the block.  `call_kernel` does not wait there, and the
    events of `call_kernel_async` serve later launches of the same block alone.  All else in the block runs at once and
    once, also what NumPy does.  The graph keeps all arguments alive.
    """

    def __init__(self) -> None:
        self._state = "new"
        self._slots: dict[str, Slot] = {}

    def slot(self, name: str, value: Any) -> Slot:
        """Return an argument for recorded launches that `update` replaces in all of them.

        Parameters
        ----------
        name : str
            An identifier that no other slot of the graph has.
        value : array or number or other argument of a kernel
            The first value.

        Raises
        ------
        KernelLaunchError
            If the graph is not recording, or the name is none or is taken.
        """
        self._require("recording", "slots must be made inside of the block that records")
        if not name.isidentifier() or name in self._slots:
            raise KernelLaunchError(
                f"name of a slot must be an identifier of its own, got {short_repr(name)}", code="graph-slot"
            )
        made = self._slots[name] = Slot(name, value)
        return made

    def update(self, **values: Any) -> None:
        """Put other arguments into slots, for the replays that are submitted from now on.

        Parameters
        ----------
        **values
            New arguments by the names of their slots.

        Raises
        ------
        KernelLaunchError
            If the graph has no slot of a name, or is not recorded; also if a launch does not take the new argument.
            All slots are then as they were.
        """
        self._require_recorded()
        for name in values:
            if name not in self._slots:
                raise KernelLaunchError(
                    f"values of update must be of slots of the graph ({', '.join(self._slots) or 'it has none'}), got "
                    f"{name}: `{name} = graph.slot({name!r}, value)` makes one while it records",
                    code="graph-slot",
                )
        before = {name: self._slots[name].value for name in values}
        try:
            for name, value in values.items():
                self._slots[name].value = value
            self._changed({self._slots[name] for name in values})
        except BaseException as error:
            for name, value in before.items():
                self._slots[name].value = value
            shorten(error, isinstance(error, KapiError))
            raise

    @abstractmethod
    def __call__(self, dependent_events: Iterable[Any] = ()) -> tuple[Any, Any]:
        """Replay after these events, without a wait, and return the events of `call_kernel_async`."""

    @abstractmethod
    def run(self) -> None:
        """Replay, and wait."""

    def __enter__(self) -> Self:
        if self._state != "new":
            raise KernelLaunchError(
                "a graph must be recorded once, got another block with it: make a new one by `graph(queue)`",
                code="graph-recorded",
            )
        self._begin()
        self._state = "recording"
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._state = "broken"  # unless it ends well
        self._end(kind is None)
        if kind is None:
            self._state = "recorded"

    def _require_recorded(self) -> None:
        if self._state == "new":
            raise KernelLaunchError(
                "a graph must be recorded before it is used, got an empty one: `with graph:` records", code="graph-new"
            )
        if self._state == "recording":
            raise KernelLaunchError(
                "a graph must be used after the block that records it, got a use inside of the block",
                code="graph-recording",
            )
        if self._state == "broken":
            raise KernelLaunchError(
                "a graph must be recorded to its end, got one whose block was left by an error: record a new one",
                code="graph-broken",
            )

    def _require(self, state: str, requirement: str) -> None:
        if self._state != state:
            raise KernelLaunchError(f"{requirement}, got a graph that is {self._state}", code="graph-not-recording")

    def _require_own(self, given: tuple[Any, ...]) -> None:
        """Raise unless the slots among the arguments of a launch are the graph's."""
        for value in given:
            if isinstance(value, Slot) and self._slots.get(value.name) is not value:
                raise KernelLaunchError(
                    f"slots of a launch must be of the graph that records it, got {value!r} of another one",
                    code="graph-slot",
                )

    @abstractmethod
    def _begin(self) -> None:
        """Have the launches of this thread or task recorded."""

    @abstractmethod
    def _end(self, is_complete: bool) -> None:
        """Record no more; what was recorded is thrown away unless the block ended well."""

    @abstractmethod
    def _changed(self, slots: set[Slot]) -> None:
        """Take the new values of these slots."""
