"""A compiled kernel: SPIR-V bytes, and how to call them."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from kapi_sim.spec import KernelOptions
from kapi_spirv.emission_client import disassemble
from kapi_spirv.failures import Failure
from kapi_spirv.target import SpirvTarget

__all__ = ["LINEAR_ROLES", "Field", "PackedLayout", "Parameter", "SpirvModule"]

LINEAR_ROLES = ("local_range", "group_range")
"""What the packed argument says of work-groups that are launched as linear ones."""


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

    Every field is aligned to its own size, the whole to 8 bytes, little-endian.

    Parameters
    ----------
    fields : tuple of Field
        In the order of their offsets.
    size : int
        Bytes of the whole argument.

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
        """The `struct` format of the whole argument, padding included."""
        text, end = "<", 0
        for each in self.fields:
            padding = each.offset - end
            text += (f"{padding}x" if padding else "") + each.code
            end = each.offset + struct.calcsize("<" + each.code)
        return text + (f"{self.size - end}x" if self.size > end else "")

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


@dataclass(frozen=True, slots=True)
class SpirvModule:
    """One kernel, compiled for one list of argument types.

    Attributes
    ----------
    name : str
        The kernel's name in its source, for messages.
    code : bytes
        The SPIR-V binary.
    entry_point : str
        Name of the entry point in it.
    index_space : {"item", "nd_item"}
        What the kernel's first parameter is. Work-items of an "item" kernel outside of the packed range do nothing, so
        a launch may be rounded up.
    ndim : int
        Dimensions of the index space, 1 to 3.
    parameters : tuple of Parameter
        Without the first.
    layout : PackedLayout
        The by-value argument, the entry point's first; one pointer to local memory follows for each parameter of kind
        "local". Where `failures` holds any, its last field is the address of a record of `FAILURE_RECORD_SIZE` zeros
        in global memory.
    failures : tuple of Failure
        What a work-item may meet, by the numbers of a record; empty without the options `debug` and `boundscheck`.
    target : SpirvTarget
        What it was compiled for.
    options : KernelOptions
        How it was compiled.
    capabilities, extensions : tuple of str
        What a device must have to run it, as named in the SPIR-V specification.
    typed_ir : str
        Numba's IR of the kernel itself, with the type of each variable.
    llvm_ir, optimized_llvm_ir : str
        The LLVM IR that Numba's lowering gave, and the same after optimisation.
    """

    name: str
    code: bytes = field(repr=False)
    entry_point: str
    index_space: Literal["item", "nd_item"]
    ndim: int
    parameters: tuple[Parameter, ...]
    layout: PackedLayout = field(repr=False)
    failures: tuple[Failure, ...] = field(repr=False)
    target: SpirvTarget
    options: KernelOptions
    capabilities: tuple[str, ...]
    extensions: tuple[str, ...]
    typed_ir: str = field(repr=False)
    llvm_ir: str = field(repr=False)
    optimized_llvm_ir: str = field(repr=False)

    @property
    def is_linear(self) -> bool:
        """Whether its work-groups, of two or three dimensions, are launched as groups of one, as sub-groups need it.

        The packed argument then begins with the local range and with the number of groups, the last dimension last.
        """
        return any(each.role in LINEAR_ROLES for each in self.layout.fields)

    @property
    def assembly(self) -> str:
        """The SPIR-V as text, made by LLVM each time it is asked for; names and order of ids are LLVM's own."""
        return disassemble(self.optimized_llvm_ir, self.entry_point, self.target)

    def summary(self) -> str:
        """What a reader wants to know first: the kernel's interface, what it needs, and how large it is.

        Returns
        -------
        str
            Several lines.
        """
        item = {"item": "Item", "nd_item": "NdItem"}[self.index_space]
        lines = [
            f"kernel {self.name} over {item} of {self.ndim} dimensions, entry point {self.entry_point}",
            f"  SPIR-V {self.target.version}, {len(self.code)} bytes; "
            f"LLVM IR {self.llvm_ir.count(chr(10))} lines, optimised {self.optimized_llvm_ir.count(chr(10))}",
            f"  capabilities: {', '.join(self.capabilities)}",
            f"  extensions: {', '.join(self.extensions) or 'none'}",
            f"  packed argument of {self.layout.size} bytes:",
        ]
        lines += [f"    {each.offset:4d} {each.owner} {each.role} ({each.code})" for each in self.layout.fields]
        lines += [
            f"  parameter {each.name}: {each.kind}, {each.type}{', written' * each.is_written}"
            for each in self.parameters
        ]
        lines += [f"  may raise {each.error} at {each.filename}:{each.line}" for each in self.failures]
        return "\n".join(lines)
