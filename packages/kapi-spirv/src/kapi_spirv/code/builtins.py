"""Calls of OpenCL's built-in functions, which LLVM's SPIR-V back end knows by their mangled names."""

from __future__ import annotations

from collections.abc import Sequence

from llvmlite import ir

from kapi_lowering.llvm_calls import call_declared

__all__ = ["call_builtin"]

_MANGLED = {"i1": "b", "i8": "c", "i16": "s", "i32": "i", "i64": "l", "half": "Dh", "float": "f", "double": "d"}


def call_builtin(
    builder: ir.IRBuilder,
    name: str,
    result: ir.Type,
    args: Sequence[ir.Value],
    *,
    unsigned: bool = False,
    attributes: Sequence[str] = ("nounwind", "readnone"),
) -> ir.Value:
    """Call the OpenCL C function `name`.

    - `name`: as OpenCL C spells it, or the operation of SPIR-V after `__spirv_`.
    - `args`: scalars, or pointers to them.
    - `unsigned`: whether its integer parameters are unsigned.
    - `attributes`: LLVM function attributes; a function with an effect must not have "readnone".
    """
    codes = "".join(_mangle(arg.type, unsigned) for arg in args)
    return call_declared(builder, f"_Z{len(name)}{name}{codes or 'v'}", result, args, attributes, "spir_func")


def _mangle(type_: ir.Type, unsigned: bool) -> str:
    if isinstance(type_, ir.PointerType):
        return f"PU3AS{type_.addrspace}{_mangle(type_.pointee, unsigned)}"
    code = _MANGLED[str(type_)]
    return {"c": "h", "s": "t", "i": "j", "l": "m"}.get(code, code) if unsigned else code
