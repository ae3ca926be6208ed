"""One launch: placed by its arguments, validated, ordered with all other work on the queue, and submitted.

Kernels of every origin take this path: what differs is how the code is built for a queue and which arguments it is
submitted with, and that is `BuiltLaunch`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from kapi_lowering import KernelModule, Target
from kapi_lowering.target import SMALL_EXTENT
from kapi_runtime.launch.arguments import Arguments, launch_queue
from kapi_runtime.launch.failures import FailureWatch
from kapi_runtime.launch.index_space import submitted_range
from kapi_runtime.launch.overlaps import check_no_overlap
from kapi_runtime.launch.packing import packed_arguments, with_address
from kapi_runtime.platform import recorder
from kapi_runtime.platform.current import caller
from kapi_runtime.platform.handles import HostEvent
from kapi_runtime.platform.interface import BuiltKernel, DynamicPlan, LaunchPlan, NativeArgument, Platform
from kapi_runtime.platform.log import log_device
from kapi_sim import DriverError, KernelLaunchError, LimitError, LocalAccessor, NdRange, Range
from kapi_sim.forks import block_forks
from kapi_sim.language.array_memory import ArrayFields
from kapi_sim.log import launches
from kapi_sim.short_repr import short_repr

__all__ = ["BuiltLaunch", "CompileFor", "Prepared", "compiled", "is_small", "prepare", "require_assumptions"]

CompileFor = Callable[["Platform", "Target", "KernelModule | None"], "KernelModule"]
"""From a platform, a target, and a module that a driver refused, to a module."""


@dataclass(frozen=True, slots=True)
class BuiltLaunch:
    """A kernel that is built for the queue of a launch, and what it is submitted with.

    - `arguments`: with what.
    - `module`: what it was compiled to; None for code that kapi did not compile.
    """

    kernel: BuiltKernel
    arguments: Sequence[NativeArgument]
    module: KernelModule | None = None


@dataclass(frozen=True, slots=True)
class Prepared:
    """A launch that was validated, and needs only to be submitted; `prepare` makes it.

    - `space`: what it was asked for.
    - `platform`: whose the arguments are.
    - `queue`: where they are.
    - `made`: what is submitted.
    - `global_range`, `local_range`: what is submitted; no global range where there are no work-items, no local one
      where the driver chooses.
    """

    space: Range | NdRange
    arguments: Arguments
    platform: Platform
    queue: Any
    made: BuiltLaunch
    global_range: list[int] | None
    local_range: list[int] | None

    def submit(self, dependent_events: Sequence[Any]) -> tuple[HostEvent, Any]:
        """Submit it after these events and all earlier work on the queue.

        Returns the events as `call_kernel_async` does. Raises `KernelLaunchError` if the driver refuses it, or
        something in `dependent_events` is no event.
        """
        platform, queue, made = self.platform, self.queue, self.made
        before = platform.native_events(dependent_events)
        if self.global_range is None:
            event = platform.barrier(queue, before)
            return platform.host_event(event, platform.release), event
        watch, arguments = self._watched()
        native = platform.native_arguments(queue, arguments)
        copied = self.arguments.copied
        owners = self.arguments.given, native, made.kernel, watch, copied
        try:
            event = self._submitted(native, [*platform.earlier_work(queue), *before], owners)
        except KernelLaunchError as error:
            raise KernelLaunchError(
                f"kernel `{made.kernel.name}` must be accepted by the driver, got {error.message}\n"
                f"  index space: {short_repr(self.space)}\n"
                f"  arguments:   {self.arguments.describe()}\n"
                f"  queue:       {platform.describe_queue(queue)}",
                code="launch-refused",
            ) from error
        platform.note_work(queue, event)
        platform.keep(queue, event, owners)
        host_event = platform.host_event(event, platform.release if watch is None else watch.release)
        if copied is not None:
            try:
                host_event.wait()
            finally:  # what work-items stored before one failed stays stored
                copied.copy_out()
        return host_event, event

    def time(self) -> float:
        """Submit it, wait, and return for how long it ran on the device, in nanoseconds.

        Raises `KernelLaunchError` if the driver refuses it, or its arguments are copied for each launch; `Exception`:
        what a work-item raised.
        """
        platform, made, queue = self.platform, self.made, self.queue
        if self.global_range is None:
            return 0.0
        if self.arguments.copied is not None:
            raise KernelLaunchError(
                f"arguments of kernel `{made.kernel.name}` must be on the device to be timed, got NumPy arrays that "
                "each launch would copy: copy them by `kapi.memory.asarray` before",
                code="array-on-host",
            )
        watch, arguments = self._watched()
        native = platform.native_arguments(queue, arguments)
        owners = self.arguments.given, watch
        caller.waits = True  # where the caller may run it, its time has no other thread's in it
        try:
            event = platform.submit_timed(
                queue,
                platform.earlier_work(queue),
                lambda on, after: platform.submit(
                    on, made.kernel, native, self.global_range or (), self.local_range, after, owners
                ),
            )
        finally:
            caller.waits = False
        platform.note_work(queue, event)
        times = platform.times(event)
        if watch is not None:
            watch.check()
        return float(times.end - times.start)

    def _watched(self) -> tuple[FailureWatch | None, Sequence[NativeArgument]]:
        """The record of failures of one launch, if there is one, and the arguments with its address."""
        made, arguments = self.made, self.made.arguments
        if made.module is None or not made.module.failures:
            return None, arguments
        watch = FailureWatch(made.module, self.space, self.platform, self.queue)
        packed, *others = arguments
        assert isinstance(packed, bytes)  # what `compiled` gave
        return watch, [with_address(packed, made.module, watch.address), *others]

    def plan(self) -> LaunchPlan | None:
        """Return a plan for launches like this one, or None if there is none."""
        packed = self._planned_argument
        if packed is None or self.global_range is None:
            return None
        return self.platform.make_plan(
            self.made.kernel, self.queue, self.arguments.given, packed, self.global_range, self.local_range
        )

    def dynamic_plan(self) -> DynamicPlan | None:
        """Return a plan for launches like this one but for the shapes, or None if there is none."""
        packed = self._planned_argument
        if packed is None or self.global_range is None:
            return None
        return self.platform.make_dynamic_plan(
            self.made.kernel, self.queue, self.space, self.arguments.given, packed, self.local_range
        )

    @property
    def _planned_argument(self) -> bytes | None:
        """The packed argument of a launch that may have plans; None for others."""
        module, packed = self.made.module, self.made.arguments[0] if self.made.arguments else None
        return None if module is None or module.failures or not isinstance(packed, bytes) else packed

    def _submitted(self, native: Sequence[Any], before: Sequence[Any], owners: Any) -> Any:
        platform, kernel = self.platform, self.made.kernel
        assert self.global_range is not None  # there are work-items
        full, local = self.global_range, self.local_range
        if recorder.active is None:
            return platform.submit(self.queue, kernel, native, full, local, before, owners)
        return recorder.submit(
            platform,
            self.queue,
            before,
            lambda on, after: platform.submit(on, kernel, native, full, local, after, owners),
            kind="launch",
            name=kernel.name,
            space=repr(self.space),
            nbytes=self.arguments.nbytes,
        )


def prepare(
    name: str, space: Range | NdRange, arguments: Arguments, make: Callable[[Platform, Any], BuiltLaunch]
) -> Prepared:
    """Find the queue, build the kernel if it is not yet, and validate a launch.

    - `name`: the kernel's name, for messages.
    - `make`: gives, for a platform and a queue, what is submitted there.

    Raises `ExecutionPlacementError` if the arguments do not share one queue; `KernelLaunchError` if index space, kernel
    and arguments do not fit each other, or arguments overlap; `LimitError` if the launch exceeds a limit of the device;
    `DriverError` if the driver refuses the kernel; `ForkError` in a process that was forked after a device was used.
    """
    launches.refresh()
    with block_forks():  # the first launch imports, compiles, and asks the device for its properties
        platform, queue = launch_queue(name, arguments)
        platform.require_usable()
        log_device(platform, queue)
        made = make(platform, queue)
        global_range, local_range = None, None
        full = space if isinstance(space, Range) else space.global_range
        if full.size > 0:
            global_range, local_range = submitted_range(platform, space, made.kernel, arguments.accessors, made.module)
    return Prepared(space, arguments, platform, queue, made, global_range, local_range)


def compiled(
    space: Range | NdRange, arguments: Arguments, compile_for: CompileFor
) -> Callable[[Platform, Any], BuiltLaunch]:
    """Return what makes a launch of a kernel that kapi compiles, for `prepare`.

    - `compile_for`: gives the module for arguments of these types and a target, and for a module that a driver refused
      the one that was compiled anew, or the same.
    """

    def built(platform: Platform, queue: Any, target: Target) -> tuple[KernelModule, BuiltKernel]:
        module = compile_for(platform, target, None)
        try:
            return module, platform.built(module, queue)
        except DriverError:
            again = compile_for(platform, target, module)
            if again is module:
                raise
            # What the disk cache had and the driver refuses is compiled once more.
            return again, platform.built(again, queue)

    def make(platform: Platform, queue: Any) -> BuiltLaunch:
        device, small = platform.device_of(queue), is_small(space, arguments)
        module, kernel = built(platform, queue, platform.launch_target(device, small, True))
        are_inputs_disjoint = check_no_overlap(module, arguments)
        if module.target.reads_apart and not are_inputs_disjoint:
            module, kernel = built(platform, queue, platform.launch_target(device, small, False))
        require_assumptions(module, small, are_inputs_disjoint)
        full, local = (space, None) if isinstance(space, Range) else (space.global_range, space.local_range)
        packed = packed_arguments(module, module.packed_extents(full, local), arguments)
        return BuiltLaunch(kernel, (packed, *arguments.accessors), module)

    return make


def is_small(space: Range | NdRange, arguments: Arguments) -> bool:
    """Whether the index space, and all arrays, have extents that 31 bits hold."""
    full = space if isinstance(space, Range) else space.global_range
    if any(extent >= SMALL_EXTENT for extent in full):
        return False
    shapes = [value.shape for value in arguments.read if isinstance(value, (ArrayFields, LocalAccessor))]
    return all(extent < SMALL_EXTENT for shape in shapes for extent in shape)


def require_assumptions(module: KernelModule, small: bool, are_inputs_disjoint: bool) -> None:
    """Raise if a launch does not keep what a module takes for granted, which its target says.

    Raises `LimitError` if an extent is too large; `KernelLaunchError` if an array that is read shares memory with one
    that is written.
    """
    if module.target.is_small and not small:
        raise LimitError(
            f"index space and arrays of kernel `{module.name}` must have extents below {SMALL_EXTENT}, which its "
            "target was told, got a larger one: compile it for a target without `is_small`",
            code="range-too-large",
        )
    if module.target.reads_apart and not are_inputs_disjoint:
        raise KernelLaunchError(
            f"arrays that kernel `{module.name}` reads must share no memory with those that it writes, which its "
            "target was told, got some that do: compile it for a target without `reads_apart`",
            code="arguments-overlap",
        )
