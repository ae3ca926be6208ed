"""Arguments of a launch, as the kernel's parameters hold them."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any

import numpy as np

from kapi_sim.checks.device_limits import check_dtype, check_local_memory
from kapi_sim.checks.happens_before import HappensBefore
from kapi_sim.checks.ordered_races import HappensBeforeShadowMemory
from kapi_sim.checks.ownership import OwnershipMemory, owners_of
from kapi_sim.checks.races import ShadowMemory
from kapi_sim.errors import DtypeError, LimitError
from kapi_sim.items.profile import Profile
from kapi_sim.items.schedule_state import ScheduleState
from kapi_sim.items.usm import HostCopy, copy_in, copy_out_changed, is_usm_array
from kapi_sim.language import MAX_RANK, LocalAccessor, NdRange, Range
from kapi_sim.language.array_memory import OVERLAPPING, is_masked, overlaps_itself
from kapi_sim.language.integers import require_64_bits
from kapi_sim.language.intrinsics.records import field_dtypes, unmet_requirement
from kapi_sim.language.usm_protocol import protocol_fields
from kapi_sim.memory.dialect import KAPI, Dialect
from kapi_sim.memory.records import RecordValue
from kapi_sim.memory.views import SaturatingArray
from kapi_sim.settings.simulation_settings import Settings
from kapi_sim.short_repr import short_repr

if TYPE_CHECKING:
    from kapi_sim.memory.recorder import TraceRecorder

__all__ = ["READ_ONLY", "Bound", "bind"]

READ_ONLY = "writable, since the kernel stores to it, got a read-only array: pass a copy"
"""The requirement on an array that a kernel stores to; of views that overlap themselves, see `OVERLAPPING`."""

_KINDS = "an array, a number, a bool, a LocalAccessor or a tuple of these"


@dataclass(slots=True)
class Bound:
    """The arguments of one run, as the kernel gets them.

    - `clock`: the launch's position in its schedule.
    - `values`: one for each parameter after the work-item.
    - `arrays`: the arrays in global memory, by name; views of one are named once each.
    - `local_arrays`: local memory, to be poisoned for each group.
    - `shadow`, `local_shadow`: where accesses are recorded.
    - `usm`: arrays in unified shared memory, by the `id` of the argument.
    - `recorder`: where events are noted, in a launch that is traced.
    - `has_floats`: whether any argument is or holds a float.
    - `ordering`: what atomics, fences and sub-groups order, in a launch that has them.
    - `spin_limit`: iterations of a loop after which it is given up.
    - `is_rerun`: whether what runs has run before in another order.
    - `stuck`: file, first and last line of the loops that were found not to end.
    - `checks_limits`, `has_bounds`, `finds_unwritten`: checks that are made of what the kernel itself makes.
    - `is_viewed`: whether any access is looked at.
    - `has_fp64`, `has_atomic64`: abilities of the pretended device.
    - `profile`: the pretended device, if launches are held to it.
    - `unwritable`: what is said of the arrays that a kernel may only read, by name.
    - `dialect`: in which the kernel is written.
    - `local_bytes`: bytes of local memory that the arguments ask for, for each work-group.
    """

    clock: ScheduleState
    values: list[Any] = field(default_factory=list)
    arrays: dict[str, np.ndarray[Any, Any]] = field(default_factory=dict)
    local_arrays: list[np.ndarray[Any, Any]] = field(default_factory=list)
    shadow: ShadowMemory | None = None
    local_shadow: ShadowMemory | None = None
    usm: dict[int, HostCopy] = field(default_factory=dict)
    recorder: TraceRecorder | None = None
    has_floats: bool = False
    ordering: HappensBefore | None = None
    spin_limit: int = 1_000_000
    is_rerun: bool = False
    stuck: list[tuple[str, int, int]] = field(default_factory=list)
    checks_limits: bool = False
    has_bounds: bool = False
    finds_unwritten: bool = False
    is_viewed: bool = False
    has_fp64: bool = True
    has_atomic64: bool = True
    profile: Profile | None = None
    _unrecorded: int = 0
    unwritable: dict[str, str] = field(default_factory=dict)
    dialect: Dialect = KAPI
    local_bytes: int = 0

    def values_of(self, makes_floats: bool) -> list[Any]:
        """Return the values for a kernel that does, or does not, make floats itself."""
        return [_saturating(value) for value in self.values] if makes_floats or self.has_floats else self.values

    @property
    def has_owners(self) -> bool:
        """Whether the elements of global memory have owners in place of records of their accesses."""
        return isinstance(self.shadow, OwnershipMemory)

    @property
    def elements_tracked(self) -> int:
        """Distinct elements of global memory whose accesses were recorded in the last run."""
        return 0 if self.shadow is None else self.shadow.touched

    def changes(self) -> int:
        """Return how often shared memory was changed; another number each time where that is not recorded."""
        if self.shadow is None or self.local_shadow is None:
            self._unrecorded += 1
            return self._unrecorded
        return self.shadow.changes + self.local_shadow.changes

    def snapshot(self) -> dict[str, np.ndarray[Any, Any]]:
        """Return copies of the arrays in global memory."""
        return {name: array.copy() for name, array in self.arrays.items()}

    def restore(self, contents: dict[str, np.ndarray[Any, Any]]) -> None:
        """Give the arrays in global memory these contents."""
        for name, array in self.arrays.items():
            if array.flags.writeable:
                array[...] = contents[name]

    def forget(self) -> None:
        """Go back to the start of the launch, before any access."""
        self.clock.restart()
        if self.local_shadow is not None:
            self.local_shadow.initialised = set()
        for shadow in (self.shadow, self.local_shadow):
            if shadow is not None:
                shadow.clear()
        if self.ordering is not None:
            self.ordering.restart()

    def pass_grid_barrier(self) -> None:
        """Forget the accesses so far: they are all ordered before what comes."""
        for shadow in (self.shadow, self.local_shadow):
            if shadow is not None:
                shadow.initialised = shadow.initialised | shadow.written_addresses()
                shadow.clear()
        if self.ordering is not None:
            self.ordering.restart()

    def notes(self) -> list[str]:
        """Return what was found and is no error."""
        shadows = [shadow for shadow in (self.shadow, self.local_shadow) if shadow is not None]
        return [note for shadow in shadows for note in shadow.notes.values()]

    def copy_back(self) -> None:
        """Write what changed of unified shared memory back to where it came from."""
        copy_out_changed(list(self.usm.values()))


def bind(
    names: list[str],
    args: tuple[Any, ...],
    space: Range | NdRange,
    clock: ScheduleState,
    settings: Settings,
    recorder: TraceRecorder | None = None,
    orders_memory: bool = False,
    dialect: Dialect = KAPI,
    most_owned: int = 0,
) -> Bound:
    """Check the arguments and wrap what the checks have to see.

    - `names`: of the kernel's parameters after the work-item.
    - `args`: one for each.
    - `space`: the index space.
    - `clock`: the launch's position.
    - `settings`: what is checked.
    - `recorder`: where events are noted, in a launch that is traced.
    - `orders_memory`: whether the kernel has atomics, fences or sub-groups, which order memory besides barriers.
    - `dialect`: in which the kernel is written.
    - `most_owned`: instead of recording accesses, prove that each element is of one work-item, if there are at most so
      many.

    Raises `DtypeError` if an argument is not of a type that kernels take; `LimitError` if local memory is asked for
    without work-groups or beyond the profile, or an array has too many axes.
    """
    binder = _Binder(space, clock, settings, orders_memory, dialect)
    binder.bound.recorder = recorder
    args = tuple(map(dialect.argument, args))
    for name, value in zip(names, args, strict=False):
        binder.inspect(name, value)
    if settings.profile is not None and "limits" in settings.checks:
        check_local_memory(binder.local_bytes, settings.profile)
    binder.bound.local_bytes = binder.local_bytes
    binder.granule = _granule(list(binder.bound.arrays.values()))
    if most_owned:
        binder.follow_owners(most_owned)
    binder.recall_written()
    binder.bound.values = [binder.wrap(name, value) for name, value in zip(names, args, strict=False)]
    return binder.bound


class _Binder:
    """Two passes over the arguments: read all, then wrap each."""

    def __init__(
        self, space: Range | NdRange, clock: ScheduleState, settings: Settings, orders_memory: bool, dialect: Dialect
    ) -> None:
        checks = settings.checks
        self._profile = settings.profile if "limits" in checks else None
        races, unwritten = "races" in checks, "initialisation" in checks
        self._unwritten = settings.uninitialised if unwritten else None
        has_fp64 = self._profile is None or self._profile.has_fp64
        has_atomic64 = self._profile is None or self._profile.has_atomic64
        self.bound = bound = Bound(
            clock,
            spin_limit=settings.spin_limit,
            checks_limits="limits" in checks,
            has_bounds="bounds" in checks,
            finds_unwritten=unwritten,
            is_viewed=dialect.is_always_viewed
            or not checks.isdisjoint(("bounds", "races", "initialisation"))
            or not (has_fp64 and has_atomic64),
            has_fp64=has_fp64,
            has_atomic64=has_atomic64,
            profile=self._profile,
            dialect=dialect,
        )
        self._dialect = dialect
        self.granule = 1
        self.local_bytes = 0
        self._space = space
        self._clock = clock
        if orders_memory and (races or unwritten):
            bound.ordering = HappensBefore(clock, dialect.fences_cross_barriers)
        if races or self._unwritten is not None:
            bound.shadow = self._shadow("global", races, self._unwritten is not None)
        if races or unwritten:
            bound.local_shadow = self._shadow("local", races, unwritten)

    def follow_owners(self, most: int) -> None:
        """Let global memory have owners in place of records, if there are at most so many; local memory has neither."""
        arrays = list(self.bound.arrays.values())
        if any(self.granule < array.itemsize for array in arrays):
            return
        owners = owners_of(((*_span(array), array.itemsize) for array in arrays), most)
        if owners is not None:
            clock, unwritten = self._clock, self._unwritten is not None
            self.bound.shadow = OwnershipMemory(clock, "global", unwritten, owners)
            self.bound.local_shadow = OwnershipMemory(clock, "local", unwritten, [])

    def recall_written(self) -> None:
        """Tell the record of global memory what is marked, and what earlier launches wrote."""
        if self._unwritten is not None and self.bound.shadow is not None:
            self.bound.shadow.initialised = self._unwritten.written_before(self.bound.usm.values())
            self.bound.shadow.marked = self._unwritten.marked_in(self.bound.usm.values())

    def _shadow(self, space: str, finds_races: bool, finds_unwritten: bool) -> ShadowMemory:
        if self.bound.ordering is None:
            return ShadowMemory(self._clock, space, finds_races, finds_unwritten)
        return HappensBeforeShadowMemory(self._clock, space, finds_races, finds_unwritten, self.bound.ordering)

    def inspect(self, name: str, value: Any) -> None:
        """Check one argument, and note its memory."""
        if isinstance(value, tuple):
            for i, element in enumerate(value):
                self.inspect(f"{name}[{i}]", element)
        elif isinstance(value, np.ndarray):
            self._inspect_array(name, value)
        elif isinstance(value, LocalAccessor):
            if isinstance(self._space, Range):
                raise LimitError(
                    f"argument `{name}` must not be a LocalAccessor in a Range launch, which has no "
                    "work-groups, "
                    f"got {short_repr(value)}: launch over an NdRange",
                    code="local-memory-in-range",
                )
            self.local_bytes += value.nbytes
            self._inspect_dtype(name, value.dtype)
        elif isinstance(value, np.generic):
            self._inspect_dtype(name, value.dtype)
        elif isinstance(value, int):
            require_64_bits(f"argument `{name}`", value)
        elif is_usm_array(value):
            self._inspect_usm(name, value)
        elif isinstance(value, (float, complex)):
            self.bound.has_floats = True
        elif not self._dialect.is_value(value):
            hint = ": pass its value" if isinstance(value, Enum) else ""
            hint = f": pass an array, np.asarray({name})" if isinstance(value, list) else hint
            raise DtypeError(
                f"argument `{name}` must be {_KINDS}, got {short_repr(value)} of type {type(value).__name__}{hint}",
                code="argument-type",
            )

    def _inspect_dtype(self, name: str, dtype: np.dtype[Any]) -> None:
        if not self._dialect.is_dtype(dtype):
            unmet = unmet_requirement(dtype)
            hint = "convert it with astype" if dtype.names is None else "pass its fields as arrays of their own"
            raise DtypeError(f"dtype of argument `{name}` {unmet}: {hint}", code="argument-dtype")
        for held, _ in field_dtypes(dtype).values():
            self._inspect_dtype(name, held.base)
        self.bound.has_floats |= dtype.kind in "fc"
        if self._profile is not None:
            check_dtype(f"argument `{name}`", dtype, self._profile)

    def _inspect_array(self, name: str, array: np.ndarray[Any, Any]) -> None:
        if isinstance(array, np.matrix) or is_masked(array):
            # Its operators, or its mask, would be lost without a word.
            raise DtypeError(
                f"argument `{name}` must be a plain array, got a {type(array).__name__}: pass np.asarray({name}), and "
                "a mask as an array of its own",
                code="argument-array-class",
            )
        self._inspect_dtype(name, array.dtype)
        if array.ndim > MAX_RANK:
            raise LimitError(
                f"argument `{name}` must have at most {MAX_RANK} axes, got {array.ndim}", code="too-many-axes"
            )
        self.bound.arrays[name] = array.view(np.ndarray)
        if overlaps_itself(array.shape, array.strides, array.itemsize):
            self.bound.unwritable[name] = OVERLAPPING
        elif not array.flags.writeable:
            self.bound.unwritable[name] = READ_ONLY

    def _inspect_usm(self, name: str, value: Any) -> None:
        if id(value) in self.bound.usm:
            return
        try:
            fields = protocol_fields(value)
        except DtypeError as error:
            raise DtypeError(f"argument `{name}`: {error.message}", code=error.code) from None
        host = copy_in(value, name)
        self._inspect_array(name, host)
        if fields.readonly or fields.overlaps_itself:
            self.bound.unwritable[name] = READ_ONLY if fields.readonly else OVERLAPPING
        self.bound.usm[id(value)] = HostCopy(name, value, host, host.copy())

    def wrap(self, name: str, value: Any) -> Any:
        """Return what the parameter called `name` holds in the kernel."""
        if isinstance(value, tuple):
            elements = [self.wrap(f"{name}[{i}]", element) for i, element in enumerate(value)]
            # A named tuple takes its fields one by one.
            return type(value)(*elements) if hasattr(value, "_fields") else tuple(elements)
        if isinstance(value, LocalAccessor):
            array = np.empty(value.shape, value.dtype)
            self.bound.local_arrays.append(array)
            return self._viewed(array, name, self.bound.local_shadow, array.itemsize)
        if isinstance(value, np.ndarray):
            return self._viewed(value.view(np.ndarray), name, self.bound.shadow, self.granule)
        if id(value) in self.bound.usm:
            is_marked = self._unwritten is not None and self._unwritten.holds_usm(value)
            return self._viewed(self.bound.usm[id(value)].host, name, self.bound.shadow, self.granule, is_marked)
        return RecordValue(value.copy()) if isinstance(value, np.void) and self._dialect.is_strict else value

    def _viewed(
        self, array: np.ndarray[Any, Any], name: str, shadow: ShadowMemory | None, granule: int, is_marked: bool = False
    ) -> Any:
        bound = self.bound
        if name in bound.unwritable:
            array = array.view()
            array.flags.writeable = False  # `launch` says of a store whose it is, and why
        is_local = any(array is local for local in bound.local_arrays)
        starts_unwritten = is_marked or is_local or (self._unwritten is not None and self._unwritten.holds(array))
        details = (name, self._clock, shadow, bound.has_bounds, granule, bound.has_fp64)
        space = "local" if is_local else "global"
        is_viewed = bound.is_viewed or array.dtype.names is not None  # NumPy's records have no fields as attributes
        if bound.recorder is not None:
            return self._dialect.traced_view(self._clock)(array, *details, space, starts_unwritten).trace(
                bound.recorder
            )
        if not is_viewed:
            return array
        kind = self._dialect.owned_view if bound.has_owners else self._dialect.view
        return kind(self._clock)(array, *details, space, starts_unwritten)


def _saturating(value: Any) -> Any:
    """Return an argument whose integer arrays take floats as a device does, if it is not watched anyway."""
    if isinstance(value, tuple):
        elements = [_saturating(element) for element in value]
        return type(value)(*elements) if hasattr(value, "_fields") else tuple(elements)
    if isinstance(value, np.ndarray) and value.dtype.kind in "iu":
        return value.view(SaturatingArray)
    return value


def _granule(arrays: list[np.ndarray[Any, Any]]) -> int:
    """Bytes that one recorded address may stand for: 1 if elements of two arrays overlap in part."""
    largest = max((array.itemsize for array in arrays), default=1)
    spans = [_span(array) for array in arrays]
    for i, (low, high) in enumerate(spans):
        for j in range(i + 1, len(spans)):
            start, end = spans[j]
            if low < end and start < high and not _coincide(arrays[i], arrays[j]):
                return 1
    return largest


def _coincide(first: np.ndarray[Any, Any], second: np.ndarray[Any, Any]) -> bool:
    """Whether elements of the two arrays, and fields of them, are either the same memory or disjoint."""
    size = first.itemsize
    if first.dtype != second.dtype and (first.dtype.names is not None or second.dtype.names is not None):
        return False
    distance = first.__array_interface__["data"][0] - second.__array_interface__["data"][0]
    steps = (distance, *first.strides, *second.strides)
    return size == second.itemsize and all(step % size == 0 for step in steps)


def _span(array: np.ndarray[Any, Any]) -> tuple[int, int]:
    low = high = array.__array_interface__["data"][0]
    if array.size == 0:
        return low, low
    for extent, stride in zip(array.shape, array.strides, strict=False):
        reach = (extent - 1) * stride
        low, high = low + min(reach, 0), high + max(reach, 0)
    return low, high + array.itemsize
