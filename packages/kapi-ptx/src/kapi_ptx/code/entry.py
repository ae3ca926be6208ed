"""The entry point of a kernel: how its arguments arrive, and what a driver is told of it.

References
----------
LLVM, "User Guide for NVPTX Back-end", section "Kernel function attributes".
"""

from __future__ import annotations

from collections.abc import Sequence

from llvmlite import ir

from kapi_sim.language import KernelOptions

__all__ = ["begin_entry", "finish_entry"]


class _Attributes(ir.values.FunctionAttributes):
    """A function's attributes, those that LLVM knows by their text included."""

    def add_text(self, name: str, value: str) -> None:
        """Add an attribute that only a target knows."""
        set.add(self, f'"{name}"="{value}"')


def begin_entry(
    module: ir.Module, name: str, packed: ir.Type, local: Sequence[ir.Type]
) -> tuple[ir.Function, ir.Value]:
    """Declare it; the structure is its only argument, and local memory is shared memory of the module."""
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), [packed.as_pointer()]), name)
    function.calling_convention = "ptx_kernel"
    function.attributes = _Attributes()
    structure = function.args[0]
    structure.name = "packed"
    structure.add_attribute("byval")
    structure.attributes.align = 8
    return function, structure


def finish_entry(function: ir.Function, ndim: int, options: KernelOptions, is_linear: bool) -> None:
    """Add the dimensions, for emission, and the sizes of work-groups that every launch has, or has at most."""
    function.attributes.add_text("kapi.dimensions", str(ndim))
    if options.local_range is not None:
        extents = [*reversed(options.local_range), 1, 1][:3]
        function.attributes.add_text("nvvm.reqntid", ",".join(map(str, extents)))
    elif options.max_work_group_size is not None:
        function.attributes.add_text("nvvm.maxntid", str(options.max_work_group_size))
