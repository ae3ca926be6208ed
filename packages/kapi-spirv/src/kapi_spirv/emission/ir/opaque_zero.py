"""Opaque predicates: zeros that no compiler can know to be zeros, which hide a pattern from a driver's compiler.

`get_global_size(0) >> 62` is zero on every device, since no range has so many work-items.
"""

from __future__ import annotations

from kapi_lowering.emission.llvm_ir import (
    I64,
    Builder,
    FloatType,
    Function,
    Instruction,
    IntType,
    IRType,
    IRValue,
    PointerType,
    declare,
    int_type,
)

__all__ = ["integer_of", "obscured", "opaque_zero"]

_UNIFORM, _VARYING = "kapi.zero", "kapi.different"
_SIZE, _ID = "spir_func i64 @_Z15get_global_sizej", "spir_func i64 @_Z13get_global_idj"
_ODD_BITS = 7046029254386353131


def integer_of(type_: IRType) -> IntType | None:
    """The integer type of as many bits as a number has; None of all else."""
    if isinstance(type_, IntType):
        return type_
    return int_type(type_.bits) if isinstance(type_, FloatType) and type_.text in ("half", "float", "double") else None


def opaque_zero(function: Function, type_: IntType, *, is_varying: bool = False) -> Instruction:
    """A zero of an integer type, made at the start of the function when it is first asked for.

    - `function`: where it is used.
    - `is_varying`: whether it might differ between work-items, for all that a compiler knows.
    """
    kind = _VARYING if is_varying else _UNIFORM
    for each in function.entry.instructions:
        if (each.name or "").strip('"') == f"{kind}.{type_}":
            return each
    if type_ is I64:
        return _varying_zero(function, opaque_zero(function, I64)) if is_varying else _uniform_zero(function)
    wide = opaque_zero(function, I64, is_varying=is_varying)
    return Builder.after(wide, prefix=kind).emit(f"trunc i64 ? to {type_}", wide, name=f".{type_}")


def _uniform_zero(function: Function) -> Instruction:
    declare(function, f"{_SIZE}(i32) nounwind memory(none)")
    builder = Builder(function.entry, function.entry.instructions[0], prefix=_UNIFORM)
    high = builder.emit("lshr i64 ?, 62", builder.emit(f"call {_SIZE}(i32 0)", name=".size"), name=".high")
    # Of a sign alone, a compiler knows what it leaves of a counter that is never zero: bits of all places are mixed.
    return builder.emit(f"mul i64 ?, {_ODD_BITS}", high, name=".i64")


def _varying_zero(function: Function, zero: Instruction) -> Instruction:
    declare(function, f"{_ID}(i32) nounwind memory(none)")
    builder = Builder.after(zero, prefix=_VARYING)
    x, y, z = (builder.emit(f"call {_ID}(i32 {axis})", name=f".id.{axis}") for axis in range(3))
    ids = builder.emit("or i64 ?, ?", builder.emit("or i64 ?, ?", x, y, name=".ids"), z, name=".place")
    return builder.emit("and i64 ?, ?", ids, zero, name=".i64")


def obscured(builder: Builder, value: IRValue, *, is_varying: bool = False, name: str | None = None) -> IRValue:
    """A value as if it were another one; itself if it is neither a number nor a pointer."""
    function, type_ = builder.block.function, value.type
    if isinstance(type_, PointerType):
        zero = opaque_zero(function, I64, is_varying=is_varying)
        return builder.emit(f"getelementptr i8, {type_} ?, i64 ?", value, zero, name=name)
    bits = integer_of(type_)
    if bits is None:
        return value
    zero = opaque_zero(function, bits, is_varying=is_varying)
    if bits is type_:
        return builder.emit(f"add {bits} ?, ?", value, zero, name=name)
    same = builder.emit(f"add {bits} ?, ?", builder.emit(f"bitcast {type_} ? to {bits}", value), zero)
    return builder.emit(f"bitcast {bits} ? to {type_}", same, name=name)
