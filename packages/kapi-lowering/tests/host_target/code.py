"""Code that the methods of `HostTarget` emit."""

from __future__ import annotations

from collections.abc import Sequence

from llvmlite import ir

from kapi_lowering.llvm_calls import I32, I64, call_declared, constant_text

__all__ = ["LACKING", "POSITIONS", "call_lacking", "library_call", "position", "print_formatted", "text"]

LACKING = {
    "barrier": "barriers",
    "broadcast": "group algorithms",
    "combine": "group algorithms",
    "shuffle": "shuffles",
    "sub_group": "sub-groups",
    "vote": "group algorithms",
}
"""Operations that need work-items side by side; each is called by a name that `emission` refuses."""

POSITIONS = {
    "global_id": "kapi.global_id",
    "global_size": "kapi.global_size",
    "local_id": "kapi.local_id",
    "local_size": "kapi.local_size",
    "group_id": "kapi.group_id",
    "group_count": "kapi.group_count",
}
"""Variables of a module that say where the work-item is, the fastest axis first."""

_ARRAY = ir.ArrayType(I64, 3)


def call_lacking(builder: ir.IRBuilder, what: str, result: ir.Type, args: Sequence[ir.Value] = ()) -> ir.Value:
    """Call what there is not."""
    kinds = "".join(f".{each.type}".replace(" ", "") for each in args)
    return call_declared(builder, f"kapi.lacking.{what}.{result}{kinds}", result, args)


def position(builder: ir.IRBuilder, query: str, axis: ir.Value) -> ir.Value:
    """The work-item's index on one axis."""
    module, name = builder.module, POSITIONS[query]
    variable = module.globals.get(name)
    if variable is None:
        variable = ir.GlobalVariable(module, _ARRAY, name)
        # Each module that asks has it; linked, they are one, whose value no pass may take for known.
        variable.linkage, variable.initializer = "weak", ir.Constant(_ARRAY, [0, 0, 0])
    return builder.load(builder.gep(variable, [I32(0), builder.zext(axis, I64)], inbounds=True))


def library_call(builder: ir.IRBuilder, name: str, result: ir.Type, args: Sequence[ir.Value]) -> ir.Value:
    """Call C's function; of float16, which C's library has none of, a function of this package's."""
    suffix = {"half": "16", "float": "f", "double": ""}[str(args[0].type)]
    if suffix != "16":
        return call_declared(builder, name + suffix, result, args)
    bits = [builder.bitcast(each, ir.IntType(16)) for each in args]
    return builder.bitcast(call_declared(builder, f"kapi_{name}16", ir.IntType(16), bits), result)


def text(builder: ir.IRBuilder, content: str) -> ir.Value:
    """A pointer to a constant text."""
    return constant_text(builder, content)


def print_formatted(builder: ir.IRBuilder, format_: str, values: Sequence[ir.Value], codes: Sequence[str]) -> None:
    """Call C's `printf`, which takes doubles alone."""
    module = builder.module
    function = module.globals.get("printf")
    if function is None:
        type_ = ir.FunctionType(I32, [ir.IntType(8).as_pointer()], var_arg=True)
        function = ir.Function(module, type_, "printf")
    wide = [
        builder.fpext(value, ir.DoubleType()) if code == "float32" else value
        for value, code in zip(values, codes, strict=True)
    ]
    builder.call(function, [text(builder, format_), *wide])
