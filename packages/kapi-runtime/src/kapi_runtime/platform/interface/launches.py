"""Launches of a platform: work submitted to a queue, in order with the work of the arrays' library."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol

from kapi_runtime.platform.interface.programs import BuiltKernel
from kapi_sim import LocalAccessor, NdRange, Range
from kapi_sim.language.array_memory import ArrayFields

if TYPE_CHECKING:
    from kapi_runtime.platform.handles import HostEvent

__all__ = ["DynamicPlan", "LaunchPlan", "Launcher", "NativeArgument"]


class LaunchPlan(Protocol):
    """Plan of repeated launches, worked out by the first: the fast path.  `Platform.make_plan` makes it.

    It belongs to one kernel, one index space, one queue and one list of argument types.  Whatever differs, or is not
    known to it, takes the slow path, which raises the errors.
    """

    @property
    def device(self) -> Any:
        """The device that it launches on; plans of a device that is reset are dropped."""

    def launch(self, given: tuple[Any, ...], before: list[Any]) -> tuple[HostEvent, Any] | Literal[False] | None:
        """Launch with these arguments after these events, and return the host event and the device event.

        Parameters
        ----------
        given : tuple
            The arguments as the caller gave them.
        before : list
            Events as the caller gave them, none of them resolved; mostly empty, and never changed.

        Returns
        -------
        tuple, False or None
            None if the arguments are not the plan's: another plan may have them.  False if this launch must go the long
            way, whatever its arguments: an event is none of the platform's, there are too many, the driver refuses it,
            or another thread uses the plan.
        """

    def pack(self, given: tuple[Any, ...]) -> bool:
        """Pack the arguments for `send`; False if they are not the plan's."""

    def send(self, owners: Any, before: list[Any]) -> tuple[HostEvent, Any] | Literal[False]:
        """Launch with what was packed last, and keep `owners` alive until it has run; False as for `launch`."""


class DynamicPlan(Protocol):
    """Plan of launches that differ in the shapes of their arrays, too: `Platform.make_dynamic_plan` makes it.

    It belongs to one kernel, one queue, one list of argument types, and to all `Range`s of one rank or all `NdRange`s
    of one local range.
    """

    @property
    def yields_to_plans(self) -> bool:
        """Whether a `LaunchPlan` is so much quicker that an index space that comes again is worth one of its own."""

    @property
    def device(self) -> Any:
        """The device that it launches on; plans of a device that is reset are dropped."""

    def launch(
        self, global_range: Range, given: tuple[Any, ...], before: list[Any]
    ) -> tuple[HostEvent, Any] | Literal[False] | None:
        """Launch over a global range with these arguments after these events; see `LaunchPlan.launch`."""


NativeArgument = bytes | LocalAccessor | ArrayFields
"""The arguments of a submission: bytes are a value, an accessor is local memory of that size, and the fields of an
array are a pointer to its first element."""


class Launcher(ABC):
    """Submits work to queues and keeps what it needs alive."""

    @abstractmethod
    def submitted_range(
        self, kernel: BuiltKernel, global_range: Sequence[int], local_range: Sequence[int] | None, can_round: bool
    ) -> tuple[list[int], list[int] | None]:
        """Return the global range to submit and the local one, for an index space within the kernel's limits.

        Parameters
        ----------
        kernel : BuiltKernel
            What is launched.
        global_range : sequence of int
            One to three extents, the fastest last; at least one work-item.
        local_range : sequence of int or None
            None for a `Range`, whose work-groups nobody has chosen.
        can_round : bool
            Whether more work-items may run than were asked for: those outside do nothing.

        Returns
        -------
        global_range, local_range : list of int
            The local one None where the driver is to choose.

        Raises
        ------
        LimitError
            If the device has a limit that this index space exceeds, such as groups along an axis.
        """

    @abstractmethod
    def native_events(self, events: Sequence[Any]) -> list[Any]:
        """Return the platform's own event of each event that a launch is to wait for.

        Parameters
        ----------
        events : sequence
            Host events, events of `call_kernel_async`, `Event` marks (one that was not recorded is waited for by
            nobody), native events.

        Raises
        ------
        KernelLaunchError
            If one is something else, such as an event of another platform.
        """

    @abstractmethod
    def native_arguments(self, queue: Any, arguments: Sequence[NativeArgument]) -> Sequence[Any]:
        """Return what `submit` takes; the caller keeps it until the kernel has run, with what the arrays belong to.

        Parameters
        ----------
        queue : object
            Where the launch goes.
        arguments : sequence of bytes, LocalAccessor or ArrayFields
            A value by its bytes; local memory for each work-group; a pointer to the first element of an array, valid
            also for an array without elements.
        """

    @abstractmethod
    def submit(
        self,
        queue: Any,
        kernel: BuiltKernel,
        native: Sequence[Any],
        global_range: Sequence[int],
        local_range: Sequence[int] | None,
        before: Sequence[Any],
        owners: Any = None,
    ) -> Any:
        """Submit a kernel after these events, which are all that it waits for, and return its event.

        Parameters
        ----------
        queue : object
            Where to.
        kernel : BuiltKernel
            What is launched.
        native : sequence
            What `native_arguments` gave.
        global_range, local_range : sequence of int
            What `submitted_range` gave.
        before : sequence
            Native events.
        owners : object
            What the launch uses.  The caller holds it once it has the event.  A platform that runs the launch before it
            returns holds it where Ctrl-C ends that: the launch goes on.

        Raises
        ------
        KernelLaunchError
            If the driver refuses; the message is what the driver says, and the caller adds what was launched.
        """

    @abstractmethod
    def earlier_work(self, queue: Any) -> list[Any]:
        """Return the native events of what was submitted to a queue so far, by kapi and by others, and may be pending.

        A launch waits for them on the device.  Empty where the queue itself keeps the order.
        """

    @abstractmethod
    def note_work(self, queue: Any, event: Any) -> None:
        """Order all that other libraries, and kapi, submit to the queue from now on after this event.

        Nothing to do where the queue itself keeps the order.
        """

    def barrier(self, queue: Any, before: Sequence[Any]) -> Any:
        """Return an event that is done when these events are; done at once for none.  For launches of no work-item."""
        return queue.submit_barrier(before)

    @abstractmethod
    def host_event(self, event: Any, release: Callable[[], None]) -> HostEvent:
        """Return the host's side of a launch, whose `wait` calls `release` once the event is done."""

    @abstractmethod
    def make_plan(
        self,
        kernel: BuiltKernel,
        queue: Any,
        given: tuple[Any, ...],
        packed: bytes,
        global_range: Sequence[int],
        local_range: Sequence[int] | None,
    ) -> LaunchPlan | None:
        """Return the plan of a launch that was validated, or None: then each launch like it takes the slow path.

        Parameters
        ----------
        kernel : BuiltKernel
            What is launched; its module has no table of failures.
        queue : object
            Where to.
        given : tuple
            The arguments as the caller gave them.
        packed : bytes
            The packed argument that the slow path made of them; a plan must make the same bytes.
        global_range, local_range : sequence of int
            What is submitted.
        """

    def make_dynamic_plan(
        self,
        kernel: BuiltKernel,
        queue: Any,
        space: Range | NdRange,
        given: tuple[Any, ...],
        packed: bytes,
        local_range: Sequence[int] | None,
    ) -> DynamicPlan | None:
        """Return a plan of launches like one that was validated, but for shapes; None where the platform has none.

        Parameters
        ----------
        kernel, queue, given, packed, local_range
            As of `make_plan`.
        space : Range or NdRange
            The index space that was asked for.
        """
        return None

    @abstractmethod
    def keep(self, queue: Any, event: Any, owners: Any) -> None:
        """Hold `owners` until the event is done; they are let go by a later call of `keep`, `release` or `finish`.

        They are never destroyed in a callback of the driver, nor under a lock: their destructors may launch.
        """

    @abstractmethod
    def release(self) -> None:
        """Let go of the owners of all launches that are done; waits for none."""

    @abstractmethod
    def finish(self, device: Any = None) -> None:
        """Wait for all that is held, on one native device or `Device` or on all, and let go of it; also at exit."""
