"""A wrong result of Intel's OpenCL CPU compiler, avoided: negated floats that live across a barrier."""

from __future__ import annotations

from kapi_lowering.emission.llvm_ir import Builder, Module
from kapi_lowering.emission.pipeline import module_pass

from ..ir.opaque_zero import integer_of, opaque_zero
from ..ir.queries import is_work_group_convergent

__all__ = ["obscure_float_negation"]


@module_pass
def obscure_float_negation(module: Module) -> None:
    """Negate no float in modules whose work-groups converge; flip the sign bit.

    `x = -a[i]`, then a barrier, then `b[i] = x`: Intel's OpenCL CPU compiler (2026.2) gives some work-items the `x` of
    others, from OpenCL C as well. The sign is turned by a mask that the compiler cannot know to be one. Remove this
    when `test_driver_limits` says that the driver is mended.
    """
    if not any(map(is_work_group_convergent, module.instructions())):
        return
    for each in module.instructions():
        bits = integer_of(each.type) if each.opcode == "fneg" else None
        if bits is None or each.operands[0].ref[0] != "%":
            continue
        assert each.block is not None
        builder = Builder.before(each)
        mask = builder.emit(f"xor {bits} ?, {-(2 ** (bits.bits - 1))}", opaque_zero(each.block.function, bits))
        number = builder.emit(f"bitcast {each.type} ? to {bits}", each.operands[0])
        each.rewrite(f"bitcast {bits} ? to {each.type}", builder.emit(f"xor {bits} ?, ?", number, mask))
