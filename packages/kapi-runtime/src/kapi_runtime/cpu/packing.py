"""Functions that pack the arguments of launches like one, and say of others that they are not like it.

What looks at numbers is a function that is written for the launch, since a loop over rows of what is to be checked
takes twice as long.  It leaves arrays to native code, which may run the kernel as well.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from kapi_cpu import CpuModule
from kapi_runtime.cpu.execution.native import ArrayTable, Pair, can_read_arrays, native_functions
from kapi_runtime.cpu.memory.arrays import fields_of
from kapi_sim import LocalAccessor
from kapi_sim.language.array_memory import ArrayFields

__all__ = ["Pack", "accessor_counts", "packing_of"]

Pack = Callable[[tuple[Any, ...], Any, int, int, int, int], int]
"""Takes arguments, a buffer for them, its address, the addresses of compiled code or 0 and of a thread's record, and
the number of work-groups.  It packs the arguments and does what `NativeFunctions.launch` does, or returns -1 for
arguments that are not like those of the launch."""

_NUMBERS = (bool, int, float, complex)


class _Source:
    """The text of a function, and the values that it names."""

    def __init__(self) -> None:
        self.tests: list[str] = []
        self.stores: list[str] = []
        self.names: dict[str, Any] = {}

    def name(self, value: Any) -> str:
        """A name for a value."""
        made = f"k{len(self.names)}"
        self.names[made] = value
        return made


def packing_of(module: CpuModule, given: tuple[Any, ...]) -> Pack | None:
    """Return the function that packs arguments like these, or None if there is none.

    Parameters
    ----------
    module : CpuModule
        What is launched.
    given : tuple
        The arguments of a launch.
    """
    if not can_read_arrays():
        return None
    source = _Source()
    arrays: list[tuple[int, ArrayFields, bool]] = []
    rows: list[tuple[int, np.ndarray[Any, Any], int]] = []
    for index, (parameter, value) in enumerate(zip(module.parameters, given, strict=True)):
        fields = module.layout.fields_of(parameter.name)
        if parameter.kind == "array":
            read = fields_of(value, None) if isinstance(value, np.ndarray) else None
            if read is None:
                return None
            arrays.append((fields[0].offset, read, parameter.is_written))
            rows.append((index, value, fields[0].offset))
        elif parameter.kind == "local":
            source.tests.append(f"a{index} == {source.name(value)}")
        elif not _number(source, index, value, fields):
            return None
    table = ArrayTable(rows, list(_pairs(arrays, module.target.reads_apart)))
    return _function(source, table, len(given))


def accessor_counts(given: Sequence[Any]) -> list[int]:
    """Return the number of elements of each local memory among arguments."""
    return [int(np.prod(value.shape)) for value in given if isinstance(value, LocalAccessor)]


def _function(source: _Source, table: ArrayTable, count: int) -> Pack:
    arguments = ", ".join(f"a{index}" for index in range(count))
    lines = [
        "def pack(given, buffer, address, run, record, groups):",
        f"    if len(given) != {count}: return -1",
        *([f"    {arguments}, = given", "    try:"] if source.tests else []),
        *(f"        if not ({test}): return -1" for test in source.tests),
        *(f"        {store}" for store in source.stores),
        *(["    except (error, OverflowError): return -1"] if source.tests else []),
        f"    return launch(given, address, {table.address}, run, record, groups)",
    ]
    names = {**source.names, "error": struct.error, "launch": native_functions().launch, "table": table}
    exec("\n".join(lines), names)  # of texts of this module alone; values are named, not written
    pack: Pack = names["pack"]
    return pack


def _number(source: _Source, index: int, value: Any, fields: Sequence[Any]) -> bool:
    """Let a number be stored; False if it is none that is known."""
    is_own = type(value) in _NUMBERS
    if not is_own and type(value).__module__ != "numpy":
        return False
    source.tests.append(f"type(a{index}) is {source.name(type(value))}")
    number = f"a{index}" if is_own else f"a{index}.item()"
    parts = [f"({number}).real", f"({number}).imag"] if len(fields) == 2 else [number]
    for part, field in zip(parts, fields, strict=True):
        store = source.name(struct.Struct("<" + field.code).pack_into)
        source.stores.append(f"{store}(buffer, {field.offset}, {part})")
    return True


def _pairs(arrays: Sequence[tuple[int, ArrayFields, bool]], reads_apart: bool) -> Iterator[Pair]:
    """The pairs of arrays that must share nothing, or be one view, since one of them is written.

    With `reads_apart`, the module takes for granted that what is only read is no view of what is written.
    """
    for position, (one_offset, one, writes_one) in enumerate(arrays):
        for other_offset, other, writes_other in arrays[position + 1 :]:
            if not (writes_one or writes_other) or 0 in one.shape or 0 in other.shape:
                continue
            reach, other_reach = (
                (fields.span[0] - fields.pointer, fields.span[1] - fields.pointer) for fields in (one, other)
            )
            is_alike = (one.shape, one.strides, one.dtype.itemsize) == (
                *(other.shape, other.strides),
                other.dtype.itemsize,
            )
            may_be_one = is_alike and (writes_one == writes_other or not reads_apart)
            yield one_offset, other_offset, reach, other_reach, may_be_one
