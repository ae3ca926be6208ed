"""A device function under its own name, for other modules to be linked with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir

from kapi_lowering._numba_compat import types
from kapi_lowering.functions.codegen import KernelLibrary
from kapi_lowering.functions.context import KernelTargetContext
from kapi_lowering.functions.line_info import function_lines
from kapi_lowering.numbers.conversion import convert

__all__ = ["build_exported_function"]


def build_exported_function(
    context: KernelTargetContext,
    library: KernelLibrary,
    name: str,
    lowered: Any,
    names: Sequence[str],
    location: tuple[str, int],
) -> None:
    """Add to `library` a function `name` that calls the lowered one: plain arguments in, its value out.

    - `library`: holds the lowered function, and gets the module of the exported one.
    - `name`: what other modules know it by.
    - `names`: its parameters.
    - `location`: the file and the line in which it begins.
    """
    module = context.create_module(f"{name}.export")
    packer = context.get_arg_packer(lowered.argtypes)
    result = ir.VoidType() if lowered.restype == types.none else context.get_data_type(lowered.restype)
    function = ir.Function(module, ir.FunctionType(result, list(packer.argument_types)), name)
    function.calling_convention = context.kernel_target.function_convention
    for attribute in context.kernel_target.function_attributes:
        function.attributes.add(attribute)
    packer.assign_names(function.args, list(names))
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    if lines := function_lines(context, function, name, *location):
        builder.debug_metadata = lines.at(location[1])
    callee = context.declare_function(module, lowered)
    values = packer.from_arguments(builder, function.args)
    _status, value = context.call_conv.call_function(builder, callee, lowered.restype, lowered.argtypes, values)
    if isinstance(result, ir.VoidType):
        builder.ret_void()
    elif isinstance(lowered.restype, types.Boolean):
        builder.ret(convert(builder, value, types.boolean, types.uint8))
    else:
        builder.ret(context.get_return_value(builder, lowered.restype, value))
    library.add_ir_module(module)
