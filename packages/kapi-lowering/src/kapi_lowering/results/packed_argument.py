"""The one by-value argument of a kernel: which parameters it holds, and where."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

__all__ = ["LINEAR_ROLES", "Field", "PackedLayout", "Parameter"]

LINEAR_ROLES = ("local_range", "group_range")
"""The fields of the packed argument for work-groups that are launched as linear ones."""

_OF_ARGUMENTS = ("pointer", "shape", "stride", "value")


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a kernel, as its author wrote it.

    Attributes
    ----------
    name : str
        As in the kernel's source; ``name[0]``, ``name[1]``, ... for what a tuple holds.
    kind : {"array", "scalar", "local"}
        What the caller brings: a USM array, a number, or the shape of local memory.
    type : numba.types.Type or str
        Its type in the kernel; only the type's name where the module was read by `read_module`.
    has_strides : bool
        Whether the packed argument holds the array's strides, in elements, after its shape.
    is_written : bool
        Whether the kernel may write to the array, itself or in a device function.
    """

    name: str
    kind: Literal["array", "scalar", "local"]
    type: Any
    has_strides: bool = False
    is_written: bool = False


@dataclass(frozen=True, slots=True)
class Field:
    """One value in the packed argument.

    Attributes
    ----------
    owner : str
        Parameter that it belongs to; "range", "local_range" and "group_range" for those of the index space, "failure"
        for the record of failures.
    role : {"range", "local_range", "group_range", "pointer", "shape", "stride", "value", "failure"}
        What it says of its owner.
    code : str
        `struct` format character.
    offset : int
        Bytes from the start of the argument.
    """

    owner: str
    role: Literal["range", "local_range", "group_range", "pointer", "shape", "stride", "value", "failure"]
    code: str
    offset: int


@dataclass(frozen=True, slots=True)
class PackedLayout:
    """The one by-value argument that holds all pointers, shapes, strides and scalars of a launch.

    Every field is aligned to its own size, the structure to 8 bytes, little-endian.

    Parameters
    ----------
    fields : tuple of Field
        In the order of their offsets.
    size : int
        Bytes of the argument.

    Examples
    --------
    >>> layout = PackedLayout.of([("n", "value", "i"), ("x", "pointer", "Q")])
    >>> layout.format, layout.size
    ('<i4xQ', 16)
    >>> layout.pack([7, 4096]).hex()
    '07000000000000000010000000000000'
    """

    fields: tuple[Field, ...]
    size: int
    _struct: struct.Struct = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_struct", struct.Struct(self.format))

    @classmethod
    def of(cls, values: Sequence[tuple[str, Any, str]]) -> PackedLayout:
        """The layout of values given as (owner, role, `struct` character), in order."""
        fields, offset = [], 0
        for owner, role, code in values:
            size = struct.calcsize("<" + code)
            offset += -offset % size
            fields.append(Field(owner, role, code, offset))
            offset += size
        # An empty structure is not a legal argument type: one value stands in.
        return cls(tuple(fields), max(8, offset + -offset % 8))

    @property
    def format(self) -> str:
        """The `struct` format of the argument, padding included."""
        text, end = "<", 0
        for each in self.fields:
            padding = each.offset - end
            text += (f"{padding}x" if padding else "") + each.code
            end = each.offset + struct.calcsize("<" + each.code)
        return text + (f"{self.size - end}x" if self.size > end else "")

    def fields_of(self, parameter: str) -> tuple[Field, ...]:
        """The fields that an argument fills: pointer, extents and strides of an array, or the parts of a number.

        Those of one argument are next to each other, in the order in which their values are packed.
        """
        # A parameter may have the name of what belongs to none, such as `range`.
        return tuple(each for each in self.fields if each.owner == parameter and each.role in _OF_ARGUMENTS)

    def pack(self, values: Sequence[Any]) -> bytes:
        """The bytes of the argument, given the values of its fields in order.

        Raises
        ------
        struct.error
            If there are more or fewer values than fields, or one does not fit its field.
        """
        return self._struct.pack(*values)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.fields, self.size)
