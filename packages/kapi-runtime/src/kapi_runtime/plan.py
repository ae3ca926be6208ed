"""What a repeated launch needs, worked out by the first: one kernel, index space, queue and list of argument types.

A plan is memory that `_submission_code` reads: where each argument goes in the packed one, and what it must be.  Other
values, shapes and arrays of the same types are packed by the same plan; whatever differs otherwise, or is not known
here, goes the long way in `launch`, which raises the errors, and makes another plan.

Before a plan is used, it packs the arguments that it was made for, and the bytes must be those that the long way gave:
that, and a look at the arrays' own attributes, shows that the structs of dpnp and NumPy are what they are taken for.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Sequence
from typing import Any

import dpctl
import numpy as np

from kapi_runtime import _submission_code as code
from kapi_runtime._submission import Submission, submission
from kapi_runtime._waiting import Pace
from kapi_runtime.program import DeviceKernel
from kapi_sim import LocalAccessor, NdRange, Range
from kapi_spirv import Parameter

__all__ = ["Plan", "PlanTable", "make_plan"]

_C_CONTIGUOUS, _F_CONTIGUOUS, _WRITABLE = 1, 2, 4  # flags in the array struct
_RAW, _LOCAL = 13, 11  # dpctl's numbers of the kinds of arguments
_UINT64 = 7  # dpctl's number of the element type of local memory
_ARRAY_SIZE, _WRAPPER_SIZE = 88, 24  # bytes of dpnp's inner array, and of the one around it
_WORD = ctypes.c_int64
_SPACES, _PLANS = 64, 8  # index spaces of which a kernel remembers plans, and plans for each


class Plan:
    """A launch that is ready but for its arguments; `make_plan` makes it.

    Attributes
    ----------
    queue : dpctl.SyclQueue
        Where it is submitted.
    kernel : DeviceKernel
        What is submitted.
    accessors : tuple of (int, LocalAccessor)
        Position and value of the local memory that it was made for.
    address : int
        The plan in memory.
    pace : Pace
        How long its launches take to wait for.
    """

    __slots__ = ("_kept", "_packed", "_submission", "accessors", "address", "kernel", "pace", "queue")

    def __init__(
        self,
        queue: Any,
        kernel: DeviceKernel,
        accessors: tuple[tuple[int, LocalAccessor], ...],
        words: dict[str, int],
        table: Any,
        packed: bytes,
        made: Submission,
    ) -> None:
        self.queue, self.kernel, self.accessors = queue, kernel, accessors
        self.pace = Pace()
        self._submission = made
        self._packed = (ctypes.c_char * len(packed)).from_buffer_copy(packed)
        local = [_local_memory(accessor) for _, accessor in accessors]
        native = (ctypes.c_void_p * (1 + len(local)))(None, *map(ctypes.addressof, local))
        types = (ctypes.c_int * (1 + len(local)))(_RAW, *([_LOCAL] * len(local)))
        words = words | {
            "packed": ctypes.addressof(self._packed),
            "packed_size": len(packed),
            "native": ctypes.addressof(native),
            "native_types": ctypes.addressof(types),
            "natives": len(native),
        }
        block = (_WORD * len(code.PLAN_WORDS))(*(words.get(name, 0) for name in code.PLAN_WORDS))
        self.address = ctypes.addressof(block)
        self._kept = (block, table, native, types, local, words)

    def copy(self) -> Plan:
        """Return a plan of its own memory, with the same arguments packed."""
        _, table, _, _, _, words = self._kept
        return Plan(self.queue, self.kernel, self.accessors, words, table, bytes(self._packed), self._submission)

    def suits(self, given: Sequence[Any]) -> bool:
        """Whether the local memory among the arguments is what the plan was made for."""
        return all(given[index] == accessor for index, accessor in self.accessors)

    def pack(self, given: tuple[Any, ...]) -> bool:
        """Pack the arguments for `send`; False if they are not the plan's."""
        return self._submission.pack(self.address, given) and self.suits(given)

    def send(self, order: Any, cell: list[Any], more_events: list[Any]) -> Any:
        """Submit what was packed, as `Submission.send` does."""
        return self._submission.send(self.address, order, cell, more_events)

    def launch(self, given: tuple[Any, ...], order: Any, cell: list[Any], more_events: list[Any]) -> Any:
        """Pack and submit, as `Submission.launch` does."""
        return self._submission.launch(self.address, given, order, cell, more_events)

    @property
    def packed(self) -> bytes:
        """The packed argument as it is now."""
        return bytes(self._packed)


class PlanTable(dict["Range | NdRange", "tuple[Plan, ...]"]):
    """The plans of one kernel by index space, the latest first; those of old index spaces are forgotten."""

    __slots__ = ("_lock",)

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()

    def add(self, space: Range | NdRange, prepared: Any) -> None:
        """Put a plan for launches like this one before the others of its index space, if there is none of its kind.

        There may be one: a launch that waits for more events than plans can take goes the long way.
        """
        given = prepared.arguments.given
        if any(plan.pack(given) for plan in self.get(space, ())):
            return
        plan = prepared.plan()
        if plan is None:
            return
        with self._lock:
            self[space] = (plan, *self.pop(space, ())[: _PLANS - 1])
            while len(self) > _SPACES:
                del self[next(iter(self))]

    def forget(self, device: Any) -> None:
        """Drop the plans of launches on a device."""
        with self._lock:
            for space, plans in list(self.items()):
                self[space] = tuple(plan for plan in plans if plan.queue.sycl_device != device)


def make_plan(
    kernel: DeviceKernel,
    queue: Any,
    given: tuple[Any, ...],
    packed: bytes,
    global_range: Sequence[int],
    local_range: Sequence[int] | None,
    at_once: bool = False,
) -> Plan | None:
    """Return the plan of a launch that was validated, or None if there is none for arguments like these.

    Parameters
    ----------
    kernel : DeviceKernel
        The kernel.
    queue : dpctl.SyclQueue
        Where its arrays are.
    given : tuple
        The arguments.
    packed : bytes
        What the launch packs of them.
    global_range, local_range : sequence of int
        What it submits.
    at_once : bool
        Whether the plan is worth the making of `submission`'s functions.
    """
    made = submission(at_once)
    if made is None or any(isinstance(value, tuple) for value in given):
        return None
    rows = [_row(kernel, parameter, value) for parameter, value in zip(kernel.module.parameters, given, strict=True)]
    if None in rows:
        return None
    width = len(code.ARGUMENT_WORDS)
    flat = [row[name] for row in rows if row is not None for name in code.ARGUMENT_WORDS]
    table = (_WORD * max(1, len(rows) * width))(*flat)
    accessors = tuple((i, value) for i, value in enumerate(given) if isinstance(value, LocalAccessor))
    words = {
        "arguments": len(rows),
        "table": ctypes.addressof(table),
        "queue": id(queue),
        "queue_ref": queue.addressof_ref(),
        "kernel_ref": kernel.sycl_kernel.addressof_ref(),
        "has_local_range": local_range is not None,
        "dimensions": len(global_range),
    }
    for name, extents in (("global_range", global_range), ("local_range", local_range or ())):
        words |= {name + ("", "_1", "_2")[i]: extent for i, extent in enumerate(extents)}
    plan = Plan(queue, kernel, accessors, words, table, packed, made)
    return plan if plan.pack(given) and plan.packed == packed else None


def _row(kernel: DeviceKernel, parameter: Parameter, value: Any) -> dict[str, int] | None:
    """The words of one argument, or None if only the long way can read it."""
    fields = [field for field in kernel.module.layout.fields if field.owner == parameter.name]
    row = dict.fromkeys(code.ARGUMENT_WORDS, 0) | {"type": id(type(value))}
    if fields:
        row["offset"] = fields[0].offset
    if parameter.kind == "array":
        return _array_row(row, value, [field.offset for field in fields if field.role == "stride"])
    if parameter.kind == "local":
        return row | {"kind": code.OTHER}
    if parameter.kind != "scalar":
        return None
    if isinstance(value, np.generic) or type(value) is complex:
        number: Any = np.complex128(value) if type(value) is complex else value
        size = number.dtype.itemsize
        held = ctypes.string_at(id(value) + 16, size) if type(value).__basicsize__ >= 16 + size else b""
        return row | {"kind": code.NUMBER, "element": size} if held == number.tobytes() else None
    kind = {int: code.INT, float: code.FLOAT, bool: code.BOOL}.get(type(value))
    return None if kind is None else row | {"kind": kind}


def _array_row(row: dict[str, int], value: Any, strides: list[int]) -> dict[str, int] | None:
    inner = value
    if type(value).__basicsize__ == _WRAPPER_SIZE and hasattr(value, "get_array"):
        inner = value.get_array()
        if ctypes.c_size_t.from_address(id(value) + 16).value != id(inner):
            return None
    if not _is_as_known(inner):
        return None
    flags = ctypes.c_int.from_address(id(inner) + 60).value
    # Contiguous in both ways counts as C, and needs no strides.
    layout = _C_CONTIGUOUS if flags & _C_CONTIGUOUS else _C_CONTIGUOUS | _F_CONTIGUOUS
    return row | {
        "kind": code.ARRAY if inner is value else code.WRAPPED_ARRAY,
        "inner_type": id(type(inner)),
        "element": ctypes.c_int.from_address(id(inner) + 56).value,
        "rank": inner.ndim,
        "flags_mask": layout | _WRITABLE,
        "flags": flags & (layout | _WRITABLE),
        "strides_offset": strides[0] if strides else -1,
    }


def _is_as_known(array: Any) -> bool:
    """Whether the struct of an array holds what its attributes say, where it is looked for."""
    if type(array).__basicsize__ != _ARRAY_SIZE or not isinstance(getattr(array, "_pointer", None), int):
        return False
    base, at = array.usm_data, id(array)
    if not isinstance(base, dpctl.memory._memory._Memory):
        return False
    return (
        ctypes.c_size_t.from_address(at + 24).value == array._pointer
        and ctypes.c_int.from_address(at + 32).value == array.ndim
        and ctypes.c_int.from_address(at + 56).value == array.dtype.num
        and (ctypes.c_int.from_address(at + 60).value & _WRITABLE != 0) == array.flags.writable
        and ctypes.c_size_t.from_address(at + 64).value == id(base)
        and ctypes.c_size_t.from_address(id(base) + 48).value == id(base.sycl_queue)
    )


class _LocalMemory(ctypes.Structure):
    """dpctl's struct of local memory: rank, element type, three extents."""

    _fields_ = [("rank", ctypes.c_size_t), ("element", ctypes.c_int32), ("extents", ctypes.c_size_t * 3)]


def _local_memory(accessor: LocalAccessor) -> _LocalMemory:
    # Elements of 8 bytes serve every dtype: only the size and the alignment count.
    return _LocalMemory(1, _UINT64, (ctypes.c_size_t * 3)(-(-accessor.nbytes // 8), 1, 1))
