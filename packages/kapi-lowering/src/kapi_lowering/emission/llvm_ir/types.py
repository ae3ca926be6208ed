"""Types of LLVM IR. Equal types are one object, so ``is`` compares them."""

from __future__ import annotations

import re
from collections.abc import Callable

__all__ = [
    "BITS_OF_FLOATS",
    "I1",
    "I8",
    "I16",
    "I32",
    "I64",
    "LABEL",
    "METADATA",
    "OPAQUE",
    "PTR",
    "VOID",
    "IRArrayType",
    "FloatType",
    "FunctionType",
    "IntType",
    "NamedType",
    "PointerType",
    "StructType",
    "IRType",
    "TypeSyntaxError",
    "VectorType",
    "int_type",
    "parse_type",
    "scan_type",
]

BITS_OF_FLOATS = {"half": 16, "bfloat": 16, "float": 32, "double": 64, "x86_fp80": 80, "fp128": 128, "ppc_fp128": 128}


class TypeSyntaxError(ValueError):
    """No type that is known here begins at this offset of the text."""


class IRType:
    """A type without parts: ``void``, ``label``, ``metadata``, ``token``, and the base of all others.

    - `text`: as LLVM writes it.
    """

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.text}>"

    @property
    def scalar(self) -> IRType:
        """The element of a vector; any other type itself."""
        return self

    def with_scalar(self, scalar: IRType) -> IRType:
        """The type with another scalar, in as many lanes."""
        return scalar


class IntType(IRType):
    """An integer type of `bits` bits."""

    __slots__ = ("bits",)

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.bits = int(text[1:])


class FloatType(IRType):
    """A floating-point type of `bits` bits."""

    __slots__ = ("bits",)

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.bits = BITS_OF_FLOATS[text]


class PointerType(IRType):
    """An opaque pointer into the address space `space`."""

    __slots__ = ("space",)

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.space = int(text[14:-1]) if len(text) > 3 else 0


class NamedType(IRType):
    """A structure that the module defines under a name."""

    __slots__ = ()


class _Sequence(IRType):
    """`count` elements of one type."""

    __slots__ = ("count", "element")

    def __init__(self, text: str, count: int, element: IRType) -> None:
        super().__init__(text)
        self.count, self.element = count, element


class IRArrayType(_Sequence):
    """An array of `count` times `element`."""

    __slots__ = ()


class VectorType(_Sequence):
    """A vector of `count` times `element`, or of a multiple that the processor decides."""

    __slots__ = ()

    @property
    def scalar(self) -> IRType:
        return self.element

    def with_scalar(self, scalar: IRType) -> IRType:
        return parse_type(self.text[: -len(self.element.text) - 1] + scalar.text + ">")


class StructType(IRType):
    """A structure of `elements`."""

    __slots__ = ("elements",)

    def __init__(self, text: str, elements: tuple[IRType, ...]) -> None:
        super().__init__(text)
        self.elements = elements


class FunctionType(IRType):
    """The type of a function that returns `result`."""

    __slots__ = ("parameters", "result")

    def __init__(self, text: str, result: IRType, parameters: tuple[IRType, ...]) -> None:
        super().__init__(text)
        self.result, self.parameters = result, parameters


_INTERNED: dict[str, IRType] = {}


def _interned(text: str, make: Callable[[], IRType]) -> IRType:
    known = _INTERNED.get(text)
    if known is None:
        known = _INTERNED[text] = make()
    return known


_PLAIN = re.compile(
    r"i[1-9]\d*\b|ptr(?: addrspace\(\d+\))?|half\b|float\b|double\b|void\b|label\b|metadata\b|token\b|bfloat\b|fp128\b"
    r"|x86_fp80\b|ppc_fp128\b|x86_amx\b"
)
_NAMED = re.compile(r'%(?:[-\w.$]+|"[^"]*")')
_VECTOR = re.compile(r"<(?:vscale x )?(\d+) x ")
_ARRAY = re.compile(r"\[(\d+) x ")
_TARGET = re.compile(r'target\("[^"]*"[^()]*\)')


def _plain(text: str) -> IRType:
    if text[0] == "i":
        return IntType(text)
    if text in BITS_OF_FLOATS:
        return FloatType(text)
    return PointerType(text) if text.startswith("ptr") else IRType(text)


def scan_type(text: str, at: int = 0) -> tuple[IRType, int]:
    """The type that begins at an offset of a text, and where it ends.

    Raises `TypeSyntaxError` if none is known to begin there.
    """
    found = _PLAIN.match(text, at)
    if found:
        plain = found[0]
        type_, end = _interned(plain, lambda: _plain(plain)), found.end()
    else:
        type_, end = _scan_composed(text, at)
    if text.startswith(" (", end):  # the type of a function
        parameters, stop = _scan_list(text, end + 2, ")")
        full = text[at:stop]
        return _interned(full, lambda: FunctionType(full, type_, parameters)), stop
    return type_, end


def _scan_composed(text: str, at: int) -> tuple[IRType, int]:
    first = text[at : at + 1]
    if first == "{" or text.startswith("<{", at):
        start = at + 1 + (first == "<")
        elements, end = _scan_list(text, start, "}")
        end += first == "<"
        full = text[at:end]
        return _interned(full, lambda: StructType(full, elements)), end
    sequence = (_VECTOR if first == "<" else _ARRAY).match(text, at) if first in ("<", "[") else None
    if sequence:
        element, end = scan_type(text, sequence.end())
        full, count = text[at : end + 1], int(sequence[1])
        kind = VectorType if first == "<" else IRArrayType
        return _interned(full, lambda: kind(full, count, element)), end + 1
    other = _NAMED.match(text, at) or _TARGET.match(text, at)
    if other is None:
        raise TypeSyntaxError(f"a type must begin at {text[at : at + 30]!r}")
    name = other[0]
    return _interned(name, lambda: NamedType(name) if first == "%" else IRType(name)), other.end()


def _scan_list(text: str, at: int, closing: str) -> tuple[tuple[IRType, ...], int]:
    """Types with commas between them, and the offset behind what closes the list."""
    found: list[IRType] = []
    while True:
        while text.startswith((" ", ","), at):
            at += 1
        if text.startswith(closing, at):
            return tuple(found), at + 1
        if text.startswith("...", at):  # arguments of any type may follow
            at += 3
            continue
        type_, at = scan_type(text, at)
        found.append(type_)


def parse_type(text: str) -> IRType:
    """The type of this text.

    Raises `TypeSyntaxError` if the text is no type that is known.
    """
    known = _INTERNED.get(text)
    if known is not None:
        return known
    type_, end = scan_type(text)
    if end != len(text):
        raise TypeSyntaxError(f"a type must be all of the text, got {text!r}")
    return type_


def int_type(bits: int) -> IntType:
    """The integer type of so many bits."""
    type_ = parse_type(f"i{bits}")
    assert isinstance(type_, IntType)
    return type_


I1, I8, I16, I32, I64 = map(int_type, (1, 8, 16, 32, 64))
PTR, VOID, LABEL, METADATA = map(parse_type, ("ptr", "void", "label", "metadata"))
OPAQUE = IRType("?")
"""The type of what an instruction gives whose syntax is not known."""
