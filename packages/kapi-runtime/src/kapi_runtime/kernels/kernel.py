"""`@kernel`: a Python function that is compiled for its argument types and runs where its arrays live."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Any, Literal, overload
from weakref import WeakSet

import numpy as np

from kapi_lowering import KernelModule, Target
from kapi_runtime.build.captures import Captures
from kapi_runtime.build.modules import Modules
from kapi_runtime.host.devices import find_device, platform_of_device
from kapi_runtime.host.events import EMPTY_LIST, EMPTY_TUPLE, listed_events
from kapi_runtime.kernels.bound_launch import BoundLaunch
from kapi_runtime.kernels.launchables import DeviceLaunchable
from kapi_runtime.kernels.simulator_controls import note_launch, open_reports
from kapi_runtime.launch.arguments import placeholders, read_arguments, typed_arguments
from kapi_runtime.launch.preparation import Prepared, compiled, prepare
from kapi_runtime.platform import recorder
from kapi_runtime.platform.current import host_array_target
from kapi_runtime.platform.device_caches import on_reset
from kapi_runtime.platform.handles import HostEvent
from kapi_runtime.platform.installed import platform_of_array
from kapi_runtime.platform.interface import BuiltKernel, DynamicPlan, LaunchPlan, Platform
from kapi_sim import NdRange, Range
from kapi_sim.errors import KapiError
from kapi_sim.forks import reinit_after_fork
from kapi_sim.language import KernelOptions
from kapi_sim.language.launchables.declared_signatures import Signature, array_parameter
from kapi_sim.language.launchables.launch_parameters import parameters_for_launch, require_index_space
from kapi_sim.language.launchables.launchable import decorate, require_kernel
from kapi_sim.language.launchables.pickling import reduced
from kapi_sim.language.launchables.signature_parser import ParameterType
from kapi_sim.log import launches
from kapi_sim.tracebacks import shorten

__all__ = ["Kernel", "PlanTable", "call_kernel", "call_kernel_async", "kernel"]


class Kernel(DeviceLaunchable):
    """A function that runs once for each work-item of an index space, compiled at its first launch.

    Parameters
    ----------
    py_func : function
        A plain Python function in the kernel language; its first parameter is the Item or NdItem.
    options : KernelOptions, optional
        How it is compiled and what its launches must be.
    target : Target, optional
        What to compile for; left out, the device that a launch runs on.
    signatures : tuple of Signature
        The types that launches must have; empty for any.

    Attributes
    ----------
    py_func : function
        The function as written.
    modules : Modules
        What it was compiled to.

    Notes
    -----
    One compilation serves all arguments of equal types: element type, rank, and whether an array is
    contiguous. Other values, shapes, queues, and devices of equal abilities compile nothing. Globals, closures and
    attributes of modules that the kernel uses are constants in what is compiled; when one of them is another at a
    launch, the kernel is compiled anew. What changes often is better an argument.
    """

    def __init__(
        self,
        py_func: Callable[..., None],
        options: KernelOptions | None = None,
        target: Target | None = None,
        signatures: tuple[Signature, ...] = (),
    ) -> None:
        super().__init__(py_func, options, signatures)
        self.target = target
        self.modules = Modules(py_func, self.options)
        self._plans = PlanTable()
        self._captures: Captures | None = None  # until it is first compiled
        self.do_captures_hold: Callable[[], bool] | None = None
        self._renewals = 0
        _kernels.add(self)

    def submit(
        self, space: Range | NdRange, dependent_events: Iterable[Any], given: tuple[Any, ...]
    ) -> tuple[HostEvent, Any]:
        """Launch, and return the events of `call_kernel_async`."""
        if recorder.is_watching and (graph := recorder.graph()) is not None:
            return graph.launch(self, space, given, dependent_events)
        before = EMPTY_LIST if dependent_events is EMPTY_TUPLE else listed_events(dependent_events)
        events = self.events(space, given, before)
        self.count_launch()
        if launches.are_logged or open_reports():
            note_launch(self.__name__, space)
        return events

    def events(self, space: Range | NdRange, given: tuple[Any, ...], before: list[Any]) -> tuple[HostEvent, Any]:
        """Launch, and return the events, without a note of it."""
        do_captures_hold = self.do_captures_hold
        if do_captures_hold is not None and not do_captures_hold():
            self._renew()
        if self.signatures:
            given = self.as_declared(space, given)
        planned, plans = None, self._plans.get(space, ())
        if not recorder.is_watching:
            for plan in plans:
                planned = plan.launch(given, before)
                if planned:
                    return planned
                if planned is not None:
                    break
            if planned is None and self._plans.dynamic:
                full = space if isinstance(space, Range) else space.global_range
                for dynamic in self._plans.dynamic.get(_form_of(space), ()):
                    if dynamic.yields_to_plans and self._plans.has_room(space, plans, given):
                        break  # the slow path, which makes a plan
                    planned = dynamic.launch(full, given, before)
                    if planned:
                        return planned
                    if planned is not None:
                        break
        return self._launched(space, given, before, plans if planned is None else None)

    def bind(self, index_space: Range | NdRange, /, *args: Any, **named: Any) -> BoundLaunch:
        """Validate a launch now, compile its kernel, and return it, to be made by calling it.

        Each launch costs less than that of `call_kernel_async`: no argument is looked at again.  An array that is
        given another shape in place must be replaced by itself.
        """
        require_index_space(index_space)
        return BoundLaunch(self, index_space, self.placed(args, named) if named else args)

    def renewals(self) -> int:
        """Discard compiled code if a global, closure or module attribute in it has changed.

        Returns
        -------
        int
            How often that was so.
        """
        do_captures_hold = self.do_captures_hold
        if do_captures_hold is not None and not do_captures_hold():
            self._renew()
        return self._renewals

    def _renew(self) -> None:
        self._captures, self.do_captures_hold, self._plans = None, None, PlanTable()
        self.modules = Modules(self.py_func, self.options)
        self._renewals += 1

    def prepared(self, space: Range | NdRange, given: tuple[Any, ...]) -> Prepared:
        """Validate a launch, and compile the kernel that its constants choose if it is not yet."""
        kernel, others = self.specialized(self.as_declared(space, given))
        kernel.renewals()
        return kernel.prepare(space, others)

    def prepare(self, space: Range | NdRange, given: tuple[Any, ...]) -> Prepared:
        """Validate a launch of this very kernel; `renewals` was asked before."""
        names = parameters_for_launch(self.py_func, space, given)
        self.options.require_launchable(self.__name__, space)
        if self._captures is None:
            self._captures = captures = Captures(self.py_func)
            self.do_captures_hold = captures.hold
        if len(given) < len(names):
            given = (*given, *(self.py_func.__defaults__ or ())[len(given) - len(names) :])
        host_target = host_array_target.get()
        arguments = read_arguments(self.__name__, names, given, host_target)

        def compile_for(platform: Platform, target: Target, refused: KernelModule | None) -> KernelModule:
            return self.modules.get(platform, space, arguments, self.target or target, refused)

        return prepare(self.__name__, space, arguments, compiled(space, arguments, compile_for))

    def _launched(
        self, space: Range | NdRange, given: tuple[Any, ...], before: list[Any], tried: tuple[LaunchPlan, ...] | None
    ) -> tuple[HostEvent, Any]:
        """Launch by the slow path, and make a plan for launches like it, since none that was tried fits."""
        kernel, others = self.specialized(given)
        if kernel is not self:
            return kernel.events(space, others, before)
        prepared = self.prepare(space, given)
        events = prepared.submit(before)
        if tried is not None and not recorder.is_watching:  # what is recorded takes the slow path, and tries none
            self._plans.add(space, prepared, tried, given)
        return events

    def inspect_types(self) -> dict[str, str]:
        """Return the typed IR of each module that was compiled, by its signature."""
        return {signature: module.typed_ir for signature, module in self._inspected()}

    def inspect_llvm(self) -> dict[str, str]:
        """Return the optimised LLVM IR of each module that was compiled, by its signature."""
        return {signature: module.optimized_llvm_ir for signature, module in self._inspected()}

    def inspect_spirv(self) -> dict[str, str]:
        """Return the SPIR-V of each module that was compiled to it, as text, by its signature."""
        return {
            signature: module.assembly  # type: ignore[attr-defined]  # that of SPIR-V has it
            for signature, module in self._inspected()
            if module.target.name == "SPIR-V"
        }

    def explain(self) -> dict[str, Any]:
        """Return the decisions about vectors of each module that was compiled for the CPU, by its signature.

        Each is a `kapi_cpu.Explanation`: printed, it has a line for each decision. With ``lineinfo=True`` they name the
        lines of the source.
        """
        return {
            signature: module.explanation  # type: ignore[attr-defined]  # that of the CPU has it
            for signature, module in self._inspected()
            if module.target.name == "a CPU"
        }

    def built(self, platform: Platform, queue: Any) -> dict[str, BuiltKernel]:
        """Return each module's kernel for a queue's device, by the module's signature."""
        target = self.target or platform.target_of(platform.device_of(queue))
        anywhere = target.for_any_launch()
        suiting = [each for each in self._inspected() if each[1].target.for_any_launch() == anywhere]
        return {signature: platform.built(module, queue) for signature, module in suiting}

    def __reduce__(self) -> tuple[Any, ...]:
        return reduced(self, (self.py_func, self.options, self.target, self.signatures), _pickled_by_value)

    def compile(self, device: Any = None) -> None:
        """Compile for the types of each signature, ahead of launches on a device.

        Signatures without a work-item, or with local memory of unknown shape, are compiled at the first launch.

        Parameters
        ----------
        device : int or str or dpctl.SyclDevice, optional
            A device, as `select_device` takes it; by default the current one.

        Raises
        ------
        DeviceNotFoundError
            If there is no such device.
        KernelCompilationError
            If the kernel cannot be compiled.
        """
        super().compile(device)
        found = find_device(device)
        platform = platform_of_device(found)
        target = self.target or platform.launch_target(found, True, True)
        self.renewals()
        for each in self.signatures:
            values = placeholders(each)
            if each.item is None or values is None:
                continue
            extents = (1,) * each.item.ndim
            space = Range(*extents) if each.item.kind == "item" else NdRange(extents, extents)
            kernel, others = self.specialized(values)
            if kernel._captures is None:
                kernel._captures = captures = Captures(kernel.py_func)
                kernel.do_captures_hold = captures.hold
            names = parameters_for_launch(kernel.py_func, space, others)
            kernel.modules.get(platform, space, typed_arguments(names, others), target)

    def array_parameter(self, value: Any) -> ParameterType | None:
        """Return the type of an argument that is an array; None for others."""
        platform = None if isinstance(value, np.ndarray) else platform_of_array(value, "an argument")
        fields = None if platform is None else platform.fields(value)
        if fields is None:
            return super().array_parameter(value)
        return array_parameter(fields.dtype, len(fields.shape), fields.layout, fields.readonly)

    def _module_count(self) -> int:
        return len(self._inspected())

    def _inspected(self) -> list[tuple[str, KernelModule]]:
        kernels = [self, *(each for each in list(self._specializations.values()) if each is not None)]
        modules = [module for each in kernels for module in each.modules.values()]
        return [(module.typed_ir.split("\n", 1)[0], module) for module in modules]

    def _with_function(self, function: Callable[..., None]) -> Kernel:
        return Kernel(function, self.options, self.target)


_kernels: WeakSet[Kernel] = WeakSet()


@on_reset
def _forget(device: Any) -> None:
    for each in list(_kernels):
        each._plans.forget(device)


@overload
def kernel(function: Callable[..., None], /) -> Kernel: ...
@overload
def kernel(
    signatures: str | tuple[Any, ...] | list[Any] | None = ...,
    /,
    *,
    debug: bool = ...,
    boundscheck: bool = ...,
    lineinfo: bool = ...,
    fastmath: bool | Iterable[str] = ...,
    inline: Literal["always", "never"] = ...,
    work_group_size: int | tuple[int, ...] | None = ...,
    max_work_group_size: int | None = ...,
    sub_group_size: int | None = ...,
) -> Callable[[Callable[..., None]], Kernel]: ...
def kernel(function: Any = None, /, **options: Any) -> Any:
    """Make a function a kernel: its first parameter is an Item or NdItem, and it returns None.

    Parameters
    ----------
    function : function, or signatures
        A plain Python function; or a signature, or a list of them, as in ``@kernel("item1, float32[:], int32")``: the
        kernel is compiled for these types alone, for the current device at once, and numbers are converted to them.
    **options
        Those of `kapi_sim.language.KernelOptions`, as in ``@kernel(debug=True)``: `debug`, `boundscheck`, `lineinfo`,
        `fastmath`, `inline`, `work_group_size`, `max_work_group_size`, `sub_group_size`.

    Returns
    -------
    Kernel
        With options or signatures and no function, a decorator that makes one.

    Raises
    ------
    KernelCompilationError
        If `function` is not a plain Python function or has no parameter for the work-item, or an option is none that
        kernels have.
    """
    return decorate(Kernel, function, options)


def call_kernel(kernel: DeviceLaunchable, index_space: Range | NdRange, /, *args: Any, **named: Any) -> None:
    """Run `kernel` once for each work-item of `index_space` on the device of its arrays, and wait.

    Parameters
    ----------
    kernel : Kernel
        What `@kernel`, `load_spirv` or `load_opencl` made.
    index_space : Range or NdRange
        The work-items; an NdRange for a kernel that uses work-groups.
    *args : array of a device, number or LocalAccessor
        One for each parameter after the work-item; the arrays share one queue.
    **named
        Those that are given by the names of the kernel's parameters.

    Raises
    ------
    ExecutionPlacementError
        If the arrays do not share one queue, or there is none.
    KernelCompilationError
        If the kernel cannot be compiled for these arguments.
    KernelLaunchError
        If kernel, index space and arguments do not fit each other, or the driver refuses the launch.
    LimitError
        If the launch exceeds a limit of the device.
    DtypeError
        If an argument is of a type that kernels do not take.
    DriverError
        If the driver refuses the kernel.
    """
    if not isinstance(kernel, Kernel):  # which is quick for this very class, and slow for an abstract one
        require_kernel(kernel, DeviceLaunchable)  # type: ignore[type-abstract]  # any kind is asked for
    try:
        if type(index_space) is not Range:  # as above
            require_index_space(index_space)
        kernel.run(index_space, kernel.placed(args, named) if named else args)
    except KapiError as error:
        shorten(error, is_reported=True)
        raise


def call_kernel_async(
    kernel: DeviceLaunchable, index_space: Range | NdRange, dependent_events: Iterable[Any], /, *args: Any, **named: Any
) -> tuple[HostEvent, Any]:
    """Submit `kernel` after `dependent_events`, and return events to wait for.

    The launch is ordered with what the arrays' library does on the same queue before and after it.  The arguments
    stay alive until the kernel has run.

    Parameters
    ----------
    kernel : Kernel
        What `@kernel`, `load_spirv` or `load_opencl` made.
    index_space : Range or NdRange
        The work-items.
    dependent_events : iterable of HostEvent, Event or native events
        What must be done before.
    *args, **named
        As for `call_kernel`.

    Returns
    -------
    host_event : HostEvent
        Done when the arguments are let go.
    device_event : object
        Done when the kernel has run: the native event of the device's library, such as a `dpctl.SyclEvent`.

    Raises
    ------
    KernelLaunchError
        As `call_kernel`; also if something in `dependent_events` is no event.
    """
    if not isinstance(kernel, Kernel):  # which is quick for this very class, and slow for an abstract one
        require_kernel(kernel, DeviceLaunchable)  # type: ignore[type-abstract]  # any kind is asked for
    try:
        if type(index_space) is not Range:  # as above
            require_index_space(index_space)
        return kernel.submit(index_space, dependent_events, kernel.placed(args, named) if named else args)
    except KapiError as error:
        shorten(error, is_reported=True)
        raise


def _pickled_by_value(arguments: tuple[Any, ...]) -> bytes:
    import cloudpickle  # only where a kernel travels by value

    data: bytes = cloudpickle.dumps(arguments)
    return data


_SPACES, _PLANS = 64, 8  # index spaces of which a kernel remembers plans, and plans for each
_DYNAMIC = 8  # plans for any shapes, of each rank or work-group
_PROMPT = 16  # index spaces that get a plan at once; that of a further one is worth its time if it comes again


def _form_of(space: Range | NdRange) -> int | Range:
    """The key of plans for any shapes: the rank of a `Range`, or the work-group of an `NdRange`."""
    return len(space) if isinstance(space, Range) else space.local_range


class PlanTable(dict["Range | NdRange", "tuple[LaunchPlan, ...]"]):
    """The plans of one kernel by index space, the latest first; those of old index spaces are forgotten.

    - `dynamic`: plans for any shapes by what `_form_of` gives, asked where no other one serves.
    """

    __slots__ = ("_lock", "_seen", "dynamic")

    def __init__(self) -> None:
        super().__init__()
        self._lock = reinit_after_fork(threading.Lock())
        self._seen: dict[Any, None] = {}
        self.dynamic: dict[Any, tuple[DynamicPlan, ...]] = {}

    def add(
        self, space: Range | NdRange, prepared: Prepared, tried: tuple[LaunchPlan, ...], given: tuple[Any, ...]
    ) -> None:
        """Put a plan for launches like this one before the others of its index space.

        - `space`: the index space.
        - `prepared`: the launch.
        - `tried`: the plans of the index space, which the launch is none of.  If they are others by now, another thread
          has made one, and the next launch tells whether that one serves.
        - `given`: the arguments.
        """
        if not self.has_room(space, tried, given):
            return
        self._add_dynamic(space, prepared)
        plan = prepared.plan() if self.get(space, ()) == tried else None
        if plan is None:
            return
        with self._lock:
            if self.get(space, ()) == tried:
                self.pop(space, None)
                self[space] = (plan, *tried[: _PLANS - 1])
                while len(self) > _SPACES:
                    del self[next(iter(self))]

    def has_room(self, space: Range | NdRange, tried: tuple[LaunchPlan, ...], given: tuple[Any, ...]) -> bool:
        """Whether a plan for launches like this one is worth its time; parameters as for `add`."""
        has_room = len(tried) < _PLANS if space in self else len(self) < _PROMPT
        return has_room or self._is_seen(space, given)

    def _add_dynamic(self, space: Range | NdRange, prepared: Prepared) -> None:
        form = _form_of(space)
        tried = self.dynamic.get(form, ())
        plan = prepared.dynamic_plan() if len(tried) < _DYNAMIC and len(self.dynamic) < _SPACES else None
        if plan is not None:
            with self._lock:
                if self.dynamic.get(form, ()) == tried:
                    self.dynamic[form] = (*tried, plan)

    def _is_seen(self, space: Range | NdRange, given: tuple[Any, ...]) -> bool:
        """Whether a launch over arrays of these shapes is one of the last that got no plan."""
        form = space, *((type(each), getattr(each, "shape", None)) for each in given)
        with self._lock:
            if form in self._seen:
                return True
            self._seen[form] = None
            if len(self._seen) > _SPACES:
                del self._seen[next(iter(self._seen))]
        return False

    def forget(self, device: Any) -> None:
        """Drop the plans of launches on a device."""
        with self._lock:
            for space, plans in list(self.items()):
                self[space] = tuple(plan for plan in plans if plan.device != device)
            for form, dynamic in list(self.dynamic.items()):
                self.dynamic[form] = tuple(plan for plan in dynamic if plan.device != device)
