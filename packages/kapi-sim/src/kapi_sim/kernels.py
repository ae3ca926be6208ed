"""`@kernel`, the forms of a launch, and graphs of launches."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Literal, overload

import numpy as np

from kapi_sim.errors import KapiError, KernelLaunchError, LimitError
from kapi_sim.instrument.instrumented_kernel import InstrumentedKernel
from kapi_sim.language import KernelOptions, NdRange, Range
from kapi_sim.language.launchables.declared_signatures import Signature
from kapi_sim.language.launchables.graph import (
    RecordedLaunches,
    Slot,
    require_not_recording,
    simulated,
    slot_values,
)
from kapi_sim.language.launchables.launch_parameters import require_index_space
from kapi_sim.language.launchables.launchable import BoundLaunch, Launchable, decorate, require_kernel
from kapi_sim.language.launchables.pickling import reduced
from kapi_sim.language.launchables.tuning import Candidate, Tuning, require_candidate
from kapi_sim.language.source import remember_source
from kapi_sim.launch import execute
from kapi_sim.short_repr import short_repr
from kapi_sim.tracebacks import shorten

__all__ = ["DoneEvent", "Graph", "Kernel", "call_kernel", "call_kernel_async", "graph", "kernel"]


class Kernel(Launchable):
    """A function that runs once for each work-item of an index space.

    Attributes
    ----------
    py_func : function
        The function as written.

    Examples
    --------
    >>> import numpy as np, kapi_sim as kapi
    >>> @kapi.kernel
    ... def double(item: kapi.Item, a):
    ...     i = item.get_id(0)
    ...     a[i] = a[i] * 2
    >>> data = np.arange(4, dtype=np.int32)
    >>> double[kapi.Range(4)](data)
    >>> data
    array([0, 2, 4, 6], dtype=int32)
    """

    def __init__(
        self,
        py_func: Callable[..., None],
        options: KernelOptions | None = None,
        signatures: tuple[Signature, ...] = (),
    ) -> None:
        super().__init__(py_func, options, signatures)
        self.instrumented = InstrumentedKernel(py_func)
        remember_source(py_func)

    def __reduce__(self) -> tuple[Any, ...]:
        return reduced(self, (self.py_func, self.options, self.signatures))

    def compile(self, device: Any = None) -> None:
        """Find what no kernel may have, ahead of launches."""
        super().compile(device)
        self.instrumented.compiled(True, False, False, False)

    def run(self, index_space: Range | NdRange, args: tuple[Any, ...]) -> None:
        """Run the kernel for each work-item of `index_space`."""
        graph = simulated.get()
        if graph is not None:
            graph.add(self, index_space, args)
            return
        kernel, others = self.specialized(self.as_declared(index_space, args))
        execute(kernel.instrumented, index_space, others, self.options)

    def submit(
        self, space: Range | NdRange, dependent_events: Iterable[Any], given: tuple[Any, ...]
    ) -> tuple[DoneEvent, DoneEvent]:
        """Wait for these events, run the kernel, and return events that are complete."""
        try:
            events = list(dependent_events)
        except TypeError:
            events = [dependent_events]
        for event in events:
            if not callable(getattr(event, "wait", None)):
                raise KernelLaunchError(
                    f"dependent_events must be an iterable of events, got {short_repr(dependent_events)}: "
                    "pass [] if the launch depends on none",
                    code="dependent-events",
                )
        for event in events:
            event.wait()  # in a recording they are done, too: of its own launches, which come first in each replay
        self.run(space, given)
        return DoneEvent(), DoneEvent()

    def _tuned(
        self, candidates: tuple[Candidate, ...], args: tuple[Any, ...], named: dict[str, Any], renew: bool
    ) -> Tuning:
        """Run each candidate on copies, with all checks, and choose the first that can be launched."""
        refusals = []
        for each in candidates:
            given = self.placed(args, {**named, **each.constants})
            copies: dict[int, Any] = {}
            for value in given:
                if isinstance(value, np.ndarray):
                    copies.setdefault(id(value), value.copy(order="K"))
            try:
                self.run(each.index_space, tuple(copies.get(id(value), value) for value in given))
            except (KernelLaunchError, LimitError) as error:
                refusals.append(error.message.split("\n", 1)[0])
            else:
                refusals.append("")
        require_candidate(self.__name__, refusals)
        times = (None,) * len(candidates)
        return Tuning(self.__name__, "simulator", candidates, times, tuple(refusals), refusals.index(""), False)


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
        A plain Python function; or a signature, or a list of them, as in ``@kernel("item1, float32[:], int32")``. Then
        launches must have these types, to which numbers are converted.
    **options
        Those of `kapi_sim.language.KernelOptions`, as in ``@kernel(debug=True)``: `debug`, `boundscheck`, `lineinfo`,
        `fastmath`, `inline`, `work_group_size`, `max_work_group_size`, `sub_group_size`. The simulator keeps to
        what they say of launches, checks indices where they ask for it, and has no use for the others.

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


def call_kernel(kernel: Kernel, index_space: Range | NdRange, /, *args: Any, **named: Any) -> None:
    """Run `kernel` once for each work-item of `index_space`, and wait.

    Parameters
    ----------
    kernel : Kernel
        What `@kernel` made.
    index_space : Range or NdRange
        The work-items; an NdRange for a kernel that uses work-groups.
    *args : numpy.ndarray or number or tuple or LocalAccessor
        One for each parameter after the work-item.
    **named
        Those that are given by the names of the kernel's parameters.

    Raises
    ------
    KernelLaunchError
        If kernel, index space and arguments do not fit each other.
    DtypeError
        If an argument is of a type that kernels do not take.
    KapiError
        What a check finds: see `kapi_sim.errors.ERRORS`.
    """
    try:
        require_kernel(kernel, Kernel)
        require_index_space(index_space)
        kernel.run(index_space, kernel.placed(args, named) if named else args)
    except Exception as error:
        shorten(error, isinstance(error, KapiError))
        raise


class DoneEvent:
    """A launch that is done: the simulator runs a kernel before `call_kernel_async` returns."""

    __slots__ = ()

    def wait(self) -> None:
        """Return at once."""

    def __repr__(self) -> str:
        return "<DoneEvent: complete>"


def call_kernel_async(
    kernel: Kernel, index_space: Range | NdRange, dependent_events: Iterable[Any], /, *args: Any, **named: Any
) -> tuple[DoneEvent, DoneEvent]:
    """Run `kernel` after `dependent_events`, and return events to wait for.

    Parameters
    ----------
    kernel : Kernel
        What `@kernel` made.
    index_space : Range or NdRange
        The work-items.
    dependent_events : iterable of DoneEvent
        Launches that must be done before.
    *args, **named
        As for `call_kernel`.

    Returns
    -------
    host_event, device_event : DoneEvent
        The first is done when the arguments may be freed, the second when the kernel has run.

    Raises
    ------
    KernelLaunchError
        As `call_kernel`; also if something in `dependent_events` cannot be waited for.
    """
    try:
        require_kernel(kernel, Kernel)
        require_index_space(index_space)
        return kernel.submit(index_space, dependent_events, kernel.placed(args, named) if named else args)
    except Exception as error:
        shorten(error, isinstance(error, KapiError))
        raise


class Graph(RecordedLaunches):
    """Launches that a ``with`` block records, and that a call runs in their order; `graph` makes it.

    Inside of the block they do not run.  See `kapi_runtime.Graph`, whose rules it has.

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
        require_not_recording("a replay of a graph", simulated.get())
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

    def _end(self, is_complete: bool) -> None:
        simulated.set(None)
        if not is_complete:
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
