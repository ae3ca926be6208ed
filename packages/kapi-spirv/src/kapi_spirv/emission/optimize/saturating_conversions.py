"""Conversions of floats to integers, written out: Intel's OpenCL CPU compiler calls functions for the built-in ones."""

from __future__ import annotations

import re

from kapi_lowering.emission.llvm_ir import (
    I32,
    I64,
    Builder,
    Function,
    Instruction,
    IntType,
    IRValue,
    constant,
    declare,
    defined,
    int_type,
)
from kapi_lowering.emission.pipeline import function_pass

__all__ = ["expand_saturating_conversions"]

_CALL = re.compile(r"llvm\.fpto([su])i\.sat\.i\d+\.f(?:16|32|64)")
_PURE = "nounwind memory(none)"


@function_pass
def expand_saturating_conversions(function: Function) -> None:
    """Do without `llvm.fptosi.sat` and `llvm.fptoui.sat`.

    As SPIR-V's saturating conversions they are a call for each work-item, and so are conversions to 64-bit integers of
    any kind. Choices around the plain conversion are vectorised, and 64-bit integers are put together from what is.
    """
    is_done = False
    for each in function.instructions():
        if found := _CALL.fullmatch(each.callee):
            number = _Conversion(each, found[1] == "s").number()
            each.replace_all_uses_with(number)
            each.erase()
            is_done = True
    if is_done:
        _widen_by_masks(function)


def _widen_by_masks(function: Function) -> None:
    """Mask rather than widen to 16 bits what was narrowed to 8.

    LLVM's SPIR-V back end (22) makes one operation of the two, over an operand of 32 bits where the result has 16.
    """
    for each in function.instructions():
        narrowed = defined(each.operands[0], "trunc") if each.opcode == "zext" and each.type.text == "i16" else None
        if narrowed and narrowed.type.text == "i8" and narrowed.operands[0].type is I32:
            half = Builder.before(each).emit("trunc i32 ? to i16", narrowed.operands[0])
            each.rewrite("and i16 ?, 255", half)


class _Conversion:
    """One conversion.

    - `call`: what is written out in front of itself.
    - `is_signed`: whether the integer has a sign.
    """

    def __init__(self, call: Instruction, is_signed: bool) -> None:
        assert isinstance(call.type, IntType)
        self._call, self._type, self._is_signed = call, call.type, is_signed
        self._bits = call.type.bits - is_signed
        self._middle = int_type(max(call.type.bits, 32))
        self._emit = Builder.before(call).emit

    def number(self) -> IRValue:
        """The integer."""
        value = self._call.arguments[0]
        if value.type.text == "half":  # each value of which is a float32
            value = self._emit("fpext half ? to float", value)
        if self._type is I64 and value.type.text == "float":
            return self._long_of_float(value)
        make = self._narrow if self._type.bits < 64 else self._pieces if self._is_signed else self._halves
        number = self._bounded(value, make(self._inside(value)))
        return self._emit(f"trunc {self._middle} ? to {self._type}", number) if self._type.bits < 32 else number

    def _choose(self, condition: IRValue, one: IRValue | int, other: IRValue | int) -> IRValue:
        return self._emit(f"select i1 ?, {self._middle} ?, {self._middle} ?", condition, one, other)

    def _compare(self, predicate: str, value: IRValue, limit: float) -> IRValue:
        return self._emit(f"fcmp {predicate} {value.type} ?, ?", value, constant(value.type, limit))

    # -- the ends of the range

    def _has_highest(self, value: IRValue) -> bool:
        """Whether the highest integer is a float, so that floats can be cut off there before the conversion."""
        return self._bits <= {"float": 24, "double": 53}[value.type.text]

    def _inside(self, value: IRValue) -> IRValue:
        """The float, or the end of the range that it lies beyond, as far as ends are floats."""
        least = -(2.0**self._bits) if self._is_signed else 0.0
        end = constant(value.type, least)
        if self._is_signed:
            value = self._select(self._compare("olt", value, least), end, value)
        else:  # nan is not above zero
            value = self._select(self._compare("ogt", value, least), value, end)
        if self._has_highest(value):
            most = 2.0**self._bits - 1
            value = self._select(self._compare("ogt", value, most), constant(value.type, most), value)
        return value

    def _select(self, condition: IRValue, one: IRValue, other: IRValue) -> IRValue:
        return self._emit(f"select i1 ?, {one.type} ?, {one.type} ?", condition, one, other)

    def _bounded(self, value: IRValue, number: IRValue) -> IRValue:
        """The integer of a float that was taken inside, or what it is where that could not be done with floats."""
        if not self._has_highest(value):
            number = self._choose(self._compare("oge", value, 2.0**self._bits), 2**self._bits - 1, number)
        return self._choose(self._compare("uno", value, 0.0), 0, number) if self._is_signed else number

    # -- the integer

    def _narrow(self, value: IRValue) -> IRValue:
        """Convert by the processor's own instruction, to 32 bits at least."""
        letter = "s" if self._is_signed or self._type.bits < 32 else "u"
        return self._emit(f"fpto{letter}i {value.type} ? to {self._middle}", value)

    def _long_of_float(self, value: IRValue) -> IRValue:
        """Below 2**31 by 32 bits; above, a float32 is an integer: its mantissa, shifted."""
        emit = self._emit
        number: IRValue = emit("fptosi float ? to i32", value)
        if not self._is_signed:
            number = emit("select i1 ?, i32 ?, i32 0", emit("icmp sgt i32 ?, 0", number), number)
        number = emit("sext i32 ? to i64", number)
        size = self._call_of("float @llvm.fabs.f32", value)
        # Chosen last, and by floats: processors then go on with what is nearly always right while the rest is computed.
        is_small = self._compare("olt", size, 2.0**31)
        return self._choose(is_small, number, self._bounded(value, self._shifted(self._inside(value))))

    def _call_of(self, callee: str, value: IRValue) -> IRValue:
        assert self._call.block is not None
        declare(self._call.block.function, f"{callee}({value.type}) {_PURE}")
        return self._emit(f"call {callee}({value.type} ?)", value)

    def _shifted(self, value: IRValue) -> IRValue:
        """The integer of a float32 that has no fraction."""
        emit = self._emit
        bits = emit("bitcast float ? to i32", value)
        shift = emit("and i32 ?, 63", emit("sub i32 ?, 150", emit("lshr i32 ?, 23", bits)))
        shift = emit("zext i32 ? to i64", shift)
        mantissa = emit("or i32 ?, ?", emit("and i32 ?, ?", bits, 0x7FFFFF), 0x800000)
        number = emit("shl i64 ?, ?", emit("zext i32 ? to i64", mantissa), shift)
        if not self._is_signed:
            return number
        sign = emit("sext i32 ? to i64", emit("ashr i32 ?, 31", bits))
        return emit("sub i64 ?, ?", emit("xor i64 ?, ?", number, sign), sign)

    def _pieces(self, value: IRValue) -> IRValue:
        """Three pieces of a signed integer, each cut off at the point: they have one sign, so their sum is, too.

        There is no call in it, for which Intel's compiler for CPUs makes no vectors of a loop.
        """
        emit, type_ = self._emit, value.type
        parts: list[IRValue] = []
        for shift in (32, 16, 0):
            scaled = self._scaled(value, 2.0**-shift) if shift else value
            part = emit(f"fptosi {type_} ? to i32", scaled)
            long = emit("sext i32 ? to i64", part)
            parts.append(emit(f"shl i64 ?, {shift}", long) if shift else long)
            if shift:
                full = self._scaled(emit(f"sitofp i32 ? to {type_}", part), 2.0**shift)
                value = emit(f"fsub {type_} ?, ?", value, full)
        return emit("add i64 ?, ?", emit("add i64 ?, ?", parts[0], parts[1]), parts[2])

    def _scaled(self, value: IRValue, factor: float) -> IRValue:
        return self._emit(f"fmul {value.type} ?, ?", value, constant(value.type, factor))

    def _halves(self, value: IRValue) -> IRValue:
        """Two halves of 32 bits, each by adding a number at which doubles are integers, with the half as last bits."""
        emit, type_ = self._emit, value.type
        integral = self._call_of("double @llvm.trunc.f64", value)
        high = self._call_of("double @llvm.floor.f64", self._scaled(integral, 2.0**-32))
        low = emit(f"fsub {type_} ?, ?", integral, self._scaled(high, 2.0**32))
        longs = []
        for part in (high, low):
            moved = emit(f"fadd {type_} ?, ?", part, constant(type_, 1.5 * 2.0**52))
            longs.append(emit("sub i64 ?, ?", emit(f"bitcast {type_} ? to i64", moved), 0x4338 << 48))
        return emit("add i64 ?, ?", emit("shl i64 ?, 32", longs[0]), longs[1])
