"""Wrong numbers of Intel's OpenCL CPU compiler, avoided: loops' variables that are used behind their loops."""

from __future__ import annotations

from kapi_lowering.emission.llvm_ir import (
    I64,
    Block,
    Builder,
    ControlFlow,
    Function,
    Instruction,
    IRValue,
    NaturalLoop,
    PointerType,
)
from kapi_lowering.emission.pipeline import function_pass

from ..ir.opaque_zero import integer_of, opaque_zero

__all__ = ["copy_live_outs"]


@function_pass
def copy_live_outs(function: Function) -> None:
    """Use no variable at the start of a loop's iterations behind the loop.

    ``for (k = 0; k < n; k++) { t = w; w -= 1; }`` with a use of `t` behind it: where work-items part later, or came to
    the loop apart, Intel's OpenCL CPU compiler (2026.2) gives `t` the value of another iteration, or none at all. The
    loop has a variable more, which takes the value in each iteration. It is mixed with its own value of the one before
    and a zero that the compiler cannot know, so that it can neither be folded nor be computed behind the loop.
    """
    for loop in ControlFlow(function).loops:
        if loop.header is not None:
            builder = Builder.after_phis(loop.header)
            for phi in loop.header.phis:
                if any(user.block not in loop.blocks for user in phi.users):
                    _copy(loop, loop.header, phi, builder)


def _copy(loop: NaturalLoop, header: Block, phi: Instruction, builder: Builder) -> None:
    """Copy a variable of a loop that is used behind it."""
    if not isinstance(phi.type, PointerType) and integer_of(phi.type) is None:
        return
    # Other variables of the loop take the copy, too (`u, m = m, u`): the compiler crashes where they take another.
    users = [
        each
        for each in dict.fromkeys(phi.users)
        if each.block not in loop.blocks or (each.block is header and each.opcode == "phi" and each is not phi)
    ]
    before = Builder.after_phis(header).phi(phi.type, phi.incoming, name="kapi.copy.before")
    copy = _mixed(builder, phi, before)
    for _, block in phi.incoming:
        if block in loop.blocks:
            before.set_incoming(block, copy)
    for user in users:
        user.replace_operand(phi, copy)


def _mixed(builder: Builder, value: Instruction, before: IRValue) -> Instruction:
    """A value as it is, which depends on that of the iteration before for all that a compiler knows."""
    function, type_ = builder.block.function, value.type
    if isinstance(type_, PointerType):
        number = builder.emit(f"ptrtoint {type_} ? to i64", before)
        none = builder.emit("and i64 ?, ?", number, opaque_zero(function, I64))
        return builder.emit(f"getelementptr i8, {type_} ?, i64 ?", value, none, name="kapi.copy")
    bits = integer_of(type_)
    assert bits is not None
    zero = opaque_zero(function, bits)
    if bits is type_:
        return builder.emit(f"xor {bits} ?, ?", value, builder.emit(f"and {bits} ?, ?", before, zero), name="kapi.copy")
    number = builder.emit(f"bitcast {type_} ? to {bits}", value)
    none = builder.emit(f"and {bits} ?, ?", builder.emit(f"bitcast {type_} ? to {bits}", before), zero)
    same = builder.emit(f"xor {bits} ?, ?", number, none, name="kapi.copy.bits")
    return builder.emit(f"bitcast {bits} ? to {type_}", same, name="kapi.copy")
