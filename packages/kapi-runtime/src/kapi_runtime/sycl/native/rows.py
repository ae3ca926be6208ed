"""Rows of a plan, one for each argument, and the pairs of arrays that must be disjoint or one view."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from kapi_lowering.target import SMALL_EXTENT
from kapi_runtime.sycl.native import structures
from kapi_runtime.sycl.native.structures import Pair, Row
from kapi_spirv import Parameter, SpirvModule
from kapi_types.usm.structures import C_CONTIGUOUS, F_CONTIGUOUS, WRITABLE, Scalar, UsmNdarray, inner_array

__all__ = ["pair_rows", "plan_rows"]

_ANY_EXTENT = 2**63 - 1
_KINDS = {int: structures.INT, float: structures.FLOAT, bool: structures.BOOL}


def plan_rows(module: SpirvModule, given: Sequence[Any]) -> list[Row] | None:
    """Return the row of each argument and of each member of a tuple, or None if only the slow path can read one."""
    rows: list[Row] = []
    parameters = iter(module.parameters)
    for position, value in enumerate(given):
        if not _add_rows(rows, module, parameters, value, 0, position):
            return None
    return rows


def _add_rows(
    rows: list[Row], module: SpirvModule, parameters: Iterator[Parameter], value: Any, parent: int, position: int
) -> bool:
    """Add the rows of a value and, of a tuple, of its members behind it; False if one cannot be read."""
    if isinstance(value, np.void):
        return False
    if not isinstance(value, tuple):
        row = _row(module, next(parameters), value)
        if row is None or (parent != 0 and row.kind == structures.OTHER):
            return False
        row.parent, row.position = parent, position
        rows.append(row)
        return True
    rows.append(Row(parent=parent, position=position, type=id(type(value)), kind=structures.TUPLE, size=len(value)))
    own = len(rows)
    return all(_add_rows(rows, module, parameters, member, own, i) for i, member in enumerate(value))


def pair_rows(module: SpirvModule, rows: Sequence[Row]) -> list[Pair]:
    """Return each pair of arrays of which the kernel writes one.

    - `module`: the compiled kernel.
    - `rows`: those of its arguments, as `plan_rows` gives them, where they stay.
    """
    leaves = [row for row in rows if row.kind != structures.TUPLE]
    arrays = [
        (row, parameter.is_written)
        for row, parameter in zip(leaves, module.parameters, strict=True)
        if parameter.kind == "array"
    ]
    reads_apart = module.target.reads_apart
    return [
        Pair(ctypes.addressof(row), ctypes.addressof(other), is_written == is_other_written or not reads_apart)
        for (row, is_written), (other, is_other_written) in combinations(arrays, 2)
        if is_written or is_other_written
    ]


def _row(module: SpirvModule, parameter: Parameter, value: Any) -> Row | None:
    """The row of one argument, or None if only the slow path can read it."""
    fields = module.layout.fields_of(parameter.name)
    row = Row(type=id(type(value)), offset=fields[0].offset if fields else 0)
    if parameter.kind == "array":
        row.strides_offset = next((each.offset for each in fields if each.role == "stride"), 0)
        row.below = SMALL_EXTENT if module.target.is_small else _ANY_EXTENT
        return _array_row(row, value)
    if parameter.kind == "local":
        row.kind = structures.OTHER
    elif parameter.kind != "scalar":
        return None
    elif isinstance(value, np.generic) or type(value) is complex:
        number: Any = np.complex128(value) if type(value) is complex else value
        row.kind, row.size = structures.NUMBER, number.dtype.itemsize
        if not _holds(value, number.tobytes()):
            return None
    elif type(value) in _KINDS:
        row.kind = _KINDS[type(value)]
    else:
        return None
    return row


def _holds(value: Any, expected: bytes) -> bool:
    """Whether a number has its bytes where `Scalar` says."""
    offset = Scalar.value.offset
    if type(value).__basicsize__ < offset + len(expected):
        return False
    return ctypes.string_at(id(value) + offset, len(expected)) == expected


def _array_row(row: Row, value: Any) -> Row | None:
    inner = inner_array(value)
    if inner is None:
        return None
    array = UsmNdarray.from_address(id(inner))
    # Contiguous in both orders counts as C, and needs no strides.
    order = C_CONTIGUOUS if array.flags & C_CONTIGUOUS else C_CONTIGUOUS | F_CONTIGUOUS
    row.kind = structures.ARRAY if inner is value else structures.WRAPPED_ARRAY
    row.inner_type, row.element, row.rank, row.size = id(type(inner)), array.element, array.rank, inner.dtype.itemsize
    row.flags_mask = order | WRITABLE
    row.flags = array.flags & row.flags_mask
    return row
