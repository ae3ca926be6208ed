"""The entry point of a kernel: how its arguments arrive, and what a driver is told of it."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from llvmlite import ir

from kapi_lowering.llvm_calls import I32, call_declared
from kapi_sim.language import KernelOptions

__all__ = ["begin_entry", "finish_entry", "linear_groups"]


class _EntryPoint(ir.Function):
    """A function with more than one metadata node, which LLVM wants separated by spaces and llvmlite by commas."""

    def _stringify_metadata(self, leading_comma: bool = False) -> str:
        return str(super()._stringify_metadata(leading_comma=leading_comma)).replace(", !", " !")


def begin_entry(
    module: ir.Module, name: str, packed: ir.Type, local: Sequence[ir.Type]
) -> tuple[ir.Function, ir.Value]:
    """Declare it; pointers to local memory are its arguments after the structure."""
    function = _EntryPoint(module, ir.FunctionType(ir.VoidType(), [packed.as_pointer(), *local]), name)
    function.calling_convention = "spir_kernel"
    structure = function.args[0]
    structure.name = "packed"
    structure.add_attribute("byval")
    structure.attributes.align = 8
    return function, structure


def linear_groups(builder: ir.IRBuilder, local_size: Sequence[ir.Value], group_count: Sequence[ir.Value]) -> None:
    """Name the extents of linear work-groups, from which emission answers the queries of work-items."""
    named = [*local_size, *group_count]
    call_declared(builder, f"kapi.linear_groups.{len(local_size)}", ir.VoidType(), named, ("nounwind",))


def finish_entry(function: ir.Function, ndim: int, options: KernelOptions, is_linear: bool) -> None:
    """Add the sizes that every launch has, and what the driver goes by."""
    module = function.module
    if options.local_range is not None:
        local_range = [prod(options.local_range)] if is_linear else reversed(options.local_range)
        extents = [*local_range, 1, 1][:3]
        function.set_metadata("reqd_work_group_size", module.add_metadata([I32(each) for each in extents]))
    if options.sub_group_size is not None:
        function.set_metadata("intel_reqd_sub_group_size", module.add_metadata([I32(options.sub_group_size)]))
    # Intel's CPU driver weighs whether to vectorise only in modules that call themselves OpenCL C; others it always
    # vectorises, which costs a histogram half of its speed.
    module.add_named_metadata("opencl.ocl.version", module.add_metadata([I32(2), I32(0)]))
    if "contract" in options.fast_math_flags:
        # Without this the back end declares that nothing is contracted.
        module.add_named_metadata("opencl.enable.FP_CONTRACT")
