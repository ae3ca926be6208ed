"""A compiled kernel: its code, and how to call it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from kapi_lowering.results.failures import Failure
from kapi_lowering.results.packed_argument import LINEAR_ROLES, PackedLayout, Parameter
from kapi_lowering.target import Target
from kapi_sim import Range
from kapi_sim.language import KernelOptions

__all__ = ["MOST_NOTES", "KernelModule"]

MOST_NOTES = 64
"""Warnings of one kernel that are kept with it: more help nobody."""


@dataclass(frozen=True, slots=True)
class KernelModule:
    """One kernel, compiled for one target and one list of argument types.

    Attributes
    ----------
    name : str
        The kernel's name in its source, for messages.
    code : bytes
        What the target's driver takes.
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
        The failures of a work-item, by the numbers of a record; empty without the options `debug` and `boundscheck`.
    notes : tuple of str
        What the compiler warned of, by `MixedTypesWarning`, at most `MOST_NOTES` of them.
    target : Target
        What it was compiled for.
    options : KernelOptions
        How it was compiled.
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
    notes: tuple[str, ...] = field(repr=False)
    target: Target
    options: KernelOptions
    typed_ir: str = field(repr=False)
    llvm_ir: str = field(repr=False)
    optimized_llvm_ir: str = field(repr=False)

    @property
    def is_linear(self) -> bool:
        """Whether its work-groups, of two or three dimensions, are launched as groups of one, as sub-groups need it.

        The packed argument then begins with the local range and with the number of groups, the last dimension last.
        """
        return any(each.role in LINEAR_ROLES for each in self.layout.fields)

    def packed_extents(self, global_range: Range, local_range: Range | None) -> list[int]:
        """Return what the packed argument of a launch says of its index space; `local_range` is None for a `Range`."""
        if local_range is None:
            return list(global_range) if self.index_space == "item" else []
        if not self.is_linear:
            return []
        return [*local_range, *(full // local for full, local in zip(global_range, local_range, strict=True))]

    def packed(self, extents: Sequence[int], arguments: Iterable[Any]) -> bytes:
        """Return the packed argument of a launch; where it has a record of failures, its address is 0.

        Parameters
        ----------
        extents : sequence of int
            What it says of the index space.
        arguments : iterable
            A number, a `kapi_sim.LocalAccessor`, or the `ArrayFields` of an array for each parameter.

        Raises
        ------
        struct.error, OverflowError
            If a number does not fit its type.
        """
        values: list[Any] = list(extents)
        for parameter, value in zip(self.parameters, arguments, strict=True):
            if parameter.kind == "array":
                values.append(value.pointer)
                values += value.shape
                if parameter.has_strides:
                    values += value.strides
            elif parameter.kind == "local":
                values += value.shape
            else:
                number = value.item() if hasattr(value, "item") else value  # of NumPy's scalars
                values += (number.real, number.imag) if isinstance(number, complex) else (number,)
        if self.failures:
            values.append(0)
        return self.layout.pack(values)

    def summary(self) -> str:
        """Summarize the module: the kernel's interface, its requirements, and its size.

        Returns
        -------
        str
            Several lines.
        """
        item = {"item": "Item", "nd_item": "NdItem"}[self.index_space]
        lines = [
            f"kernel {self.name} over {item} of {self.ndim} dimensions, entry point {self.entry_point}",
            f"  {self.describe_code()}; "
            f"LLVM IR {self.llvm_ir.count(chr(10))} lines, optimised {self.optimized_llvm_ir.count(chr(10))}",
            *(f"  {line}" for line in self.describe_needs()),
            f"  packed argument of {self.layout.size} bytes:",
        ]
        lines += [f"    {each.offset:4d} {each.owner} {each.role} ({each.code})" for each in self.layout.fields]
        lines += [
            f"  parameter {each.name}: {each.kind}, {each.type}{', written' * each.is_written}"
            for each in self.parameters
        ]
        lines += [f"  may raise {each.error} at {each.filename}:{each.line}" for each in self.failures]
        return "\n".join(lines)

    def describe_code(self) -> str:
        """Describe the code and its size, for `summary`."""
        return f"{len(self.code)} bytes"

    def describe_needs(self) -> list[str]:
        """Describe the requirements of a device, a line for each kind, for `summary`."""
        return []
