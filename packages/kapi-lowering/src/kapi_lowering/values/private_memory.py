"""Private arrays: memory on the work-item's own stack, which LLVM turns into registers where it can."""

from __future__ import annotations

from math import prod
from typing import Any

from llvmlite import ir

from kapi_lowering._numba_compat import LoweringRegistry, as_dtype, cgutils, types
from kapi_lowering.llvm_calls import I64
from kapi_types.kernel_api import ConstantType

__all__ = ["LOWERED", "registry"]

registry = LoweringRegistry("kapi private memory")

LOWERED = {"PrivateArray"}


@registry.lower("PrivateArray", ConstantType, types.Any, ConstantType)
def _private_array(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
    given = sig.args[0].value
    shape = given if isinstance(given, tuple) else (given,)
    element = context.get_data_type(sig.return_type.dtype)
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
