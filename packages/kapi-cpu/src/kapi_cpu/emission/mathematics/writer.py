"""LLVM IR written by Python's operators."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from .coefficients import COEFFICIENTS, CONSTANTS, TABLES

__all__ = ["Abilities", "Number", "Value", "Writer"]

_ATTRIBUTES = "nounwind willreturn memory(none)"
_INTEGERS = {"float": "i32", "double": "i64"}
_FLOATS = {"i32": "float", "i64": "double"}
_SUFFIXES = {"float": "f32", "double": "f64"}


class Value:
    """A scalar in a function that is written.

    Arithmetic of floats is IEEE's; of integers, it wraps, and ``>>`` shifts zeros in.
    """

    __slots__ = ("ref", "type", "writer")

    def __init__(self, writer: Writer, ref: str, type_: str) -> None:
        self.writer, self.ref, self.type = writer, ref, type_

    def _binary(self, opcode: str, other: Number, is_swapped: bool = False) -> Value:
        one, two = self, self.writer.value(other, self.type)
        if is_swapped:
            one, two = two, one
        return self.writer.emit(f"{opcode} {self.type} {one.ref}, {two.ref}", self.type)

    def _arithmetic(self, name: str) -> str:
        return f"f{name}" if self.type in _INTEGERS else name

    def __add__(self, other: Number) -> Value:
        return self._binary(self._arithmetic("add"), other)

    __radd__ = __add__

    def __sub__(self, other: Number) -> Value:
        return self._binary(self._arithmetic("sub"), other)

    def __rsub__(self, other: Number) -> Value:
        return self._binary(self._arithmetic("sub"), other, is_swapped=True)

    def __mul__(self, other: Number) -> Value:
        return self._binary(self._arithmetic("mul"), other)

    __rmul__ = __mul__

    def __truediv__(self, other: Number) -> Value:
        return self._binary("fdiv", other)

    def __rtruediv__(self, other: Number) -> Value:
        return self._binary("fdiv", other, is_swapped=True)

    def __neg__(self) -> Value:
        return self.writer.emit(f"fneg {self.type} {self.ref}", self.type)

    def __and__(self, other: Number) -> Value:
        return self._binary("and", other)

    def __or__(self, other: Number) -> Value:
        return self._binary("or", other)

    def __xor__(self, other: Number) -> Value:
        return self._binary("xor", other)

    def __invert__(self) -> Value:
        return self._binary("xor", -1)

    def __lshift__(self, other: Number) -> Value:
        return self._binary("shl", other)

    def __rshift__(self, other: Number) -> Value:
        return self._binary("lshr", other)

    def _compared(self, predicate: str, other: Number) -> Value:
        opcode = "fcmp o" if self.type in _INTEGERS else "icmp s"
        return self.writer.emit(
            f"{opcode}{predicate} {self.type} {self.ref}, {self.writer.value(other, self.type).ref}", "i1"
        )

    def __lt__(self, other: Number) -> Value:
        return self._compared("lt", other)

    def __le__(self, other: Number) -> Value:
        return self._compared("le", other)

    def __gt__(self, other: Number) -> Value:
        return self._compared("gt", other)

    def __ge__(self, other: Number) -> Value:
        return self._compared("ge", other)

    def equals(self, other: Number) -> Value:
        """Whether two numbers are the same; false of nan."""
        if self.type in _INTEGERS:
            return self._compared("eq", other)
        return self.writer.emit(f"icmp eq {self.type} {self.ref}, {self.writer.value(other, self.type).ref}", "i1")

    def differs(self, other: Number) -> Value:
        """Whether two numbers differ; false of nan."""
        if self.type in _INTEGERS:
            return self._compared("ne", other)
        return ~self.equals(other)

    def is_nan(self) -> Value:
        """Whether it is nan."""
        return self.writer.emit(f"fcmp uno {self.type} {self.ref}, {self.ref}", "i1")

    def is_negative(self) -> Value:
        """Whether the sign of a float is set, as of -0."""
        return self.bits() < 0

    def bits(self) -> Value:
        """The bits of a float, as an integer."""
        return self.cast("bitcast", _INTEGERS[self.type])

    def as_float(self) -> Value:
        """The float of these bits."""
        return self.cast("bitcast", _FLOATS[self.type])

    def cast(self, opcode: str, type_: str) -> Value:
        """Convert by an instruction of LLVM."""
        return self.writer.emit(f"{opcode} {self.type} {self.ref} to {type_}", type_)

    def to(self, type_: str) -> Value:
        """A float in another width."""
        if type_ == self.type:
            return self
        return self.cast("fpext" if type_ == "double" else "fptrunc", type_)

    def intrinsic(self, name: str, *others: Number) -> Value:
        """LLVM's intrinsic of one float type."""
        return self.writer.intrinsic(name, self, *(self.writer.value(other, self.type) for other in others))

    def __abs__(self) -> Value:
        return self.intrinsic("fabs")

    def with_sign_of(self, other: Value) -> Value:
        """The magnitude, with the sign of another float."""
        return self.intrinsic("copysign", other)


Number = Value | float | int


@dataclass(frozen=True, slots=True)
class Abilities:
    """The instructions that functions may be written with.

    - `has_fma`: whether the processor multiplies and adds with one rounding.
    - `has_scale`: whether it scales by a power of two with one rounding; no result depends on it.
    """

    has_fma: bool
    has_scale: bool = False


class Writer:
    """A function that is written, block by block.

    - `type_`: the float type of the function: ``"float"`` or ``"double"``.
    - `abilities`: those of the processor.
    - `needs`: declarations of the intrinsics that are called, and the names of the library's functions and tables.
    """

    def __init__(self, type_: str, abilities: Abilities) -> None:
        self.type, self.abilities = type_, abilities
        self.lines: list[str] = []
        self.needs: dict[str, None] = {}
        self._known: dict[str, Value] = {}
        self._count = 0
        self._last = "entry"

    @property
    def is_double(self) -> bool:
        """Whether the function's type is float64."""
        return self.type == "double"

    def pick(self, double: float, single: float) -> float:
        """The number that belongs to the function's type."""
        return double if self.is_double else single

    def emit(self, text: str, type_: str) -> Value:
        """Write an instruction, unless its value is known."""
        if text not in self._known:
            self._known[text] = Value(self, f"%v{self._count}", type_)
            self._count += 1
            self.lines.append(f"  {self._known[text].ref} = {text}")
        return self._known[text]

    def value(self, number: Number, type_: str | None = None) -> Value:
        """A number as a value of a type, the function's by default."""
        if isinstance(number, Value):
            return number
        type_ = type_ or self.type
        if type_ in _INTEGERS:
            rounded = struct.unpack("f", struct.pack("f", number))[0] if type_ == "float" else float(number)
            return Value(self, f"0x{struct.unpack('<Q', struct.pack('<d', rounded))[0]:016X}", type_)
        return Value(self, str(int(number)), type_)

    def select(self, condition: Value, one: Number, other: Number) -> Value:
        """One value where a condition holds, else the other."""
        type_ = one.type if isinstance(one, Value) else other.type if isinstance(other, Value) else self.type
        first, second = self.value(one, type_), self.value(other, type_)
        return self.emit(f"select i1 {condition.ref}, {type_} {first.ref}, {type_} {second.ref}", type_)

    def intrinsic(self, name: str, *args: Value) -> Value:
        """Call LLVM's intrinsic of one float type."""
        type_ = args[0].type
        symbol = f"@llvm.{name}.{_SUFFIXES[type_]}"
        self.needs[f"declare {type_} {symbol}({', '.join(each.type for each in args)})"] = None
        return self.emit(f"call {type_} {symbol}({', '.join(f'{each.type} {each.ref}' for each in args)})", type_)

    def integer(self, double: int, single: int) -> int:
        """The integer that belongs to the function's type."""
        return double if self.is_double else single

    def structure(self, type_: str, *members: Value) -> Value:
        """A structure of values."""
        made = "poison"
        for number, each in enumerate(members):
            made = self.emit(f"insertvalue {type_} {made}, {each.type} {each.ref}, {number}", type_).ref
        return Value(self, made, type_)

    def table_entry(self, name: str, index: Value) -> Value:
        """A 32-bit word of a table, as an i64."""
        self.needs[name] = None
        words = len(TABLES[name])
        address = self.emit(f"getelementptr [{words} x i32], ptr @{name}, i64 0, i64 {index.ref}", "ptr")
        return self.emit(f"load i32, ptr {address.ref}, align 4", "i32").cast("zext", "i64")

    def rarely(self, condition: Value, name: str, x: Value, result: str, usual: Sequence[Value]) -> tuple[Value, ...]:
        """The usual values, but what another function of the library returns where a condition holds."""
        self.needs[name] = None
        number = self._count
        self._count += 1
        found = f"%r{number}"
        self.lines += [
            f"  br i1 {condition.ref}, label %rare{number}, label %done{number}",
            f"rare{number}:",
            f"  {found} = call {result} @{name}({x.type} {x.ref})",
            *(f"  {found}.{at} = extractvalue {result} {found}, {at}" for at in range(len(usual))),
            f"  br label %done{number}",
            f"done{number}:",
        ]
        before, self._last = self._last, f"done{number}"
        return tuple(
            self.emit(f"phi {each.type} [ {each.ref}, %{before} ], [ {found}.{at}, %rare{number} ]", each.type)
            for at, each in enumerate(usual)
        )

    def repeated(self, state: Sequence[Value], step: Callable[..., tuple[Sequence[Value], Value]]) -> tuple[Value, ...]:
        """The state after steps, each of which says whether another follows."""
        number = self._count
        self._count += 1
        phis = [Value(self, f"%s{number}.{at}", each.type) for at, each in enumerate(state)]
        before, self._last = self._last, f"step{number}"
        self.lines += [f"  br label %step{number}", f"step{number}:"]
        start = len(self.lines)
        new, goes_on = step(*phis)
        self.lines[start:start] = [
            f"  {phi.ref} = phi {phi.type} [ {first.ref}, %{before} ], [ {following.ref}, %{self._last} ]"
            for phi, first, following in zip(phis, state, new, strict=True)
        ]
        self.lines += [f"  br i1 {goes_on.ref}, label %step{number}, label %end{number}", f"end{number}:"]
        self._last = f"end{number}"
        return tuple(new)

    @contextmanager
    def widened(self) -> Iterator[None]:
        """Write for float64."""
        type_, self.type = self.type, "double"
        yield
        self.type = type_

    # -- arithmetic that several functions use

    def polynomial(self, name: str, x: Value, kind: str = "") -> Value:
        """The polynomial of these coefficients of the table, the constant first; in pairs, by Estrin's scheme."""
        terms: list[Number] = [*COEFFICIENTS[name, kind or x.type]]
        while len(terms) > 1:
            pairs = [terms[at : at + 2] for at in range(0, len(terms), 2)]
            terms = [self.product_and_sum(x, *pair[::-1]) if len(pair) == 2 else pair[0] for pair in pairs]
            x = x * x
        return self.value(terms[0], x.type)

    def product_and_sum(self, a: Value, b: Number, c: Number) -> Value:
        """A * b + c, rounded once where the processor can."""
        return a.intrinsic("fma", b, c) if self.abilities.has_fma else a * b + c

    def constant(self, name: str, kind: str = "") -> float:
        """A constant of the table, for the function's type."""
        return CONSTANTS[name, kind or self.type]

    def two_sum(self, a: Value, b: Value) -> tuple[Value, Value]:
        """Knuth's exact sum, as a rounded one and its error."""
        s = a + b
        t = s - a
        return s, (a - (s - t)) + (b - t)

    def fast_two_sum(self, a: Value, b: Value) -> tuple[Value, Value]:
        """Dekker's exact sum, of which the first term has the larger exponent or is zero."""
        s = a + b
        return s, b - (s - a)

    def two_product(self, a: Value, b: Value) -> tuple[Value, Value]:
        """The exact product, as a rounded one and its error: by Dekker's halves, or by one rounding fewer."""
        p = a * b
        if self.abilities.has_fma:
            return p, self.intrinsic("fma", a, b, -p)
        (a1, a2), (b1, b2) = self._halves(a), self._halves(b)
        return p, ((a1 * b1 - p) + a1 * b2 + a2 * b1) + a2 * b2

    def _halves(self, a: Value) -> tuple[Value, Value]:
        """Veltkamp's halves."""
        scaled = a * self.pick(134217729.0, 4097.0)
        high = scaled - (scaled - a)
        return high, a - high

    # -- bits

    def bits_of(self, number: float, type_: str) -> int:
        """The bits of a constant."""
        code = "<d" if type_ == "double" else "<f"
        return int.from_bytes(struct.pack(code, number), "little")

    def shift(self, type_: str) -> float:
        """A number that pushes the fraction out of a smaller one to which it is added."""
        return 1.5 * 2.0 ** (52 if type_ == "double" else 23)

    def power_of_two(self, k: Value) -> Value:
        """2**k for an integer k in the range of exponents."""
        mantissa, bias = (52, 1023) if k.type == "double" else (23, 127)
        return (((k + self.shift(k.type)).bits() + bias) << mantissa).as_float()

    def scale(self, y: Value, k: Value) -> Value:
        """A number times 2**k by one instruction, for an integer k; of nan, nan."""
        exponent = k.cast("fptosi", "i32")
        exponent = self.emit(f"freeze i32 {exponent.ref}", "i32")
        symbol = f"@llvm.ldexp.{_SUFFIXES[y.type]}.i32"
        self.needs[f"declare {y.type} {symbol}({y.type}, i32)"] = None
        return self.emit(f"call {y.type} {symbol}({y.type} {y.ref}, i32 {exponent.ref})", y.type)

    # -- the function

    def text(self, name: str, parameters: Sequence[str], result: Value, attribute: str) -> str:
        """The entire function."""
        head = f"define {result.type} @{name}({', '.join(parameters)}) {attribute} {_ATTRIBUTES} {{"
        return "\n".join([head, "entry:", *self.lines, f"  ret {result.type} {result.ref}", "}"])
