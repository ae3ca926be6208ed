"""Conversions of floats to integers, written out: Intel's OpenCL CPU compiler calls functions for the built-in ones."""

from __future__ import annotations

import re

from ..ir.functions import derived

__all__ = ["write_out_conversions"]

_CALL = re.compile(
    r"^  (%\"[^\"]*\"|%[-\w.$]+) = (?:tail )?call (?:\w+\([^)]*\) )?i(\d+) @llvm\.fpto([su])i\.sat\.i\d+\.f(\d+)\("
    r"(half|float|double) (?:noundef )?([^)]+)\).*$"
)
_DECLARATION = re.compile(r"^declare .*@llvm\.fpto[su]i\.sat\.")
_NARROWED = re.compile(r"^  (\S+) = trunc i32 (\S+) to i8$")
_WIDENED = re.compile(r"^  (\S+) = zext (?:nneg )?i8 (\S+) to i16$")
_FUNCTIONS = {"llvm.fabs.f32": "float", "llvm.floor.f64": "double", "llvm.trunc.f64": "double"}
_TYPE = {"16": "half", "32": "float", "64": "double"}


def write_out_conversions(text: str) -> str:
    """LLVM IR text without `llvm.fptosi.sat` and `llvm.fptoui.sat`.

    As SPIR-V's saturating conversions they are a call for each work-item, and so are conversions to 64-bit integers of
    any kind. Choices around the plain conversion are vectorised, and 64-bit integers are put together from what is.
    """
    if "@llvm.fpto" not in text:
        return text
    lines: list[str] = []
    for line in text.split("\n"):
        found = _CALL.match(line)
        if found:
            result, width, letter, source, _, value = found.groups()
            lines += _Conversion(result, int(width), letter == "s").code(_TYPE[source], value)
        elif not _DECLARATION.match(line):
            lines.append(line)
    lines = _widened(lines)
    for function, type_ in _FUNCTIONS.items():
        is_used = any(f" @{function}(" in line for line in lines)
        if is_used and not any(line.startswith("declare") and f" @{function}(" in line for line in lines):
            lines.append(f"declare {type_} @{function}({type_}) nounwind memory(none)")
    return "\n".join(lines)


def _widened(lines: list[str]) -> list[str]:
    """The lines, with no `zext` to 16 bits of what was narrowed to 8.

    LLVM's SPIR-V back end (22) makes one operation of the two, over an operand of 32 bits where the result has 16.
    """
    narrowed = {found[1]: found[2] for line in lines if (found := _NARROWED.match(line))}
    result: list[str] = []
    for line in lines:
        found = _WIDENED.match(line)
        if found and found[2] in narrowed:
            name = derived(found[1], "half")
            result += [f"  {name} = trunc i32 {narrowed[found[2]]} to i16", f"  {found[1]} = and i16 {name}, 255"]
        else:
            result.append(line)
    return result


class _Conversion:
    """The code of one conversion.

    Parameters
    ----------
    result : str
        The name of the integer.
    width : int
        Its bits.
    is_signed : bool
        Whether it has a sign.
    """

    def __init__(self, result: str, width: int, is_signed: bool) -> None:
        self._result, self._width, self._is_signed = result, width, is_signed
        self._middle = max(width, 32)
        self._lines: list[str] = []

    def code(self, type_: str, value: str) -> list[str]:
        """The lines that make the integer of a float."""
        if type_ == "half":  # each value of which is a float32
            type_, value = "float", self._let("wide", f"fpext half {value} to float")
        if self._width == 64 and type_ == "float":
            self._long_of_float(value)
        else:
            make = self._narrow if self._width < 64 else self._pieces if self._is_signed else self._halves
            number = self._bounded(type_, value, make(type_, self._inside(type_, value)))
            if self._width < self._middle:
                self._let("narrow", f"trunc i{self._middle} {number} to i{self._width}")
        # What was made last is the integer.
        return [*self._lines[:-1], f"  {self._result} = {self._lines[-1].split(' = ', 1)[1]}"]

    def _let(self, name: str, code: str) -> str:
        made = derived(self._result, name)
        self._lines.append(f"  {made} = {code}")
        return made

    def _choose(self, name: str, condition: str, one: str, other: str) -> str:
        return self._let(name, f"select i1 {condition}, i{self._middle} {one}, i{self._middle} {other}")

    # -- the ends of the range

    @property
    def _bits(self) -> int:
        return self._width - self._is_signed

    def _has_highest(self, type_: str) -> bool:
        """Whether the highest integer is a float, so that floats can be cut off there before the conversion."""
        return self._bits <= {"float": 24, "double": 53}[type_]

    def _inside(self, type_: str, value: str) -> str:
        """The float, or the end of the range that it lies beyond, as far as ends are floats."""
        if self._is_signed:
            least = _constant(-(2.0**self._bits))
            is_below = self._let("is.below", f"fcmp olt {type_} {value}, {least}")
            value = self._let("least", f"select i1 {is_below}, {type_} {least}, {type_} {value}")
        else:  # nan is not above zero
            is_positive = self._let("is.positive", f"fcmp ogt {type_} {value}, {_constant(0.0)}")
            value = self._let("least", f"select i1 {is_positive}, {type_} {value}, {type_} {_constant(0.0)}")
        if self._has_highest(type_):
            most = _constant(2.0**self._bits - 1)
            is_above = self._let("is.above", f"fcmp ogt {type_} {value}, {most}")
            value = self._let("most", f"select i1 {is_above}, {type_} {most}, {type_} {value}")
        return value

    def _bounded(self, type_: str, value: str, number: str) -> str:
        """The integer of a float that was taken inside, or what it is where that could not be done with floats."""
        if not self._has_highest(type_):
            is_above = self._let("is.above", f"fcmp oge {type_} {value}, {_constant(2.0**self._bits)}")
            number = self._choose("bounded", is_above, str(2**self._bits - 1), number)
        if not self._is_signed:
            return number
        is_nan = self._let("is.nan", f"fcmp uno {type_} {value}, {_constant(0.0)}")
        return self._choose("defined", is_nan, "0", number)

    # -- the integer

    def _narrow(self, type_: str, value: str) -> str:
        """By the processor's own conversion, to 32 bits at least."""
        letter = "s" if self._is_signed or self._width < 32 else "u"
        return self._let("number", f"fpto{letter}i {type_} {value} to i{self._middle}")

    def _long_of_float(self, value: str) -> None:
        """Below 2**31 by 32 bits; above, a float32 is a whole number: its mantissa, shifted."""
        number = self._let("small", f"fptosi float {value} to i32")
        if not self._is_signed:
            is_positive = self._let("small.positive", f"icmp sgt i32 {number}, 0")
            number = self._let("small.whole", f"select i1 {is_positive}, i32 {number}, i32 0")
        number = self._let("small.long", f"sext i32 {number} to i64")
        size = self._let("size", f"call float @llvm.fabs.f32(float {value})")
        # Chosen last, and by floats: processors then go on with what is nearly always right while the rest is computed.
        is_small = self._let("is.small", f"fcmp olt float {size}, {_constant(2.0**31)}")
        large = self._bounded("float", value, self._shifted(self._inside("float", value)))
        self._choose("any", is_small, number, large)

    def _shifted(self, value: str) -> str:
        """The integer of a float32 that has no fraction."""
        bits = self._let("bits", f"bitcast float {value} to i32")
        exponent = self._let("exponent", f"lshr i32 {bits}, 23")
        shift = self._let("shift", f"sub i32 {exponent}, 150")
        shift = self._let("shift.inside", f"and i32 {shift}, 63")
        shift = self._let("shift.long", f"zext i32 {shift} to i64")
        mantissa = self._let("mantissa", f"and i32 {bits}, {0x7FFFFF}")
        mantissa = self._let("mantissa.whole", f"or i32 {mantissa}, {0x800000}")
        mantissa = self._let("mantissa.long", f"zext i32 {mantissa} to i64")
        number = self._let("shifted", f"shl i64 {mantissa}, {shift}")
        if not self._is_signed:
            return number
        sign = self._let("sign", f"ashr i32 {bits}, 31")
        sign = self._let("sign.long", f"sext i32 {sign} to i64")
        number = self._let("turned", f"xor i64 {number}, {sign}")
        return self._let("signed", f"sub i64 {number}, {sign}")

    def _pieces(self, type_: str, value: str) -> str:
        """Three pieces of a signed integer, each cut off at the point: they have one sign, so their sum is, too.

        There is no call in it, for which Intel's compiler for CPUs makes no vectors of a loop.
        """
        parts = []
        for name, shift in (("high", 32), ("middle", 16), ("low", 0)):
            scaled = self._let(f"{name}.scaled", f"fmul {type_} {value}, {_constant(2.0**-shift)}") if shift else value
            part = self._let(name, f"fptosi {type_} {scaled} to i32")
            long = self._let(f"{name}.long", f"sext i32 {part} to i64")
            parts.append(self._let(f"{name}.shifted", f"shl i64 {long}, {shift}") if shift else long)
            if shift:
                whole = self._let(f"{name}.whole", f"sitofp i32 {part} to {type_}")
                full = self._let(f"{name}.full", f"fmul {type_} {whole}, {_constant(2.0**shift)}")
                value = self._let(f"{name}.rest", f"fsub {type_} {value}, {full}")
        joined = self._let("upper", f"add i64 {parts[0]}, {parts[1]}")
        return self._let("joined", f"add i64 {joined}, {parts[2]}")

    def _halves(self, type_: str, value: str) -> str:
        """Two halves of 32 bits, each by adding a number at which doubles are whole and have the half as last bits."""
        whole = self._let("whole", f"call {type_} @llvm.trunc.f64({type_} {value})")
        high = self._let("high", f"fmul {type_} {whole}, {_constant(2.0**-32)}")
        high = self._let("high.whole", f"call {type_} @llvm.floor.f64({type_} {high})")
        above = self._let("high.full", f"fmul {type_} {high}, {_constant(2.0**32)}")
        low = self._let("low", f"fsub {type_} {whole}, {above}")
        parts = []
        for name, part in (("high", high), ("low", low)):
            moved = self._let(f"{name}.moved", f"fadd {type_} {part}, {_constant(1.5 * 2.0**52)}")
            bits = self._let(f"{name}.bits", f"bitcast {type_} {moved} to i64")
            parts.append(self._let(f"{name}.long", f"sub i64 {bits}, {0x4338 << 48}"))
        return self._let("joined", f"add i64 {self._let('high.shifted', f'shl i64 {parts[0]}, 32')}, {parts[1]}")


def _constant(value: float) -> str:
    """A float that is exact in 32 bits, as LLVM IR writes it."""
    return f"{value:.17e}"
