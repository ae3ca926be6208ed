"""What a plan says of each argument: its rows, and the pairs of arrays that must be apart or one view."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

import dpctl
import numpy as np

from kapi_runtime.sycl.native import plan_layout as layout
from kapi_spirv import Parameter, SpirvModule

__all__ = ["pair_rows", "plan_rows"]

_C_CONTIGUOUS, _F_CONTIGUOUS, _WRITABLE = 1, 2, 4  # flags in the array struct
_ARRAY_SIZE, _WRAPPER_SIZE = 88, 24  # bytes of dpnp's inner array, and of the one around it

_OF_PARAMETERS = ("pointer", "shape", "stride", "value")

Row = dict[str, int]


def plan_rows(module: SpirvModule, given: Sequence[Any]) -> list[Row] | None:
    """Return the words of each argument and of each member of a tuple, or None if only the long way can read one.

    Parameters
    ----------
    module : SpirvModule
        The compiled kernel.
    given : sequence
        The arguments.
    """
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
    place = {"parent": parent, "position": position}
    if not isinstance(value, tuple):
        row = _row(module, next(parameters), value)
        if row is not None:
            rows.append(row | place)
        return row is not None and (parent == 0 or row["kind"] != layout.OTHER)
    kind = {"type": id(type(value)), "kind": layout.TUPLE, "element": len(value)}
    rows.append(dict.fromkeys(layout.ARGUMENT_WORDS, 0) | kind | place)
    own = len(rows)
    return all(_add_rows(rows, module, parameters, member, own, i) for i, member in enumerate(value))


def pair_rows(module: SpirvModule, rows: Sequence[Row]) -> list[Row]:
    """Return the words of each pair of arrays of which the kernel writes one.

    Parameters
    ----------
    module : SpirvModule
        The compiled kernel.
    rows : sequence of dict
        Those of its arguments, as `plan_rows` gives them.
    """
    leaves = [(index, row) for index, row in enumerate(rows) if row["kind"] != layout.TUPLE]
    arrays = [
        (index, row, parameter.is_written)
        for (index, row), parameter in zip(leaves, module.parameters, strict=True)
        if parameter.kind == "array"
    ]
    return [
        _pair(first, row, second, other)
        for (first, row, is_written), (second, other, is_other_written) in combinations(arrays, 2)
        if is_written or is_other_written
    ]


def _pair(first: int, row: Row, second: int, other: Row) -> Row:
    has_strides, others_strides = (each["strides_offset"] >= 0 for each in (row, other))
    order, others_order = ((each["flags_mask"] & ~_WRITABLE, each["flags"] & ~_WRITABLE) for each in (row, other))
    is_alike = (row["rank"], row["element_size"], has_strides) == (other["rank"], other["element_size"], others_strides)
    return {
        "first": first,
        "second": second,
        "words": 1 + row["rank"],
        "strides": row["rank"] if has_strides else 0,
        "may_be_one": is_alike and order == others_order,
    }


def _row(module: SpirvModule, parameter: Parameter, value: Any) -> Row | None:
    """The words of one argument, or None if only the long way can read it."""
    # A parameter may have the name of what belongs to none, such as `range`.
    fields = [field for field in module.layout.fields if field.owner == parameter.name and field.role in _OF_PARAMETERS]
    row = dict.fromkeys(layout.ARGUMENT_WORDS, 0) | {"type": id(type(value))}
    if fields:
        row["offset"] = fields[0].offset
    if parameter.kind == "array":
        return _array_row(row, value, [field.offset for field in fields if field.role == "stride"])
    if parameter.kind == "local":
        return row | {"kind": layout.OTHER}
    if parameter.kind != "scalar":
        return None
    if isinstance(value, np.generic) or type(value) is complex:
        number: Any = np.complex128(value) if type(value) is complex else value
        size = number.dtype.itemsize
        held = ctypes.string_at(id(value) + 16, size) if type(value).__basicsize__ >= 16 + size else b""
        return row | {"kind": layout.NUMBER, "element": size} if held == number.tobytes() else None
    kind = {int: layout.INT, float: layout.FLOAT, bool: layout.BOOL}.get(type(value))
    return None if kind is None else row | {"kind": kind}


def _array_row(row: Row, value: Any, strides: list[int]) -> Row | None:
    inner = value
    if type(value).__basicsize__ == _WRAPPER_SIZE and hasattr(value, "get_array"):
        inner = value.get_array()
        if ctypes.c_size_t.from_address(id(value) + 16).value != id(inner):
            return None
    if not _is_as_known(inner):
        return None
    flags = ctypes.c_int.from_address(id(inner) + 60).value
    # Contiguous in both ways counts as C, and needs no strides.
    order = _C_CONTIGUOUS if flags & _C_CONTIGUOUS else _C_CONTIGUOUS | _F_CONTIGUOUS
    return row | {
        "kind": layout.ARRAY if inner is value else layout.WRAPPED_ARRAY,
        "inner_type": id(type(inner)),
        "element": ctypes.c_int.from_address(id(inner) + 56).value,
        "element_size": inner.dtype.itemsize,
        "rank": inner.ndim,
        "flags_mask": order | _WRITABLE,
        "flags": flags & (order | _WRITABLE),
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
