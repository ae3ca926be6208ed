"""A kernel's entry point: one work-item's code, and what `kapi_cpu.emission` is to know of it."""

from __future__ import annotations

from collections.abc import Sequence

from llvmlite import ir

from kapi_lowering.llvm_calls import I64
from kapi_sim.language import KernelOptions

__all__ = ["begin_entry", "finish_entry"]


def begin_entry(
    module: ir.Module, name: str, packed: ir.Type, local: Sequence[ir.Type]
) -> tuple[ir.Function, ir.Value]:
    """Declare the entry point, which takes a pointer to the packed arguments."""
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), [packed.as_pointer()]), name)
    argument = function.args[0]
    argument.name = "packed"
    argument.add_attribute("noalias")
    return function, argument


def finish_entry(function: ir.Function, ndim: int, options: KernelOptions, is_linear: bool) -> None:
    """Note how the kernel is compiled: the lanes that it demands, 0 for any, and whether it checks."""
    numbers = (options.sub_group_size or 0, int(options.checks_bounds))
    module = function.module
    module.add_named_metadata("kapi.cpu", module.add_metadata([I64(number) for number in numbers]))
