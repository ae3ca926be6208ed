"""Saturating conversions of floats to integers, which LLVM does lane by lane: clamped, converted and corrected."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kapi_cpu.emission.vectorize.type_sizes import size_of
from kapi_lowering.emission.llvm_ir import FloatType, Instruction, IntType, IRValue, constant

if TYPE_CHECKING:
    from kapi_cpu.emission.vectorize.instructions.lanes import LaneEmitter

__all__ = ["SATURATING", "saturating_conversion"]

SATURATING = ("llvm.fptosi.sat.", "llvm.fptoui.sat.")

_PRECISION = {4: 24, 8: 53}
"""Bits of the significand by the bytes of a float."""


def saturating_conversion(emitter: LaneEmitter, each: Instruction) -> IRValue | None:
    """Convert all lanes; None for types that LLVM's own conversion is for."""
    (source,), type_ = each.arguments, each.type
    kind = source.type
    if not isinstance(type_, IntType) or not isinstance(kind, FloatType) or size_of(kind) not in _PRECISION:
        return None
    is_signed = each.callee.startswith(SATURATING[0])
    bits = type_.bits - is_signed
    limit = 2.0**bits
    least = -limit if is_signed else 0.0
    is_exact = bits <= _PRECISION[size_of(kind)]
    most = limit - 1 if is_exact else limit - limit / 2 ** _PRECISION[size_of(kind)]
    builder, given = emitter.builder, emitter.vector(source)
    vector, result = given.type, emitter.vector_type(type_)

    def splat(value: float) -> str:
        return f"splat ({kind} {constant(kind, float(value)).ref})"

    def chosen(condition: str, value: IRValue, other: str) -> IRValue:
        """The value where a comparison with another one holds, or the other one, which is that of nan as well."""
        holds = builder.emit(f"fcmp {condition} {vector} ?, {other}", value)
        return builder.emit(f"select {holds.type} ?, {vector} ?, {vector} {other}", holds, value)

    clamped = chosen("olt", chosen("ogt", given, splat(least)), splat(most))
    converted: IRValue = builder.emit(f"fpto{'s' if is_signed else 'u'}i {vector} ? to {result}", clamped)
    if not is_exact:
        above = builder.emit(f"fcmp oge {vector} ?, {splat(limit)}", given)
        largest = f"splat ({type_} {(1 << bits) - 1 if is_signed else -1})"
        converted = builder.emit(f"select {above.type} ?, {result} {largest}, {result} ?", above, converted)
    if is_signed:
        is_number = builder.emit(f"fcmp ord {vector} ?, ?", given, given)
        text = f"select {is_number.type} ?, {result} ?, {result} zeroinitializer"
        converted = builder.emit(text, is_number, converted)
    return converted
