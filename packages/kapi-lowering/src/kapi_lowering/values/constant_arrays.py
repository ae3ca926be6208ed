"""Arrays from outside: constants of the module, which a kernel reads where they are.

A kernel knows them as private arrays that are not written. Each is written as a copy of the module's constant, and LLVM
reads the constant itself in its place, as it does for tables in C.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from kapi_lowering._numba_compat import LoweringRegistry, cgutils
from kapi_lowering.llvm_calls import I64, call_declared
from kapi_types import ArrayType

__all__ = ["registry"]

registry = LoweringRegistry("kapi constant arrays")

_ALIGNMENT = 16
_BYTE = ir.IntType(8)


@registry.lower_constant(ArrayType)
def _array(context: Any, builder: ir.IRBuilder, type_: ArrayType, value: Any) -> ir.Value:
    elements = [context.get_constant_generic(builder, type_.dtype, each) for each in value.ravel().tolist()]
    element = context.get_data_type(type_.dtype)
    held = ir.ArrayType(element, len(elements))
    space = context.kernel_target.constant_space
    variable = cgutils.add_global_variable(builder.module, held, builder.module.get_unique_name("kapi.array"), space)
    variable.linkage, variable.global_constant, variable.align = "internal", True, _ALIGNMENT
    variable.initializer = ir.Constant(held, [_as_held(each, element) for each in elements])
    with builder.goto_entry_block():
        memory = builder.alloca(held)
        memory.align = _ALIGNMENT
        copy = f"llvm.memcpy.p0.p{space}.i64"
        given = [builder.bitcast(memory, _BYTE.as_pointer()), variable.bitcast(_BYTE.as_pointer(space))]
        call_declared(builder, copy, ir.VoidType(), [*given, I64(value.nbytes), ir.IntType(1)(0)])
    array = context.make_helper(builder, type_)
    array.data = builder.bitcast(memory, element.as_pointer())
    array.shape = cgutils.pack_array(builder, [I64(extent) for extent in value.shape]) if value.ndim else array.shape
    return array._getvalue()


def _as_held(value: ir.Constant, element: ir.Type) -> ir.Constant:
    """A value as memory holds it: bools have a byte there."""
    return value if value.type == element else element(int(value.constant))
