"""Memory of private arrays, and of constant arrays from outside.

A private array is on the work-item's own stack, which LLVM turns into registers where it can. A kernel knows an array
from outside as a private array that is not written: a copy of the module's constant, in place of which LLVM reads the
constant itself, as it does for tables in C.
"""

from __future__ import annotations

from math import prod
from typing import Any

from llvmlite import ir

from kapi_lowering._numba_compat import LoweringRegistry, as_dtype, cgutils, types
from kapi_lowering.llvm_calls import I64, call_declared
from kapi_types import ArrayType
from kapi_types.kernel_api import ConstantType

__all__ = ["LOWERED", "registry"]

registry = LoweringRegistry("kapi array memory")

LOWERED = {"PrivateArray"}


@registry.lower("PrivateArray", ConstantType, types.Any, ConstantType)
def _private_array(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
    given = sig.args[0].value
    shape = given if isinstance(given, tuple) else (given,)
    element = context.element_type(sig.return_type.dtype)
    context.note_private_memory(prod(shape) * as_dtype(sig.return_type.dtype).itemsize)
    # In the entry block, whatever loop the array is made in: the back end has no memory of varying size. Numba's own
    # function stores zeros into it as one value, which LLVM's passes take apart element by element.
    with builder.goto_entry_block():
        memory = builder.alloca(ir.ArrayType(element, prod(shape)))
    data = builder.bitcast(memory, element.as_pointer())
    if sig.args[2].value:
        with cgutils.for_range(builder, I64(prod(shape))) as loop:
            builder.store(element(None), builder.gep(data, [loop.index]))
    array = context.make_helper(builder, sig.return_type)
    array.data = data
    array.shape = cgutils.pack_array(builder, [I64(extent) for extent in shape])
    return array._getvalue()


_ALIGNMENT = 16
_BYTE = ir.IntType(8)


@registry.lower_constant(ArrayType)
def _array(context: Any, builder: ir.IRBuilder, type_: ArrayType, value: Any) -> ir.Value:
    element = context.element_type(type_.dtype)
    held = ir.ArrayType(element, value.size)
    space = context.kernel_target.constant_space
    variable = cgutils.add_global_variable(builder.module, held, builder.module.get_unique_name("kapi.array"), space)
    variable.linkage, variable.global_constant, variable.align = "internal", True, _ALIGNMENT
    variable.initializer = ir.Constant(held, _elements(context, builder, type_.dtype, element, value))
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


def _elements(
    context: Any, builder: ir.IRBuilder, type_: types.Type, element: ir.Type, value: Any
) -> list[ir.Constant]:
    """The elements of an array as memory holds them; of records, the bytes in units of the alignment."""
    if not isinstance(type_, types.Record):
        found = [context.get_constant_generic(builder, type_, each) for each in value.ravel().tolist()]
        return [_as_held(each, element) for each in found]
    unit, size, data = element.element, value.itemsize, value.tobytes()
    step = unit.width // 8
    units = [unit(int.from_bytes(data[start : start + step], "little")) for start in range(0, len(data), step)]
    return [ir.Constant(element, units[start // step : (start + size) // step]) for start in range(0, len(data), size)]


def _as_held(value: ir.Constant, element: ir.Type) -> ir.Constant:
    """A value as memory holds it: bools have a byte there."""
    return value if value.type == element else element(int(value.constant))
