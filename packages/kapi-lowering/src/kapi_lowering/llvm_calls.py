"""Parts of every lowering: integers of 32 and 64 bits, LLVM's intrinsics, and functions of another module."""

from __future__ import annotations

from collections.abc import Sequence

from llvmlite import ir

__all__ = ["I32", "I64", "call_declared", "call_intrinsic", "constant_text", "is_constant"]

I32 = ir.IntType(32)
I64 = ir.IntType(64)


def call_intrinsic(builder: ir.IRBuilder, name: str, args: Sequence[ir.Value]) -> ir.Value:
    """Call the LLVM intrinsic `llvm.<name>` of the first argument's float type, which it also returns."""
    type_ = args[0].type
    suffix = {"half": "f16", "float": "f32", "double": "f64"}[str(type_)]
    return call_declared(builder, f"llvm.{name}.{suffix}", type_, args)


def call_declared(
    builder: ir.IRBuilder,
    symbol: str,
    result: ir.Type,
    args: Sequence[ir.Value],
    attributes: Sequence[str] = (),
    convention: str = "",
) -> ir.Value:
    """Call a function that this module only declares.

    - `symbol`: its name.
    - `args`: what it is given; their types are its parameters'.
    - `attributes`: LLVM's attributes of the function.
    - `convention`: LLVM's name of its calling convention; empty for the default.
    """
    module = builder.module
    function = module.globals.get(symbol)
    if function is None:
        function = ir.Function(module, ir.FunctionType(result, [arg.type for arg in args]), symbol)
        function.calling_convention = convention
        for attribute in attributes:
            function.attributes.add(attribute)
    return builder.call(function, args, cconv=convention or None)


def constant_text(builder: ir.IRBuilder, content: str, name: str = "kapi.text", space: int = 0) -> ir.Value:
    """A pointer to a constant text of the module, which ends with a zero.

    - `builder`: where the pointer is needed.
    - `name`: what the variable's name begins with.
    - `space`: the address space of constants.
    """
    encoded = bytearray(content.encode() + b"\0")
    module, type_ = builder.module, ir.ArrayType(ir.IntType(8), len(encoded))
    variable = ir.GlobalVariable(module, type_, module.get_unique_name(name), space)
    variable.linkage, variable.global_constant, variable.initializer = "internal", True, ir.Constant(type_, encoded)
    return builder.gep(variable, [I32(0), I32(0)], inbounds=True)


def is_constant(builder: ir.IRBuilder, value: ir.Value) -> ir.Value:
    """Whether a number is known when the kernel is compiled.

    `kapi_lowering.emission.server` answers the intrinsic's question before LLVM's passes run.
    """
    if isinstance(value, ir.Constant):
        return ir.Constant(ir.IntType(1), 1)
    return call_declared(builder, f"llvm.is.constant.{value.type}", ir.IntType(1), [value])
