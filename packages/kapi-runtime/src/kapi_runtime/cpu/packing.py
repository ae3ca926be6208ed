"""Functions that pack the arguments of launches like one, and say of others that they are not like it.

Numbers are read by a function that is written for the launch, since a loop over rows of what is to be checked
takes twice as long.  It leaves arrays to native code, which may run the kernel as well.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kapi_cpu import CpuModule
from kapi_runtime.cpu.execution.native import ArrayTable, can_read_arrays, native_functions
from kapi_runtime.cpu.memory.arrays import fields_of
from kapi_runtime.native.packing_source import PackingSource, written_pairs
from kapi_sim import LocalAccessor
from kapi_sim.language.array_memory import ArrayFields

__all__ = ["Pack", "accessor_counts", "packing_of"]

Pack = Callable[[tuple[Any, ...], Any, int, int, int, int], int]
"""Takes arguments, a buffer for them, its address, the addresses of compiled code or 0 and of a thread's record, and
the number of work-groups.  It packs the arguments and does what `NativeFunctions.launch` does, or returns -1 for
arguments that are not like those of the launch."""


def packing_of(module: CpuModule, given: tuple[Any, ...]) -> Pack | None:
    """Return the function that packs arguments like these, or None if there is none."""
    if not can_read_arrays():
        return None
    source = PackingSource()
    arrays: list[tuple[int, ArrayFields, bool]] = []
    rows: list[tuple[int, np.ndarray[Any, Any], int]] = []
    parameters = iter(module.parameters)  # one for each member of a tuple and field of a record
    for index, value in enumerate(given):
        if isinstance(value, (np.void, tuple)):
            members = (module.layout.fields_of(each.name) for each in parameters)
            if not source.store_members(index, value, members):
                return None
            continue
        parameter = next(parameters, None)
        if parameter is None:
            return None
        fields = module.layout.fields_of(parameter.name)
        if parameter.kind == "array":
            read = fields_of(value, None) if isinstance(value, np.ndarray) else None
            if read is None:
                return None
            arrays.append((fields[0].offset, read, parameter.is_written))
            rows.append((index, value, fields[0].offset))
        elif parameter.kind == "local":
            source.tests.append(f"a{index} == {source.name(value)}")
        elif not source.store_number(index, value, fields):
            return None
    if next(parameters, None) is not None:
        return None
    table = ArrayTable(rows, list(written_pairs(arrays, module.target.reads_apart)))
    return _function(source, table, len(given))


def accessor_counts(given: Sequence[Any]) -> list[int]:
    """Return the number of elements of each local memory among arguments."""
    return [int(np.prod(value.shape)) for value in given if isinstance(value, LocalAccessor)]


def _function(source: PackingSource, table: ArrayTable, count: int) -> Pack:
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
    source.names |= {"launch": native_functions().launch, "table": table}
    pack: Pack = source.function(lines)
    return pack
