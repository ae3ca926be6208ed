"""One launch: arguments bound, orders run, errors completed, the report written."""

from __future__ import annotations

import dataclasses
import sys
import warnings
from _thread import get_ident
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from kapi_sim.checks.bounds import spell
from kapi_sim.checks.device_limits import check_index_space, check_sub_group_size, portability_notes
from kapi_sim.checks.initialisation import unwritten_read
from kapi_sim.checks.ownership import SHARED
from kapi_sim.errors import (
    BarrierDivergenceError,
    CollectiveMismatchError,
    DataRaceError,
    DeadlockError,
    DtypeError,
    KapiError,
    KernelCompilationError,
    KernelLaunchError,
    LimitWarning,
    OutOfBoundsError,
    PartialRunWarning,
    ScheduleDependenceWarning,
    UninitializedReadError,
)
from kapi_sim.instrument.instrumented_function import Compiled
from kapi_sim.instrument.instrumented_kernel import InstrumentedKernel
from kapi_sim.instrument.launch_bindings import hooks_of, words_of
from kapi_sim.items.misused_intrinsics import describe_misuse
from kapi_sim.items.operand_errors import error_of_operation
from kapi_sim.language.intrinsics.index_space import NdRange, Range
from kapi_sim.language.intrinsics.outside import CARRIED_OUT
from kapi_sim.language.launchables.options import KernelOptions
from kapi_sim.language.source import SourceLocation
from kapi_sim.log import log_launch
from kapi_sim.memory.arguments import READ_ONLY, Bound, bind
from kapi_sim.memory.constant_arrays import CONSTANT
from kapi_sim.memory.infinite_loops import SpinningError, deadlock
from kapi_sim.memory.views import View
from kapi_sim.run.adversarial_rerun import AdversarialRerun
from kapi_sim.run.execution_order import Order, sample_of
from kapi_sim.run.schedule import Schedule
from kapi_sim.settings.breakpoints import is_debugged, start_clock
from kapi_sim.settings.simulation_report import LaunchRecord
from kapi_sim.settings.simulation_settings import Settings, current_settings
from kapi_sim.short_repr import short_repr
from kapi_sim.tracebacks import is_users_own
from kapi_sim.tracing.switch import active_trace

if TYPE_CHECKING:
    from kapi_sim.checks.races import ShadowMemory
    from kapi_sim.items.schedule_state import ScheduleState
    from kapi_sim.memory.recorder import TraceRecorder
    from kapi_sim.tracing.traces import Trace

__all__ = ["execute"]

_OTHER_FORMS = ("flat", "flatten", "ravel", "reshape", "swapaxes", "transpose", "view")
"""Attributes of arrays outside of kernels that are other arrays."""
_NAME_WORK_ITEMS = (
    BarrierDivergenceError,
    CollectiveMismatchError,
    DataRaceError,
    DeadlockError,
    UninitializedReadError,
)
"""Errors about several work-items, which their messages name."""


_LEAST_PROVED = 1024
"""Work-items from which on a launch is large."""
_MOST_OWNED = 64
"""Elements of its arrays that may have owners, for each work-item of a launch."""

_NO_OPTIONS = KernelOptions()
_NOTHING = nullcontext()


def execute(
    kernel: InstrumentedKernel, space: Range | NdRange, args: tuple[Any, ...], options: KernelOptions = _NO_OPTIONS
) -> ShadowMemory | None:
    """Run `kernel` over `space` as the current settings say, and return what it accessed in global memory.

    - `kernel`: the kernel's rewritten forms.
    - `space`: the index space.
    - `args`: one for each parameter after the work-item.
    - `options`: what the launch must be, and whether it checks indices whatever the settings say.

    Raises `KapiError` if the launch cannot be made, or a check finds something; `Exception`: what the kernel raises,
    with the work-item added as a note.
    """
    settings = current_settings()
    dialect = kernel.dialect
    names = dialect.parameters(kernel.py_func, space, args)
    options.require_launchable(kernel.name, space)
    log_launch(kernel.name, space, " in the simulator")
    if options.checks_bounds:
        settings = dataclasses.replace(settings, checks=settings.checks | {"bounds"})
    if settings.profile is not None and "limits" in settings.checks:
        check_index_space(space, settings.profile)
        check_sub_group_size(kernel.name, options, settings.profile)
    first = settings.seed
    seeds = (first, *((first or 0) + i for i in range(1, settings.schedules)))
    clock = dialect.clock(space, _sub_group_size(space, settings, options))
    trace = active_trace.get()
    recorder = None if trace is None else _recorder(trace, kernel, clock)
    # A trace and a breakpoint need to know which work-item runs, as checks do.
    is_followed = bool(settings.checks) or recorder is not None or is_debugged() or not dialect.has_item
    sample = _sample(space, settings)
    noun, total = ("work-items", space.size) if isinstance(space, Range) else ("work-groups", space.group_range.size)
    work_items = (total if sample is None else len(sample)) * clock.group_size
    prepare = partial(_prepare, kernel, space, names, args, settings, clock, recorder, is_followed)
    bound, compiled, run = prepare(_MOST_OWNED * work_items if _is_worth_a_proof(work_items, settings, recorder) else 0)
    if settings.profile is None and "limits" in settings.checks:
        for note in portability_notes(kernel.name, space, bound.local_bytes):
            if settings.report is not None:
                settings.report.notes.append(note)
            warnings.warn(note, LimitWarning, stacklevel=2)
    if (
        sample is not None
        and settings.report is not None
        and all(each.left_out is None for each in settings.report.launches)
    ):
        warnings.warn(
            clock.in_words(
                f"{len(sample)} of {total} {noun} of kernel `{kernel.name}` ran, as `simulation(groups=...)` says: the "
                "others were not checked, and their results are missing\n  silence this with "
                "warnings.filterwarnings('ignore', category=kapi_sim.errors.PartialRunWarning)"
            ),
            PartialRunWarning,
            stacklevel=2,
        )
    try:
        if bound.has_owners and not _is_proved(bound, run, first):
            bound, compiled, run = prepare(0)
        adversarial = AdversarialRerun(bound, compiled, run)
        if bound.has_owners:
            pass
        elif len(seeds) == 1:
            run(Order(first))
        else:
            _compare(run, kernel, bound, settings, seeds)
        adversarial.rerun()
    except Exception as error:
        if sample is not None:
            error.add_note(clock.in_words(f"{len(sample)} of {total} {noun} ran, as `simulation(groups=...)` says"))
        if recorder is not None:
            recorder.note_failure(error)
        if settings.report is not None:
            settings.report.note_fault(kernel.name, error)
        raise
    finally:
        bound.copy_back()
        if settings.uninitialised is not None and bound.shadow is not None:
            written = bound.shadow.initialised | bound.shadow.written_addresses()
            settings.uninitialised.note_written(written, bound.usm.values())
        if settings.report is not None:
            settings.report.notes += bound.notes()
    if settings.report is not None:
        full = space if isinstance(space, Range) else space.global_range
        settings.report.launches.append(
            LaunchRecord(
                kernel.name,
                clock.spelled_space,
                full.size if sample is None else len(sample) * clock.group_size,
                settings.checks,
                seeds,
                bound.elements_tracked,
                clock.sub_group_size,
                settings.uninitialised is not None,
                settings.profile is not None,
                clock.in_words("work-items"),
                None if sample is None else clock.in_words(f"{total - len(sample)} of {total} {noun}"),
            )
        )
    return bound.shadow


def _is_worth_a_proof(work_items: int, settings: Settings, recorder: TraceRecorder | None) -> bool:
    """Return whether a launch is large, and may be run again if it fails, with nobody to see the first run."""
    is_watched = recorder is not None or is_debugged() or sys.gettrace() is not None
    is_large = _LEAST_PROVED <= work_items < SHARED
    return is_large and not is_watched and settings.schedules == 1 and "races" in settings.checks


def _prepare(
    kernel: InstrumentedKernel,
    space: Range | NdRange,
    names: list[str],
    args: tuple[Any, ...],
    settings: Settings,
    clock: ScheduleState,
    recorder: TraceRecorder | None,
    is_followed: bool,
    most_owned: int,
) -> tuple[Bound, Compiled, Callable[[Order], None]]:
    """Return arguments, form of the kernel and function for one run, which proves ownership where it can."""
    dialect = kernel.dialect
    compiled = kernel.compiled(
        dialect.is_strict and "limits" in settings.checks,
        # A loop without an end ends such a proof.
        is_followed and isinstance(space, NdRange) and not most_owned,
        recorder is not None,
        any(map(_is_complex, args)),
    )
    is_provable = most_owned > 0 and compiled.is_repeatable
    if is_provable or not most_owned:
        clock.words = compiled.words
        bound = bind(names, args, space, clock, settings, recorder, compiled.orders_memory, dialect, most_owned)
        if bound.has_owners or not most_owned:
            clock.restart()  # after an earlier run, and what compiling has asked about its arrays
            dialect.start(bound)
            return bound, compiled, partial(_run, kernel, compiled, space, bound, settings, is_followed)
    return _prepare(kernel, space, names, args, settings, clock, recorder, is_followed, 0)


def _is_proved(bound: Bound, run: Callable[[Order], None], seed: int | None) -> bool:
    """Run a launch, and return whether no work-item accessed what another one wrote; if not, undo it."""
    before = bound.snapshot()
    try:
        run(Order(seed))
    except Exception:
        # Whatever it is, the run with records says it.
        bound.restore(before)
        return False
    return True


def _is_complex(value: Any) -> bool:
    if isinstance(value, tuple):
        return any(map(_is_complex, value))
    dtype = getattr(value, "dtype", None)
    return isinstance(value, complex) if dtype is None else getattr(dtype, "kind", "c") == "c"


def _sample(space: Range | NdRange, settings: Settings) -> frozenset[int] | None:
    return sample_of(space.size if isinstance(space, Range) else space.group_range.size, settings.groups)


def _sub_group_size(space: Range | NdRange, settings: Settings, options: KernelOptions) -> int:
    """Return the most work-items of a sub-group: the largest size of the device that a work-group fills."""
    if options.sub_group_size is not None:
        return options.sub_group_size
    sizes = (32,) if settings.profile is None else settings.profile.sub_group_sizes
    if isinstance(space, Range):
        return max(sizes)
    return max((size for size in sizes if size <= space.local_range.size), default=min(sizes))


def _recorder(trace: Trace, kernel: InstrumentedKernel, clock: ScheduleState) -> TraceRecorder:
    from kapi_sim.memory.recorder import TraceRecorder

    return TraceRecorder(trace.start(kernel.name, clock, clock.sub_group_size), clock)


def _run(
    kernel: InstrumentedKernel,
    compiled: Compiled,
    space: Range | NdRange,
    bound: Bound,
    settings: Settings,
    is_followed: bool,
    order: Order,
) -> None:
    """Run one order."""
    hooks = hooks_of(bound)
    schedule = Schedule(
        compiled.for_launch(hooks),
        compiled.has_convergent_call,
        compiled.is_generator,
        compiled.on_threads,
        compiled.numbers_iterations,
        bound.values_of(compiled.makes_floats),
        bound,
        is_followed,
        "convergence" in settings.checks,
        order,
        _sample(space, settings),
    )
    start_clock(bound.clock)
    thread = get_ident()
    # A debugger may launch one kernel from within another.
    outer = CARRIED_OUT.get(thread)
    CARRIED_OUT[thread] = words_of(hooks)
    try:
        # A device computes on through overflow, division of floats by zero and nan.
        with np.errstate(all="ignore"), _counting(compiled, bound):
            schedule.run(space)
    except KeyboardInterrupt as interrupt:
        interrupt.add_note(bound.clock.in_words(f"interrupted in {bound.clock.describe()} of kernel `{kernel.name}`"))
        raise
    except Exception as error:
        _complete(error, kernel, bound)
        raise
    finally:
        if outer is None:
            del CARRIED_OUT[thread]
        else:
            CARRIED_OUT[thread] = outer


def _counting(compiled: Compiled, bound: Bound) -> AbstractContextManager[None]:
    if not compiled.without_source:
        return _NOTHING
    # Most kernels have a source.
    from kapi_sim.instrument.iteration_counter import counting

    return counting(compiled.without_source, bound.spin_limit)


def _complete(error: Exception, kernel: InstrumentedKernel, bound: Bound) -> None:
    """Say which work-item an exception came from, and replace those that only follow from something else."""
    if isinstance(error, SpinningError):
        found = deadlock(bound, {bound.clock.uid: error.loop}, [], error.repeats_state, error.factor)
        raise found.with_traceback(error.__traceback__) from None
    shadow = bound.local_shadow
    if shadow is not None and (not isinstance(error, KapiError) or isinstance(error, OutOfBoundsError)):
        # Garbage from unwritten memory is what such an error usually comes from.
        unwritten = unwritten_read(shadow)
        if unwritten is not None:
            raise unwritten from error
    where = _user_site(error)
    note = f"in {bound.clock.describe()} of kernel `{kernel.name}`" + (f", at {where}" if where else "")
    if isinstance(error, OverflowError) and str(error).startswith(("Python integer", "Python int too large")):
        raised = DtypeError(
            f"a Python number does not fit the type of its operation: {error}; convert it, or use a wider type",
            code="number-unfit",
        ).with_traceback(error.__traceback__)
        raised.add_note(note)
        raise raised from error
    if isinstance(error, ValueError) and bound.unwritable and "read-only" in str(error):
        name = _stored_to(error, bound)
        said = bound.unwritable[name]
        subject = "array" if said is CONSTANT else "argument"
        refused = KernelLaunchError(
            f"{subject} `{name}` of kernel `{kernel.name}` must be {said}",
            code=_UNWRITABLE.get(said, "argument-overlaps-itself"),
        ).with_traceback(error.__traceback__)
        refused.add_note(note)
        raise refused from None
    if isinstance(error, AttributeError) and isinstance(error.obj, View) and hasattr(np.ndarray, str(error.name)):
        hint = "write a loop over its elements, or use NumPy outside of the kernel"
        if error.name in _OTHER_FORMS:
            hint = "make that of it outside of the kernel, and pass it as an argument"
        missing = DtypeError(
            f"`{error.obj.name}` must be used element by element in a kernel, got its {short_repr(error.name)}: {hint}",
            code="array-attribute",
        ).with_traceback(error.__traceback__)
        missing.add_note(note)
        raise missing from None
    if isinstance(error, AttributeError) and isinstance(error.obj, View):
        said = f"`{error.obj.name}` is an array, which has no {error.name!r} in a kernel"
        unknown = KernelCompilationError(said, code="attribute-unknown").with_traceback(error.__traceback__)
        unknown.add_note(note)
        raise unknown from None
    misuse = describe_misuse(error)
    if misuse is not None:
        misused = KernelCompilationError(misuse.text, code=misuse.code).with_traceback(error.__traceback__)
        misused.add_note(note)
        raise misused from None
    operation = error_of_operation(error) if kernel.dialect.is_strict else None
    if operation is not None:
        operation.add_note(note)
        raise operation.with_traceback(error.__traceback__) from None
    if isinstance(error, OutOfBoundsError) and bound.clock.describe() in str(error):
        note = f"in kernel `{kernel.name}`"  # the message has the place
    if not isinstance(error, _NAME_WORK_ITEMS):
        error.add_note(note)


_UNWRITABLE = {READ_ONLY: "argument-read-only", CONSTANT: "outside-array-stored"}


def _stored_to(error: Exception, bound: Bound) -> str:
    """Return the argument whose array NumPy refused to store to."""
    memory = {array.__array_interface__["data"][0]: name for name, array in bound.arrays.items()}
    found = next(iter(bound.unwritable))
    traceback = error.__traceback__
    while traceback is not None:
        for value in traceback.tb_frame.f_locals.values():
            if isinstance(value, View) and value.name.partition("[")[0] in bound.unwritable:
                found = value.name.partition("[")[0]
            elif isinstance(value, np.ndarray) and not value.flags.writeable and value.base is not None:
                found = memory.get(value.__array_interface__["data"][0], found)
        traceback = traceback.tb_next
    return found if found in bound.unwritable else next(iter(bound.unwritable))


def _user_site(error: Exception) -> SourceLocation | None:
    """Return the innermost line of the user's own that an exception came through."""
    found = None
    traceback = error.__traceback__
    while traceback is not None:
        if is_users_own(traceback.tb_frame.f_globals.get("__name__") or ""):
            found = SourceLocation(traceback.tb_frame.f_code.co_filename, traceback.tb_lineno)
        traceback = traceback.tb_next
    return found


def _compare(
    run: Callable[[Order], None],
    kernel: InstrumentedKernel,
    bound: Bound,
    settings: Settings,
    seeds: tuple[int | None, ...],
) -> None:
    """Run several orders from the same start, note outputs that differ, and leave the first's."""
    before = bound.snapshot()
    first = before
    for order, seed in enumerate(seeds):
        if order > 0:
            bound.restore(before)
            bound.forget()
            if bound.recorder is not None:
                bound.recorder.start_anew()
        try:
            run(Order(seed))
        except Exception as error:
            if order > 0:
                error.add_note(f"in the order that simulation(seed={seed}) replays")
            raise
        after = bound.snapshot()
        if order == 0:
            first = after
            continue
        different = {
            name: (first[name], after[name]) for name in first if first[name].tobytes() != after[name].tobytes()
        }
        if different:
            _note_difference(kernel, bound, settings, different, seeds[0], seed)
    bound.restore(first)


def _note_difference(
    kernel: InstrumentedKernel,
    bound: Bound,
    settings: Settings,
    different: dict[str, tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]],
    first: int | None,
    seed: int | None,
) -> None:
    lines = [_difference(name, *contents, first, seed) for name, contents in different.items()]
    text = bound.clock.in_words(
        f"outputs of kernel `{kernel.name}` depend on the order of its work-items: "
        f"{', '.join(f'`{name}`' for name in different)} differ under simulation(seed={seed})\n"
        + "\n".join(f"  {line}" for line in lines)
        + "\n  silence this with warnings.filterwarnings('ignore', category=kapi_sim.errors.ScheduleDependenceWarning)"
    )
    if settings.report is not None:
        settings.report.notes.append(text)
    warnings.warn(text, ScheduleDependenceWarning, stacklevel=2)


def _difference(
    name: str, first: np.ndarray[Any, Any], after: np.ndarray[Any, Any], seed: int | None, other: int | None
) -> str:
    """Name the first element of an output that differs between two orders."""
    # By bytes: nan is equal to itself here, and -0.0 is not 0.0.
    one, two = (np.ascontiguousarray(array).reshape(-1).view(np.uint8) for array in (first, after))
    where = np.unique(np.nonzero(one != two)[0] // max(first.itemsize, 1))
    index = np.unravel_index(int(where[0]), first.shape)
    order = "program order" if seed is None else f"seed {seed}"
    more = f", and {len(where) - 1} more elements differ" if len(where) > 1 else ""
    return (
        f"{spell(name, tuple(int(i) for i in index))} is {first[index]} in {order} "
        f"and {after[index]} under seed {other}{more}"
    )
