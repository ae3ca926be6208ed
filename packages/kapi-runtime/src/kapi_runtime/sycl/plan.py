"""Plan of repeated launches, worked out by the first: one kernel, index space, queue and list of argument types.

A plan is memory as `native.structures` says: where each argument goes in the packed one, and what it must be.  Other
values, shapes and arrays of the same types are packed by the same plan.  Whatever differs otherwise, or is not known
here, takes the slow path in `launch`, which raises errors, and makes another plan.  So do arrays that overlap without
being one view, of which the kernel writes one.

Before a plan is used, it packs the arguments that it was made for, and the bytes must be those that the slow path gave:
that, and a comparison with the arrays' own attributes, shows that the structs of dpnp and NumPy
are what they are taken for.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, Literal

import dpctl

from kapi_runtime.platform.current import host_array_target
from kapi_runtime.sycl.native.native_functions import NativeFunctions, native_functions
from kapi_runtime.sycl.native.rows import pair_rows, plan_rows
from kapi_runtime.sycl.native.structures import KEPT, Pair, Row, SyclLaunch
from kapi_runtime.sycl.programs.program import DeviceKernel
from kapi_runtime.sycl.queues import keep_alive
from kapi_runtime.sycl.queues.events import DpctlHostEvent, native_events
from kapi_runtime.sycl.queues.interruptible_waits import Pace
from kapi_runtime.sycl.queues.keep_alive import TIDY_AFTER
from kapi_runtime.sycl.queues.launch_chain import chain_of, managers
from kapi_sim import KernelLaunchError, LocalAccessor
from kapi_types.usm.structures import array_fields

__all__ = ["SyclPlan", "make_plan"]

_RAW, _LOCAL = 13, 11  # dpctl's numbers of the kinds of arguments
_UINT64 = 7  # dpctl's number of the element type of local memory


class SyclPlan:
    """A launch that is ready but for its arguments; `make_plan` makes it.

    - `is_plain`: whether native code sees all that the arguments must be; if not, `suits` must be asked.
    - `address`: the plan in memory.
    - `pace`: how long its launches take to wait for.
    """

    __slots__ = (
        "_accessors",
        "_fields",
        "_is_placed",
        "_kept",
        "_launch",
        "_pack",
        "_packed",
        "_send",
        "_written_views",
        "address",
        "is_plain",
        "kernel",
        "pace",
        "queue",
    )

    def __init__(
        self,
        queue: Any,
        kernel: DeviceKernel,
        given: tuple[Any, ...],
        words: SyclLaunch,
        kept: Any,
        packed: bytes,
        made: NativeFunctions,
    ) -> None:
        self.queue, self.kernel = queue, kernel
        self._accessors = tuple((i, value) for i, value in enumerate(given) if isinstance(value, LocalAccessor))
        self._fields = tuple((type_, type_._fields) for type_ in _types(given) if hasattr(type_, "_fields"))
        # Without arrays, the queue is that of the `device_context`.
        self._is_placed = any(parameter.kind == "array" for parameter in kernel.module.parameters)
        # Views may be of any strides: whether elements share memory is asked each time, where they are written.
        self._written_views = tuple(
            position
            for position, parameter in enumerate(kernel.module.parameters)
            if parameter.kind == "array" and parameter.is_written and parameter.has_strides
        )
        self.is_plain = self._is_placed and not (self._accessors or self._fields or self._written_views)
        self.pace = Pace()
        self._pack, self._send, self._launch = made.pack, made.send, made.launch
        self._packed = (ctypes.c_char * len(packed)).from_buffer_copy(packed)
        local = [_local_memory(accessor) for _, accessor in self._accessors]
        values = (ctypes.c_void_p * (1 + len(local)))(None, *map(ctypes.addressof, local))
        types = (ctypes.c_int * (1 + len(local)))(_RAW, *([_LOCAL] * len(local)))
        words.world = made.world
        words.packed, words.packed_size = ctypes.addressof(self._packed), len(packed)
        words.values, words.value_types = ctypes.addressof(values), ctypes.addressof(types)
        words.value_count = len(values)
        words.host_event, words.release, words.pace = id(DpctlHostEvent), id(keep_alive.release), id(self.pace)
        self.address = ctypes.addressof(words)
        # The types, too: another one could be at the address of one that is gone.
        self._kept = (words, kept, values, types, local, _types(given))

    def suits(self, given: Sequence[Any]) -> bool:
        """Whether local memory, named tuples, and where a launch without arrays goes are what the plan was made for.

        Asked of arguments that native code has found to be of the plan's types.
        """
        if not self._is_placed:
            host_target = host_array_target.get()
            if host_target is None or host_target.queue != self.queue:
                return False
        if self._written_views:
            leaves = list(_leaves(given))
            if any(array_fields(leaves[position]).overlaps_itself for position in self._written_views):
                return False
        return all(given[index] == accessor for index, accessor in self._accessors) and all(
            type_._fields == fields for type_, fields in self._fields
        )

    def pack(self, given: tuple[Any, ...]) -> bool:
        """Pack the arguments for `send`; False if they are not the plan's."""
        return self._pack(self.address, given) and (self.is_plain or self.suits(given))

    def send(self, owners: Any, before: list[Any]) -> tuple[DpctlHostEvent, Any] | Literal[False]:
        """Launch with what was packed last; see `LaunchPlan.send`."""
        if before:
            before = _native(before)  # type: ignore[assignment]
            if before is None:
                return False
        chain = self._chain()
        if chain is None:
            return False
        events: tuple[DpctlHostEvent, Any] | Literal[False] = self._send(self.address, owners, chain, before)
        if len(chain[KEPT]) % TIDY_AFTER == 0:
            keep_alive.tidy(chain)
        return events

    def launch(self, given: tuple[Any, ...], before: list[Any]) -> tuple[DpctlHostEvent, Any] | Literal[False] | None:
        """Launch with these arguments.

        None if they are not the plan's; False if the launch must take the slow path all the same.
        """
        # `suits` takes the arguments to be of the plan's types; `_launch` packs again, since another thread may have.
        if not self.is_plain and not self.pack(given):
            return None
        if before:
            before = _native(before)  # type: ignore[assignment]
            if before is None:
                return False
        chain = self._chain()
        if chain is None:
            return False if self._pack(self.address, given) else None
        events: tuple[DpctlHostEvent, Any] | Literal[False] | None = self._launch(
            self.address, given, (given, self), chain, before
        )
        if len(chain[KEPT]) % TIDY_AFTER == 0:
            keep_alive.tidy(chain)
        return events

    def _chain(self) -> list[Any] | None:
        """The queue's chain, by the short path where there is one."""
        try:
            chain: list[Any] = managers()[self.queue].kapi_chain
            return chain
        except AttributeError:
            pass  # the error holds the manager, which `chain_of` may find to be held by nobody
        return chain_of(self.queue)

    @property
    def device(self) -> Any:
        """The device that it launches on."""
        return self.queue.sycl_device

    @property
    def packed(self) -> bytes:
        """The packed argument as it is now."""
        return bytes(self._packed)


def make_plan(
    kernel: DeviceKernel,
    queue: Any,
    given: tuple[Any, ...],
    packed: bytes,
    global_range: Sequence[int],
    local_range: Sequence[int] | None,
) -> SyclPlan | None:
    """Return the plan of a launch that was validated, or None; see `Launcher.make_plan`."""
    made = native_functions()
    slots = _slots()
    rows = None if made is None else plan_rows(kernel.module, given)
    if made is None or slots is None or rows is None:
        return None
    table = (Row * len(rows))(*rows)
    strides = [(ctypes.c_ssize_t * max(1, row.rank))() for row in table]
    for row, room in zip(table, strides, strict=True):
        row.strides = ctypes.addressof(room)
    pairs = pair_rows(kernel.module, list(table))
    pair_table = (Pair * len(pairs))(*pairs)
    holders = (ctypes.c_void_p * (1 + len(rows)))()
    ranges = [(ctypes.c_size_t * 3)(*extents) for extents in (global_range, local_range or ())]
    words = SyclLaunch(
        given_count=len(given),
        row_count=len(rows),
        rows=ctypes.addressof(table),
        holders=ctypes.addressof(holders),
        pair_count=len(pairs),
        pairs=ctypes.addressof(pair_table),
        queue=queue.addressof_ref(),
        kernel=kernel.native.addressof_ref(),
        dimensions=len(global_range),
        global_range=ctypes.addressof(ranges[0]),
        local_range=None if local_range is None else ctypes.addressof(ranges[1]),
        **slots,
    )
    plan = SyclPlan(queue, kernel, given, words, (table, strides, pair_table, holders, ranges), packed, made)
    return plan if plan.pack(given) and plan.packed == packed else None


def _native(before: list[Any]) -> list[Any] | None:
    """The events as dpctl knows them; None if one is none, which the slow path reports."""
    try:
        return native_events(before)
    except KernelLaunchError:
        return None


@cache
def _slots() -> dict[str, int] | None:
    """Offset at which a host event holds its event, or None if it holds it elsewhere."""
    held = {"event": dpctl.SyclEvent(), "release": object(), "pace": object()}
    event = DpctlHostEvent(*held.values())
    slots = {f"{name}_offset": _where(event, id(value)) for name, value in held.items()}
    slots["reference_offset"] = _where(event, event.addressof_ref())
    # Any event of dpctl's has this address in the same place: that of the functions which Cython's code calls.
    methods = set(_words(held["event"])) & set(_words(dpctl.SyclEvent()))
    slots["methods_offset"] = _where(event, methods.pop()) if len(methods) == 1 else 0
    return slots if all(slots.values()) else None


def _where(value: Any, word: int) -> int:
    """The byte at which an object holds a word; 0 if it does not, or does twice."""
    words = _words(value)
    return 16 + 8 * words.index(word) if words.count(word) == 1 else 0


def _words(value: Any) -> list[int]:
    """The words of an object after its head."""
    return [ctypes.c_size_t.from_address(id(value) + at).value for at in range(16, type(value).__basicsize__, 8)]


def _leaves(given: Sequence[Any]) -> Iterator[Any]:
    """The arguments, and in place of a tuple its members."""
    for value in given:
        if isinstance(value, tuple):
            yield from _leaves(value)
        else:
            yield value


def _types(given: Sequence[Any]) -> list[Any]:
    """The type of each argument, and of each member of tuples."""
    types: list[Any] = []
    for value in given:
        types.append(type(value))
        if isinstance(value, tuple):
            types += _types(value)
    return types


class _LocalMemory(ctypes.Structure):
    """dpctl's struct of local memory: rank, element type, three extents."""

    _fields_ = [("rank", ctypes.c_size_t), ("element", ctypes.c_int32), ("extents", ctypes.c_size_t * 3)]


def _local_memory(accessor: LocalAccessor) -> _LocalMemory:
    # Elements of 8 bytes serve every dtype: only the size and the alignment count.
    return _LocalMemory(1, _UINT64, (ctypes.c_size_t * 3)(-(-accessor.nbytes // 8), 1, 1))
