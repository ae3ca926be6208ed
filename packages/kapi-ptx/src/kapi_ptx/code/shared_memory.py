"""Local memory: what the launch gives a kernel, and what group algorithms pass values through.

Local memory whose size the arguments' types tell lies in variables of the module, up to `STATIC_BYTES` in all. If there
is more, or the launch decides, all of it is one piece that the launch asks for: a parameter's part begins where that of
the one before it ends, at the next multiple of `ALIGNMENT` bytes.
"""

from __future__ import annotations

from collections.abc import Sequence

from llvmlite import ir

from kapi_lowering.llvm_calls import I32, I64, call_declared
from kapi_lowering.target import LocalMemory
from kapi_ptx.local_layout import ALIGNMENT, SCRATCH_BYTES, is_static
from kapi_sim import AddressSpace

__all__ = ["free_scratch", "local_memory", "scratch"]

_SPACE = int(AddressSpace.LOCAL)
_BYTE = ir.IntType(8)
_DYNAMIC, _SCRATCH = "kapi_dynamic_shared", "kapi_group_scratch"


def local_memory(builder: ir.IRBuilder, wanted: Sequence[LocalMemory]) -> Sequence[ir.Value]:
    """A pointer for each parameter that is local memory."""
    if is_static([None if each.count is None else each.count * each.itemsize for each in wanted]):
        return [_variable(builder, index, each) for index, each in enumerate(wanted)]
    area = _global(builder.module, _DYNAMIC, ir.ArrayType(_BYTE, 0), "external")
    pointers, offset = [], I64(0)
    for each in wanted:
        start = builder.gep(area, [I32(0), offset], inbounds=True)
        pointers.append(builder.bitcast(start, each.element.as_pointer(_SPACE)))
        size = builder.mul(each.counted(builder), I64(each.itemsize))
        rounded = builder.and_(builder.add(size, I64(ALIGNMENT - 1)), I64(-ALIGNMENT))
        offset = builder.add(offset, rounded)
    return pointers


def _variable(builder: ir.IRBuilder, index: int, wanted: LocalMemory) -> ir.Value:
    assert wanted.count is not None
    type_ = ir.ArrayType(wanted.element, wanted.count)
    variable = _global(builder.module, f"kapi_local_{index}", type_, "internal")
    return builder.gep(variable, [I32(0), I32(0)], inbounds=True)


def scratch(builder: ir.IRBuilder, type_: ir.Type) -> ir.Value:
    """A pointer to as many values of the type as a group has sub-groups.

    What uses it must end with `free_scratch`: the next one begins without a barrier.
    """
    held = ir.ArrayType(I64, SCRATCH_BYTES // 8)
    # Several modules that are linked into one have it once.
    variable = _global(builder.module, _SCRATCH, held, "linkonce_odr")
    return builder.bitcast(variable, type_.as_pointer(_SPACE))


def free_scratch(builder: ir.IRBuilder) -> None:
    """Note that all work-items are done with what `scratch` gave; emission writes a barrier where one is needed."""
    call_declared(builder, "kapi_scratch_is_free", ir.VoidType(), [], ("convergent", "nounwind"))


def _global(module: ir.Module, name: str, type_: ir.Type, linkage: str) -> ir.GlobalVariable:
    variable = module.globals.get(name)
    if variable is None:
        variable = ir.GlobalVariable(module, type_, name, _SPACE)
        variable.linkage, variable.align = linkage, ALIGNMENT
        if linkage != "external":
            variable.initializer = ir.Constant(type_, ir.Undefined)
    return variable
