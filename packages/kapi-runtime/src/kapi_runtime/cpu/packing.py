"""Functions that pack the arguments of launches like one, and say of others that they are not like it.

Numbers are read by a function that is written for the launch, since a loop over rows of what is to be checked
takes twice as long.  It leaves arrays to native code, which may run the kernel as well.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kapi_cpu import CpuModule
from kapi_runtime.cpu.execution.native_functions import ArrayTable, LaunchCall, can_read_arrays, native_functions
from kapi_runtime.cpu.memory.arrays import fields_of
from kapi_runtime.native.packing_source import PackingSource, written_pairs
from kapi_sim import LocalAccessor
from kapi_sim.language.array_memory import ArrayFields

__all__ = ["Packing", "accessor_counts", "packing_of"]

Write = Callable[[tuple[Any, ...], Any], bool]
"""Takes arguments and a buffer, writes the numbers among them, and tells whether they are like those of the launch."""


class Packing:
    """The form of a launch's arguments.

    - `table`: of their number, and of the arrays.
    - `write`: for the others; None if all are arrays.
    """

    __slots__ = ("table", "write")

    def __init__(self, table: ArrayTable, write: Write | None) -> None:
        self.table, self.write = table, write

    def packs(self, given: tuple[Any, ...], buffer: Any) -> bool:
        """Pack arguments into a buffer; False if they are not like those of the launch."""
        if self.write is not None and not self.write(given, buffer):
            return False
        call = LaunchCall(ctypes.addressof(buffer), self.table)
        return native_functions().pack(given, call.address) == 0


def packing_of(module: CpuModule, given: tuple[Any, ...]) -> Packing | None:
    """Return the form of these arguments, or None if native code can't read one of them."""
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
    table = ArrayTable(len(given), rows, list(written_pairs(arrays, module.target.reads_apart)))
    return Packing(table, _write(source, len(given)))


def accessor_counts(given: Sequence[Any]) -> list[int]:
    """Return the number of elements of each local memory among arguments."""
    return [int(np.prod(value.shape)) for value in given if isinstance(value, LocalAccessor)]


def _write(source: PackingSource, count: int) -> Write | None:
    if not source.tests:
        return None
    arguments = ", ".join(f"a{index}" for index in range(count))
    lines = [
        "def pack(given, buffer):",
        f"    if len(given) != {count}: return False",
        f"    {arguments}, = given",
        "    try:",
        *(f"        if not ({test}): return False" for test in source.tests),
        *(f"        {store}" for store in source.stores),
        "    except (error, OverflowError): return False",
        "    return True",
    ]
    write: Write = source.function(lines)
    return write
