"""Reversed bits, which LLVM makes of loops over bits, as shifts and masks."""

from __future__ import annotations

from kapi_lowering.emission.llvm_ir import Builder, Function, IntType, IRValue, int_type
from kapi_lowering.emission.pipeline import function_pass

__all__ = ["expand_bit_reversals"]

_STEPS = (1, 2, 4, 8, 16, 32)
_FULL = (8, 16, 32, 64)


@function_pass
def expand_bit_reversals(function: Function) -> None:
    """Reverse bits by shifts and masks, those of odd widths in whole bytes."""
    for each in [each for each in function.instructions() if each.callee.startswith("llvm.bitreverse.i")]:
        value = each.arguments[0]
        assert isinstance(value.type, IntType)
        full = next((int_type(bits) for bits in _FULL if bits >= value.type.bits), None)
        if full is not None:
            each.replace_all_uses_with(_reversed(Builder.before(each), value, value.type, full))
            each.erase()


def _reversed(builder: Builder, value: IRValue, type_: IntType, full: IntType) -> IRValue:
    """Reverse bits by exchanging neighbours, pairs, and so on, and drop those that the type does not have."""
    if type_.bits == 1:
        return value
    if type_ is not full:
        value = builder.emit(f"zext {type_} ? to {full}", value)
    for step in (each for each in _STEPS if each < full.bits):
        mask = sum(1 << bit for bit in range(full.bits) if bit // step % 2 == 0)
        low = builder.emit(f"and {full} ?, {mask}", value)
        up = builder.emit(f"shl {full} ?, {step}", low)
        high = builder.emit(f"lshr {full} ?, {step}", value)
        down = builder.emit(f"and {full} ?, {mask}", high)
        value = builder.emit(f"or disjoint {full} ?, ?", up, down)
    if type_ is full:
        return value
    return builder.emit(f"trunc {full} ? to {type_}", builder.emit(f"lshr {full} ?, {full.bits - type_.bits}", value))
