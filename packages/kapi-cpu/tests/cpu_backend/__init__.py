"""Kernels on NumPy arrays, compiled for the processor and run on this thread."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np

import kapi_sim
from kapi_cpu import CpuTarget, compile_kernel, host_target
from kapi_cpu.emission.launch_record import ALIGNMENT, WORDS, aligned
from kapi_cpu.loading import LoadedKernel, load
from kapi_lowering import FAILURE_RECORD_SIZE, Failure, FailureRecord
from kapi_sim.language import KernelOptions
from kapi_sim.language.intrinsics.records import members_of
from kapi_types import ArrayType, ItemType, NdItemType, typeof_argument
from kapi_types.kernel_api import tuple_of

__all__ = ["AVX2", "AVX512", "SHAPES", "Cpu", "one_lane", "run", "shapes", "signature_of"]

LONGEST_GROUP = 1024

_SSE = "+sse4.2,+ssse3,+popcnt,+cx16"
AVX2 = f"{_SSE},+avx,+avx2,+fma,+f16c,+bmi,+bmi2,+lzcnt"
AVX512 = f"{AVX2},+avx512f,+avx512vl,+avx512bw,+avx512dq,+avx512cd"
SHAPES: dict[str, dict[str, Any]] = {
    "scalar": {"lanes": 1},
    "4": {"lanes": 4},
    "32": {"lanes": 32},
    "sse4.2": {"cpu": "generic", "features": _SSE, "has_fast_gathers": False},
    "avx2": {"cpu": "generic", "features": AVX2, "has_fast_gathers": False},
    "avx2 gathers": {"cpu": "generic", "features": AVX2, "has_fast_gathers": True},
    "avx-512": {"cpu": "generic", "features": AVX512, "has_fast_gathers": False},
    "avx-512 scatters": {"cpu": "generic", "features": AVX512, "has_fast_gathers": True},
}
"""Other targets than that of this processor, by what they change in it."""


def shapes() -> list[str]:
    """Those that this processor can run."""
    has = host_target().features.split(",")
    return [
        name
        for name, changes in SHAPES.items()
        if all(each in has for each in changes.get("features", "").split(",") if each)
    ]


class Cpu:
    """A backend of the conformance suite.

    Parameters
    ----------
    target : CpuTarget, optional
        What to compile for.
    longest_group : int
        Work-items of the groups that a Range is cut into, but for the last one.

    Attributes
    ----------
    kapi : object
        The names of the kernel language, with a `call_kernel` that compiles.
    lanes : list of int
        Those of each launch.
    """

    def __init__(self, target: CpuTarget | None = None, longest_group: int = LONGEST_GROUP) -> None:
        self.target, self.longest_group, self.lanes = target, longest_group, list[int]()
        names = {name: getattr(kapi_sim, name) for name in kapi_sim.__all__}
        self.kapi = SimpleNamespace(**names | {"call_kernel": self.call}, __name__="kapi_cpu")

    def to_device(self, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """A copy."""
        return array.copy()

    def to_host(self, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """The array."""
        return array

    def call(self, kernel: Any, space: Any, *args: Any) -> tuple[Failure, FailureRecord] | None:
        """Launch a kernel; returns what went wrong first in debug mode."""
        has_groups = isinstance(space, kapi_sim.NdRange)
        extents = tuple(space.global_range) if has_groups else tuple(space)
        types = signature_of(len(extents), args, has_groups)
        loaded = _loaded(kernel.py_func, tuple(types), kernel.options, self.target)
        self.lanes.append(loaded.lanes)
        local = (
            tuple(space.local_range)
            if has_groups
            else (*(1 for _ in extents[1:]), min(extents[-1], self.longest_group))
        )
        return run(loaded, extents, tuple(max(1, extent) for extent in local), args)


@cache
def _loaded(function: Any, types: tuple[Any, ...], options: KernelOptions, target: CpuTarget | None) -> LoadedKernel:
    """One compilation for the launches of all sizes."""
    return load(compile_kernel(function, types, options=options, target=target))


def one_lane() -> Cpu:
    """Work-items one after the other, whose code no vectoriser changed: what others are judged by."""
    return Cpu(replace(host_target(), lanes=1))


def signature_of(ndim: int, arguments: Sequence[Any], has_groups: bool = False) -> list[Any]:
    """Return the types of a launch's arguments, NumPy's arrays among them, with the work-item's first.

    Parameters
    ----------
    ndim : int
        Axes of the index space.
    arguments : sequence of object
        Those of the launch.
    has_groups : bool
        Whether the index space is an NdRange.
    """
    return [(NdItemType if has_groups else ItemType)(ndim), *map(_type_of, arguments)]


def run(
    loaded: LoadedKernel, extents: Sequence[int], local: Sequence[int], args: Any
) -> tuple[Failure, FailureRecord] | None:
    """Run a kernel over an index space; returns what went wrong first in debug mode."""
    module = loaded.module
    groups = [-(-extent // part) for extent, part in zip(extents, local, strict=True)]
    record = ctypes.create_string_buffer(FAILURE_RECORD_SIZE)
    owners: dict[str, Any] = {each.name: leaf for each, leaf in zip(module.parameters, _leaves(args), strict=True)}
    owners |= {"range": extents, "local_range": local, "group_range": groups, "failure": ctypes.addressof(record)}
    taken: dict[tuple[str, str], int] = {}
    values = []
    for each in module.layout.fields:
        number = taken.get((each.owner, each.role), 0)
        taken[each.owner, each.role] = number + 1
        values.append(_value(owners[each.owner], each.role, number))
    packed = ctypes.create_string_buffer(module.layout.pack(values) + bytes(8))
    if module.is_linear:
        extents, local = [math.prod(extents)], [math.prod(local)]
    counts = [math.prod(_shape(owners[each.name])) for each in module.parameters if each.kind == "local"]
    _run_groups(loaded, _axes(extents), _axes(local), counts, ctypes.addressof(packed))
    found = FailureRecord.read(record.raw)
    return None if found is None else (module.failures[found.number], found)


def _run_groups(
    loaded: LoadedKernel,
    global_size: Sequence[int],
    local_size: Sequence[int],
    counts: Sequence[int],
    packed: int,
) -> None:
    """Run all groups in this thread; groups at the ends may be cut off, and `counts` are elements of local memory."""
    groups = [-(-extent // part) for extent, part in zip(global_size, local_size, strict=True)]
    local, scratch, context, total = loaded.module.group_memory(counts, local_size)
    memory = np.empty(total + ALIGNMENT, np.uint8)
    base = aligned(memory.ctypes.data)
    words = (*global_size, *local_size, *groups, 0, math.prod(groups), base + local, base + scratch, base + context)
    record = (ctypes.c_int64 * len(WORDS))(*words)
    loaded.call(packed, ctypes.addressof(record))


def _axes(extents: Sequence[int]) -> tuple[int, int, int]:
    first, second, third = [*reversed(extents), 1, 1][:3]
    return first, second, third


def _shape(owner: Any) -> tuple[int, ...]:
    return owner.shape if isinstance(owner.shape, tuple) else (owner.shape,)


def _type_of(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple_of(value, tuple(map(_type_of, value)))
    if not isinstance(value, np.ndarray):
        return typeof_argument(value)
    layout = "C" if value.flags.c_contiguous else "F" if value.flags.f_contiguous else "A"
    return ArrayType(typeof_argument(np.zeros((), value.dtype)[()]), value.ndim, layout)


def _value(owner: Any, role: str, number: int) -> Any:
    if role in ("range", "local_range", "group_range"):
        return owner[number]
    if role == "failure":
        return owner
    if role == "pointer":
        return owner.ctypes.data
    if role == "shape":
        return _shape(owner)[number]
    if role == "stride":
        return owner.strides[number] // owner.itemsize
    if isinstance(owner, (complex, np.complexfloating)):
        return owner.imag if number else owner.real
    return owner.item() if isinstance(owner, np.generic) else owner


def _leaves(arguments: Any) -> Iterator[Any]:
    for each in arguments:
        if isinstance(each, (tuple, np.void)):
            yield from _leaves(members_of(each) if isinstance(each, np.void) else each)
        elif each is not None and not callable(each):  # of which the kernel is specialised
            yield each
