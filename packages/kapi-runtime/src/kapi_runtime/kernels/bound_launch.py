"""A launch that was validated once, and is made often: the lowest cost of a launch from Python."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kapi_runtime.host.events import EMPTY_LIST, EMPTY_TUPLE, listed_events
from kapi_runtime.kernels.simulator_controls import note_launch, open_reports
from kapi_runtime.launch.preparation import Prepared
from kapi_runtime.platform import recorder
from kapi_runtime.platform.handles import HostEvent
from kapi_runtime.platform.interface import LaunchPlan
from kapi_sim import NdRange, Range
from kapi_sim.language.launchables.launchable import BoundLaunch as _BoundLaunch
from kapi_sim.log import launches

__all__ = ["BoundLaunch"]


class BoundLaunch(_BoundLaunch):
    """A kernel with its index space and arguments, launched by calling it; `Kernel.bind` makes it.

    Examples
    --------
    >>> import dpnp
    >>> import kapi_runtime as kapi
    >>> @kapi.kernel
    ... def fill(item: kapi.Item, target, value):
    ...     target[item.get_id(0)] = value
    >>> target = dpnp.zeros(3)
    >>> launch = fill.bind(kapi.Range(3), target, 1.0)
    >>> host_event, device_event = launch()
    >>> launch.replace(value=2.0)
    >>> launch([device_event])[0].wait()
    >>> target.asnumpy()
    array([2., 2., 2.])
    """

    __slots__ = ("_chosen", "_do_captures_hold", "_owners", "_plan", "_prepared")

    def __init__(self, kernel: Any, index_space: Range | NdRange, args: tuple[Any, ...]) -> None:
        super().__init__(kernel, index_space, args)
        self._chosen: Any
        self._prepared: Prepared
        self._plan: LaunchPlan | None
        self._owners: Any
        self._do_captures_hold: Any
        self._prepare()

    def replace(self, **arguments: Any) -> None:
        """Put other arguments in place of those of these names."""
        super().replace(**arguments)
        # A launch in flight has the packed bytes already, so the plan's memory is free to be changed.
        kernel, others = self.kernel.specialized(self.kernel.as_declared(self.index_space, self.given))
        if kernel is not self._chosen or self._plan is None or not self._plan.pack(others):
            self._prepare()
        self._owners = (self.given, self._plan)

    def _prepare(self) -> None:
        self._chosen, others = self.kernel.specialized(self.kernel.as_declared(self.index_space, self.given))
        self._chosen.renewals()
        self._prepared = self._chosen.prepare(self.index_space, others)
        self._do_captures_hold = self._chosen.do_captures_hold
        self._plan = self._prepared.plan()
        self._owners = (self.given, self._plan)

    def __call__(self, dependent_events: Iterable[Any] = ()) -> tuple[HostEvent, Any]:
        """Launch after these events and all earlier work on the queue, and return the launch's own events."""
        kernel = self.kernel
        if recorder.is_watching and (graph := recorder.graph()) is not None:
            return graph.launch(kernel, self.index_space, self.given, dependent_events)
        before = EMPTY_LIST if dependent_events is EMPTY_TUPLE else listed_events(dependent_events)
        do_captures_hold = self._do_captures_hold
        if self._chosen.do_captures_hold is not do_captures_hold or not do_captures_hold():
            self._prepare()
        plan, events = self._plan, None
        if plan is not None and not recorder.is_watching:
            events = plan.send(self._owners, before)
        if not events:
            if self._prepared.arguments.copied is not None:
                return super().__call__(before)  # copies again
            # A recording, no plan, or a refusal, which is reported by the slow path.
            events = self._prepared.submit(before)
        kernel.count_launch()
        if launches.are_logged or open_reports():
            note_launch(kernel.__name__, self.index_space)
        return events
