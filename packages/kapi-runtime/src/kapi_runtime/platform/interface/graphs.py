"""Graphs of a platform: launches and copies of one queue, recorded once and submitted together, as often as wanted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from kapi_runtime.platform.interface.launches import NativeArgument
from kapi_runtime.platform.interface.programs import BuiltKernel
from kapi_sim.language.array_memory import ArrayFields

if TYPE_CHECKING:
    from kapi_runtime.platform.interface import Platform

__all__ = ["NativeGraph"]


class NativeGraph:
    """The work of one graph on a platform.  This class submits it piece by piece; platforms with a shorter path derive.

    Parameters
    ----------
    platform : Platform
        The platform.
    queue : object
        The queue that the work is recorded for, and submitted to.
    """

    def __init__(self, platform: Platform, queue: Any) -> None:
        self.platform, self.queue = platform, queue
        self._steps: list[Callable[[Any, list[Any]], Any]] = []

    def begin(self) -> None:
        """Begin to record, in the calling thread."""

    def end(self) -> None:
        """Record no more, and make ready what was recorded; raises if that cannot be submitted."""

    def abandon(self) -> None:
        """Record no more, and forget what was recorded; raises nothing."""
        self._steps.clear()

    def is_for(self, queue: Any) -> bool:
        """Whether work of a queue belongs to the graph."""
        return bool(queue == self.queue)

    def add_launch(
        self,
        kernel: BuiltKernel,
        arguments: Sequence[NativeArgument],
        global_range: Sequence[int],
        local_range: Sequence[int] | None,
    ) -> Any:
        """Record a launch, with what `Launcher.submit` takes, and return what `change_launch` takes for it."""
        self._steps.append(self._launch(kernel, arguments, global_range, local_range))
        return len(self._steps) - 1

    def change_launch(
        self,
        node: Any,
        kernel: BuiltKernel,
        arguments: Sequence[NativeArgument],
        global_range: Sequence[int],
        local_range: Sequence[int] | None,
    ) -> None:
        """Put another launch in place of a recorded one, for what is submitted from now on."""
        self._steps[node] = self._launch(kernel, arguments, global_range, local_range)

    def add_copy(self, target: ArrayFields, source: ArrayFields, nbytes: int) -> None:
        """Record a copy between contiguous arrays."""
        self._steps.append(lambda on, after: self.platform.submit_copy(on, target, source, nbytes, after))

    def submit(self, queue: Any, before: Sequence[Any], owners: Any) -> Any:
        """Submit all of it after these native events and the queue's earlier work, and return its native event.

        Parameters
        ----------
        queue : object
            The graph's own, or the one that a profile is taken on.
        before : sequence
            Native events.
        owners : object
            What is held until it is done.
        """
        platform = self.platform
        after = [*platform.earlier_work(queue), *before]
        for step in self._steps:
            after = [step(queue, after)]
        event = after[0] if self._steps else platform.barrier(queue, after)
        platform.keep(self.queue, event, owners)
        return event

    def _launch(
        self,
        kernel: BuiltKernel,
        arguments: Sequence[NativeArgument],
        global_range: Sequence[int],
        local_range: Sequence[int] | None,
    ) -> Callable[[Any, list[Any]], Any]:
        platform = self.platform
        native = platform.native_arguments(self.queue, arguments)
        return lambda on, after: platform.submit(on, kernel, native, global_range, local_range, after)
