"""`Platform`: everything that a kind of device must answer for kernels to run there, and for the host to manage it.

A platform is one subclass, found by `installed`.  The rooms that all platforms share (kernels, launch, build,
recording, diagnosis, memory) ask it, and know no other name of it.  What it hands out is opaque to them: a *device*, a
*queue*, an *event*, an *allocation* are whatever its library has.  They only compare and hash devices and queues, keep
all of these, and hand them back.

Where arrays carry a queue, that is the queue of a launch.  Where they do not, as with streams, the platform gives an
object that stands for the queue which is current when work is submitted; it stands for the same choice until then, and
is equal to others that stand for the same.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np

from kapi_runtime.platform.handles import Device, DeviceSummary, HostEvent, Queue
from kapi_runtime.platform.numba_cuda import NumbaCudaHost
from kapi_sim import LocalAccessor
from kapi_sim.language.usm_fields import ArrayFields

if TYPE_CHECKING:
    from kapi_lowering import KernelModule, Target
    from kapi_sim.language import KernelOptions

__all__ = [
    "Allocation",
    "BuiltKernel",
    "DeviceLimits",
    "Findings",
    "ForeignCode",
    "KernelInformation",
    "LaunchPlan",
    "NativeArgument",
    "Platform",
    "Times",
    "MemoryKind",
]


class BuiltKernel(Protocol):
    """A kernel that is built for one device, with the limits that its launches keep; `Platform` makes it.

    It is kept alive by whoever launches it, and launches compare it by identity.
    """

    @property
    def name(self) -> str:
        """The kernel's name, for messages."""

    @property
    def native(self) -> Any:
        """What the platform's library calls a kernel: users get it from `information` and the like."""

    @property
    def max_work_group_size(self) -> int:
        """Largest work-group of this kernel on this device, in work-items."""

    @property
    def max_work_item_sizes(self) -> tuple[int, ...]:
        """Largest work-group along each of three dimensions, in work-items, the fastest last."""

    @property
    def max_work_items(self) -> int:
        """Most work-items of one launch."""

    @property
    def local_mem_size(self) -> int:
        """Local memory that a work-group may ask for in a launch, in bytes."""


class Allocation(Protocol):
    """Memory of a device that lives as long as this object; freed when nobody holds it."""

    @property
    def pointer(self) -> int:
        """Its address on the device."""

    def read(self, nbytes: int) -> bytes:
        """Return its first bytes, after the host has waited for the work that fills them; recorded nowhere."""


class LaunchPlan(Protocol):
    """What a repeated launch needs, worked out by the first: the fast path.  `Platform.make_plan` makes it.

    It belongs to one kernel, one index space, one queue and one list of argument types.  Whatever differs, or is not
    known to it, goes the long way, which raises the errors.
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


MemoryKind = Literal["device", "shared", "host"]
"""Where the memory of an array is; see `kapi_runtime.memory`."""

NativeArgument = bytes | LocalAccessor | ArrayFields
"""What a kernel is submitted with: bytes are a value, an accessor is local memory of that size, and the fields of an
array are a pointer to its first element."""


@dataclass(frozen=True, slots=True)
class ForeignCode:
    """Code of a kernel that kapi did not compile.

    Attributes
    ----------
    platform : str
        `Platform.name` of the platform that takes it.
    form : str
        What it is, as that platform calls it, such as "ptx".
    code : bytes or str
        The code; checked by `Platform.checked_code`.
    entry : str
        Name of the kernel in it.
    options : str
        Options for the driver's compiler.
    """

    platform: str
    form: str
    code: bytes | str
    entry: str
    options: str = ""


@dataclass(frozen=True, slots=True)
class Times:
    """When work was submitted, began and ended, in nanoseconds of one clock for each device."""

    submit: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class DeviceLimits:
    """What decides how large work-groups are best made on a device.

    Attributes
    ----------
    compute_units : int
        Units that run work-groups side by side.
    max_work_group_size : int
        Largest work-group, in work-items.
    max_work_item_sizes : tuple of int
        The same along each of three dimensions, the fastest last.
    """

    compute_units: int
    max_work_group_size: int
    max_work_item_sizes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class KernelInformation:
    """The properties of one compiled kernel on a device.

    Attributes
    ----------
    device : str
        Name of the device.
    max_work_group_size : int
        Largest work-group of this kernel, in work-items.
    preferred_work_group_size_multiple : int
        What a work-group's size is best a multiple of, in work-items.
    private_mem_size : int
        Private memory of a work-item, in bytes.
    max_sub_group_size : int
        Largest sub-group of this kernel, in work-items.
    compile_sub_group_size : int or None
        Sub-group size that the kernel demands, in work-items; None if any will do.
    sub_group_sizes : tuple of int
        Sub-group sizes that the device has, in work-items.
    local_mem_size : int
        Local memory that the device has for a work-group, in bytes.

    References
    ----------
    SYCL 2020, section 4.11.13 (kernel information descriptors).
    """

    device: str
    max_work_group_size: int
    preferred_work_group_size_multiple: int
    private_mem_size: int
    max_sub_group_size: int
    compile_sub_group_size: int | None
    sub_group_sizes: tuple[int, ...]
    local_mem_size: int

    def __str__(self) -> str:
        demanded = "any" if self.compile_sub_group_size is None else str(self.compile_sub_group_size)
        sizes = ", ".join(map(str, self.sub_group_sizes))
        return "\n".join(
            (
                self.device,
                f"  work-groups      to {self.max_work_group_size} work-items, best multiples of "
                f"{self.preferred_work_group_size_multiple}",
                f"  sub-groups       to {self.max_sub_group_size} of {sizes} work-items, demanded: {demanded}",
                f"  private memory   {self.private_mem_size} bytes",
                f"  local memory     {self.local_mem_size} bytes",
            )
        )


@dataclass(frozen=True, slots=True)
class Findings:
    """What a platform says of itself in ``python -m kapi_runtime``.

    Attributes
    ----------
    devices : tuple of DeviceSummary
        The devices that kernels can run on, best first; ``str(summary)`` is shown.
    left_out : tuple of str
        Devices that they cannot run on, with the reason.
    settings : tuple of (str, str)
        Environment variables that govern what is found, as far as they are set.
    driver : str
        What the search for a driver came to.
    problems : tuple of str
        What is wrong, with the way out; empty if nothing is.
    launches : str
        Which way repeated launches go, and why if it is the slow one; empty without a device.
    """

    devices: tuple[DeviceSummary, ...]
    left_out: tuple[str, ...]
    settings: tuple[tuple[str, str], ...]
    driver: str
    problems: tuple[str, ...]
    launches: str = ""


class Platform(ABC):
    """One kind of device: what its arrays, queues and kernels are, and how work is submitted there.

    There is one object of a class in a process; `installed` makes it when the first array or device of its kind is met.
    Importing its module may import its library, and touches no device.  All methods may be called by any thread.  What
    a platform caches for a device it drops when `kapi_runtime.platform.reset` says so.

    Attributes
    ----------
    name : str
        What ``kapi_runtime`` calls it, such as "sycl" or "cuda"; also the name of its sub-package.
    compilers : tuple of str
        Packages whose sources decide what `compile` makes, for the key of the disk cache.
    packages : tuple of str
        Distributions whose versions ``python -m kapi_runtime`` shows.
    """

    name: str
    compilers: tuple[str, ...]
    packages: tuple[str, ...]

    # -- arrays

    @abstractmethod
    def fields(self, value: Any) -> ArrayFields | None:
        """Read an array of this platform once: address, shape, strides in elements, dtype, read-only, and its owner.

        `owner` is what `queue_of` needs to know where the array is: its queue, or its device and library.

        Parameters
        ----------
        value : object
            What `installed` takes for one of this platform's, by its class or by DLPack.

        Returns
        -------
        ArrayFields or None
            None if it is no array of this platform after all.

        Notes
        -----
        Waits for no work.  An array of zero elements may have the address 0.
        """

    @abstractmethod
    def queue_of(self, kernel: str, arrays: Sequence[tuple[str, ArrayFields]]) -> Any:
        """Return the one queue of all arrays of a launch.

        Parameters
        ----------
        kernel : str
            Name of the kernel, for messages.
        arrays : sequence of (str, ArrayFields)
            Name and fields of each array argument, in order; at least one, and all of this platform.

        Raises
        ------
        ExecutionPlacementError
            If two of them are on different devices, or on different queues where arrays carry one.  It names the two
            arguments, where each is, and the call that copies one to the other.
        """

    @abstractmethod
    def copy_call(self, name: str, beside: str = "") -> str:
        """Return the call that copies the host's array `name` to a device, as source text for messages.

        Parameters
        ----------
        name : str
            A name in the user's program.
        beside : str
            Name of an array that it is to be beside; "" for the default device.
        """

    # -- devices and queues

    @abstractmethod
    def require_usable(self) -> None:
        """Raise ForkError in a process that was forked after a device was used; cheap, asked by each launch."""

    @abstractmethod
    def devices(self) -> Sequence[Device]:
        """Return the devices that kernels can run on, best first; each is hashable and equal to others of the same."""

    @abstractmethod
    def default_device(self) -> Device | None:
        """Return the device that is used where nothing says otherwise, or None if there is none."""

    @abstractmethod
    def device(self, source: Any) -> Device | None:
        """Return the `Device` that a native device, or a text such as a part of its name, stands for, or None.

        Indices are not asked here: they count the devices of all platforms.
        """

    @abstractmethod
    def missing_device_message(self) -> str:
        """Say what was looked for in vain, where, and what to do."""

    @abstractmethod
    def describe_device(self, device: Any) -> str:
        """Name a device, native or `Device`, in a few words, for messages."""

    @abstractmethod
    def limits(self, device: Any) -> DeviceLimits:
        """Return what decides how large work-groups are best made on a `Device`."""

    @abstractmethod
    def default_queue(self, device: Any) -> Queue:
        """Return the queue of a `Device` that arrays which name no queue live on; the same for each call."""

    @abstractmethod
    def new_queue(self, device: Any, in_order: bool, profiling: bool) -> Queue:
        """Make a queue of a `Device`; on platforms whose queues are all in order or all timed, that is granted."""

    @abstractmethod
    def external_queue(self, source: Any) -> Queue | None:
        """Return the `Queue` of one that somebody else made; None if it is none.

        Parameters
        ----------
        source : object
            A queue of any library that the platform knows; or the address of a native one, as an integer or a
            `ctypes.c_void_p`, which says nothing of its platform: the caller has decided.
        """

    @abstractmethod
    def device_of(self, queue: Any) -> Device:
        """Return the `Device` of a queue."""

    @abstractmethod
    def describe_queue(self, queue: Any) -> str:
        """Name a queue and its device in a few words, for messages."""

    def place_key(self, queue: Any) -> tuple[Any, ...]:
        """Return what a kernel is built for: the device of a queue first, then what else tells builds apart."""
        return (self.device_of(queue),)

    @abstractmethod
    def queue_id(self, queue: Any) -> int:
        """Return a number that tells the queues of a device apart in a trace."""

    @abstractmethod
    def memory_info(self, device: Any) -> tuple[int | None, int]:
        """Return free and total memory of a `Device` in bytes; None where the driver does not say what is free."""

    # -- kernels

    @abstractmethod
    def target_of(self, device: Any) -> Target:
        """Return what to compile for; equal for devices of equal abilities, so that they share what is compiled."""

    def launch_target(self, device: Any, is_small: bool, reads_apart: bool) -> Target:
        """Return what to compile for where launches keep more than the language asks for.

        Parameters
        ----------
        device : Device
            Where they run.
        is_small : bool
            Whether their index spaces and arrays have extents of 31 bits.
        reads_apart : bool
            Whether the arrays that are read share no memory with those that are written.
        """
        return self.target_of(device)

    @abstractmethod
    def compile(
        self, function: Callable[..., Any], signature: tuple[Any, ...], target: Target, options: KernelOptions
    ) -> KernelModule:
        """Compile a kernel; imports the compiler and Numba, which nothing else here does.

        Parameters
        ----------
        function : function
            The kernel.
        signature : tuple of numba.types.Type
            The work-item's type, then the type of each argument.
        target : Target
            What `target_of` gave, or the user.
        options : KernelOptions
            How.

        Raises
        ------
        KernelCompilationError
            If it cannot be compiled.
        """

    @abstractmethod
    def compile_function(
        self, function: Callable[..., Any], signature: Any, device_function: bool, target: Target, **options: Any
    ) -> tuple[bytes, Any]:
        """Compile a function to code that other programs load, and return it with the type of its result.

        Parameters
        ----------
        function : function
            In the kernel language.
        signature : sequence of numba.types.Type
            The type of each parameter.
        device_function : bool
            Whether it is exported with plain arguments, to be called, in place of a kernel.
        target : Target
            What `target_of` gave.
        **options
            "debug", "fastmath" and "opt" of `KernelOptions`.

        Raises
        ------
        KernelCompilationError
            If it cannot be compiled.
        """

    @abstractmethod
    def write_module(self, module: KernelModule, key: str) -> bytes:
        """Return the bytes of a file of the disk cache; ModuleFileError if the module cannot be kept."""

    @abstractmethod
    def read_module(self, data: bytes, key: str) -> KernelModule:
        """Return the module of such a file; ModuleFileError for any other bytes, which are never run."""

    @abstractmethod
    def built(self, module: KernelModule, queue: Any) -> BuiltKernel:
        """Return a module's kernel for the device of a queue, built by the driver at the first call and kept.

        Raises
        ------
        DriverError
            If the driver refuses the module; the message holds its build log.
        LimitError
            If the module needs what the device does not have.
        ExecutionPlacementError
            If it was compiled for another platform.
        """

    @abstractmethod
    def checked_code(self, form: str, code: Any, entry: str) -> bytes | str:
        """Return foreign code as it is kept, checked as far as that needs no device.

        Raises
        ------
        KernelCompilationError
            If it is not of this form, is cut short, or has no kernel of this name; or there is no such form here.
        """

    @abstractmethod
    def built_foreign(self, code: ForeignCode, parameters: Sequence[str], queue: Any) -> BuiltKernel:
        """Build foreign code for the device of a queue; the caller keeps it.

        Parameters
        ----------
        code : ForeignCode
            Checked code.
        parameters : sequence of str
            The kernel's parameters, as the user gave them, as text.
        queue : object
            Its device is built for.

        Raises
        ------
        DriverError
            If the driver refuses it, the entry point is missing, or it has not as many parameters.
        """

    @abstractmethod
    def kernel_information(self, kernel: BuiltKernel, queue: Any) -> KernelInformation:
        """Return what the device says of a kernel."""

    # -- launches

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

    @abstractmethod
    def barrier(self, queue: Any, before: Sequence[Any]) -> Any:
        """Return an event that is done when these events are; done at once for none.  For launches of no work-item."""

    @abstractmethod
    def host_event(self, event: Any, release: Callable[[], None]) -> HostEvent:
        """Return the host's side of a launch, whose `wait` calls `release` once the event is done."""

    @abstractmethod
    def make_plan(
        self,
        kernel: BuiltKernel,
        module: KernelModule,
        queue: Any,
        given: tuple[Any, ...],
        packed: bytes,
        global_range: Sequence[int],
        local_range: Sequence[int] | None,
    ) -> LaunchPlan | None:
        """Return the plan of a launch that was validated, or None: then each launch like it goes the long way.

        Parameters
        ----------
        kernel : BuiltKernel
            What is launched.
        module : KernelModule
            What it was built from; it has no table of failures.
        queue : object
            Where to.
        given : tuple
            The arguments as the caller gave them.
        packed : bytes
            The packed argument that the long way made of them; a plan must make the same bytes.
        global_range, local_range : sequence of int
            What is submitted.
        """

    # -- marks and time

    @abstractmethod
    def mark(self, queue: Any, timing: bool) -> tuple[Any, Any]:
        """Set a mark after all work that was submitted to a `Queue` so far.

        Parameters
        ----------
        queue : Queue
            Where.
        timing : bool
            Whether the device takes the time when the mark is passed.

        Returns
        -------
        event, timed : object
            The native event that is done when the mark is passed, and that which has its time, for `elapsed_ns`; None
            without timing.

        Raises
        ------
        LimitError
            If the device takes no times.
        """

    @abstractmethod
    def hold(self, queue: Any, event: Any) -> None:
        """Let all that kapi and others submit to a `Queue` from now on wait for a native event; the host does not."""

    @abstractmethod
    def elapsed_ns(self, start: Any, end: Any) -> int:
        """Return the time between two marks of one device that were timed and are passed, in ns."""

    @abstractmethod
    def is_done(self, event: Any) -> bool:
        """Tell whether the work of a native event is done; waits for nothing."""

    @abstractmethod
    def wait_for(self, work: Any) -> None:
        """Wait for a native event or for all work of a queue, without the GIL, so that Ctrl-C is heard."""

    @abstractmethod
    def submit_timed(self, queue: Any, before: Sequence[Any], run: Callable[[Any, list[Any]], Any]) -> Any:
        """Submit work so that the device takes its times, ordered as if it were submitted to `queue`.

        Parameters
        ----------
        queue : object
            The queue that the work belongs to.
        before : sequence
            Native events that it waits for.
        run : callable
            ``run(queue, events)`` submits the work to the queue that it is given, after the events that it is given,
            and returns its event.

        Returns
        -------
        object
            An event that `times` takes.
        """

    @abstractmethod
    def times(self, event: Any) -> Times:
        """Return the times of work that `submit_timed` submitted; waits for it."""

    # -- what launches use

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

    # -- memory

    @abstractmethod
    def allocate(self, queue: Any, nbytes: int, zeroed: bool = False) -> Allocation:
        """Return new memory of the device, of at least one byte, that work of the queue may use.

        Raises
        ------
        UsmAllocationError
            If there is not so much.
        """

    @abstractmethod
    def copy_in(self, queue: Any, target: Allocation, source: np.ndarray[Any, Any]) -> None:
        """Copy a C-contiguous NumPy array to the start of an allocation, recorded as a copy, and wait."""

    @abstractmethod
    def copy_out(self, queue: Any, target: np.ndarray[Any, Any], source: Allocation) -> None:
        """Copy the start of an allocation to a C-contiguous NumPy array, recorded as a copy, and wait."""

    @abstractmethod
    def reads_host_memory(self, queue: Any) -> bool:
        """Whether kernels take the addresses of any memory of the host, so that NumPy arrays need no copy."""

    @abstractmethod
    def new_array(self, shape: tuple[int, ...], dtype: np.dtype[Any], kind: MemoryKind, queue: Any, fill: Any) -> Any:
        """Return a new array for `kapi_runtime.memory`, of the library that users of the platform have.

        Parameters
        ----------
        shape, dtype
            Of the array.
        kind : {"device", "shared", "host"}
            Where its memory is; see `kapi_runtime.memory`.
        queue : object or None
            That of the array; None for the default queue of the current device.
        fill : number or None
            Value of all elements; None leaves them as they are.

        Raises
        ------
        UsmAllocationError
            If there is not so much memory.
        """

    @abstractmethod
    def array_of(self, values: Any, dtype: Any, kind: MemoryKind | None, queue: Any, copy: bool | None) -> Any:
        """Return values of any kind as an array on a queue, as `kapi_runtime.memory.asarray` says."""

    @abstractmethod
    def to_host(self, array: Any) -> np.ndarray[Any, Any]:
        """Return a copy of an array of this platform in the host's memory, after the work that fills it."""

    @abstractmethod
    def copy_array(self, source: Any, target: Any) -> None:
        """Copy one array to another of the same shape and type, one of them at least of this platform, and wait."""

    @abstractmethod
    def submit_copy(
        self, queue: Any, target: ArrayFields, source: ArrayFields, nbytes: int, before: Sequence[Any]
    ) -> Any:
        """Submit a copy of bytes after these native events, which are all that it waits for, and return its event.

        Parameters
        ----------
        queue : object
            Where to.
        target, source : ArrayFields
            Contiguous arrays; those of the host have no owner.
        nbytes : int
            At least 1.
        before : sequence
            Native events.
        """

    @abstractmethod
    def require_reach(self, queue: Any, other: Any) -> None:
        """Raise ExecutionPlacementError if work of a queue cannot use memory that belongs to the other's device."""

    @abstractmethod
    def memory_kind(self, array: Any) -> MemoryKind:
        """Return where the memory of an array of this platform is."""

    @abstractmethod
    def array_like(self, arrays: Sequence[Any], shape: Any, dtype: Any) -> Any:
        """Return a new array for the result of an operation on arrays, as `kapi_runtime.memory.like` says."""

    # -- numba.cuda's host API

    @property
    @abstractmethod
    def numba_cuda(self) -> NumbaCudaHost:
        """What the platform has of numba.cuda's host API beyond this class."""

    # -- what is there

    @abstractmethod
    def findings(self) -> Findings:
        """Look at devices and environment, and try the default device; never raises for what it finds."""

    @abstractmethod
    def versions(self, device: Any) -> Collection[tuple[str, str]]:
        """Return names and versions of what kernels go through on their way to a `Device`: libraries and formats."""
