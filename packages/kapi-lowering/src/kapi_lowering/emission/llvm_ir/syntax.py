"""The syntax of instructions, each text of which is parsed once.

The text of an instruction, with a mark for each local value, is looked up, and only a text that was not seen before is
parsed.
"""

from __future__ import annotations

import re

from .forms import BINARY, CASTS, MARK, Filling, Form
from .scanner import TYPE_START, Scanner, UnknownSyntaxError
from .types import (
    I1,
    LABEL,
    OPAQUE,
    PTR,
    VOID,
    FunctionType,
    IRType,
    StructType,
    TypeSyntaxError,
    VectorType,
    parse_type,
)
from .values import ConstantValue

__all__ = ["KNOWN", "form_of"]

KNOWN: dict[str, Filling] = {}
_FORMS: dict[tuple[str, IRType], Form] = {}


def form_of(text: str) -> Filling:
    """The form of an instruction's text, in which `MARK` or ``?`` stands for each local value."""
    known = KNOWN.get(text)
    if known is None:
        known = KNOWN[text] = _parsed(text.replace("?", MARK))
    return known


def _parsed(text: str) -> Filling:
    scanner = _Instruction(text)
    try:
        form, slots = scanner.form()
    except (UnknownSyntaxError, TypeSyntaxError):
        count = text.count(MARK)
        found = re.match(r"(?:(?:tail|musttail|notail) )?([\w.#]+)", text)
        opcode = found[1] if found else ""
        # A pass that knows an operation must not get one of a form that the passes do not know.
        form = Form(
            f"?{opcode}" if opcode in _METHODS else opcode,
            text.replace("%", "%%").replace(MARK, "%s"),
            OPAQUE,
            (OPAQUE,) * count,
        )
        slots = [None] * count
    form = _FORMS.setdefault((form.text, form.type), form)
    return Filling(form, tuple(slots))


class _Instruction(Scanner):
    """Reads one instruction, by a method for each opcode that returns the type of the result."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.flags: list[str] = []
        self.predicate = ""
        self.element: IRType | None = None
        self.indices: tuple[int, ...] = ()

    def form(self) -> tuple[Form, list[ConstantValue | None]]:
        opcode = self.word()
        if opcode in ("tail", "musttail", "notail"):
            self.flags.append(opcode)
            opcode = self.word()
        method = _METHODS.get(opcode)
        if method is None:
            raise UnknownSyntaxError
        type_ = method(self)
        tail = self.text[self.at :]
        if MARK in tail:
            raise UnknownSyntaxError
        parts, at = [], 0
        for start, end, _, _ in self.operands:
            parts.append(self.text[at:start].replace("%", "%%"))
            at = end
        parts.append(tail.replace("%", "%%"))
        parts[-1] = self.text[at : self.at].replace("%", "%%") + parts[-1]
        types = tuple(each for _, _, each, _ in self.operands)
        form = Form(opcode, "%s".join(parts), type_, types)
        form.flags, form.predicate, form.element = tuple(self.flags), self.predicate, self.element
        form.indices, form.tail = self.indices, tail
        return form, [slot for _, _, _, slot in self.operands]

    def binary(self) -> IRType:
        self.flags = self.words()
        type_ = self.typed()
        self.expect(",")
        self.value(type_)
        return type_

    def unary(self) -> IRType:
        self.flags = self.words()
        return self.typed()

    def cast(self) -> IRType:
        self.flags = self.words()
        self.typed()
        self.expect("to")
        return self.type()

    def comparison(self) -> IRType:
        *self.flags, self.predicate = self.words()
        return self.binary_of_words().with_scalar(I1)

    def binary_of_words(self) -> IRType:
        type_ = self.typed()
        self.expect(",")
        self.value(type_)
        return type_

    def select(self) -> IRType:
        self.flags = self.words()
        self.typed()
        self.expect(",")
        type_ = self.typed()
        self.expect(",")
        self.typed()
        return type_

    def phi(self) -> IRType:
        self.flags = self.words()
        type_ = self.type()
        while True:
            self.expect("[")
            self.value(type_)
            self.expect(",")
            self.value(LABEL)
            self.expect("]")
            if not self.skip(","):
                return type_

    def load(self) -> IRType:
        self.flags = self.words()
        self.element = self.type()
        self.expect(",")
        self.typed()
        return self.element

    def store(self) -> IRType:
        self.flags = self.words()
        self.element = self.typed()
        self.expect(",")
        self.typed()
        return VOID

    def getelementptr(self) -> IRType:
        self.flags = self.words()
        self.element = self.type()
        self.expect(",")
        type_ = self.typed()
        while self.skip(","):
            index = self.typed()
            if isinstance(index, VectorType) and not isinstance(type_, VectorType):
                type_ = index.with_scalar(type_)
        return type_

    def alloca(self) -> IRType:
        self.flags = self.words()
        self.element = self.type()
        at = self.at
        if self.skip(",") and TYPE_START.match(self.text, self.at):
            self.typed()
        else:
            self.at = at
        space = re.search(r"addrspace\(\d+\)", self.text[self.at :])
        return parse_type(f"ptr {space[0]}") if space else PTR

    def extractvalue(self) -> IRType:
        type_ = self.typed()
        self._indices()
        for each in self.indices:
            type_ = _element(type_, each)
        return type_

    def insertvalue(self) -> IRType:
        type_ = self.typed()
        self.expect(",")
        self.typed()
        self._indices()
        return type_

    def _indices(self) -> None:
        found = re.compile(r"(?:, \d+)+").match(self.text, self.at)
        if found is None:
            raise UnknownSyntaxError
        self.at = found.end()
        self.indices = tuple(map(int, found[0][2:].split(", ")))

    def extractelement(self) -> IRType:
        type_ = self.typed()
        self.expect(",")
        self.typed()
        return type_.scalar

    def insertelement(self) -> IRType:
        type_ = self.typed()
        for _ in range(2):
            self.expect(",")
            self.typed()
        return type_

    def shufflevector(self) -> IRType:
        type_ = self.typed()
        self.expect(",")
        self.typed()
        self.expect(",")
        mask = self.typed()
        return mask.with_scalar(type_.scalar)

    def call(self) -> IRType:
        self.flags += self.words()
        type_ = self.type()
        self.value(PTR)
        self.expect("(")
        while not self.skip(")"):
            argument = self.type()
            self.words_of_argument()
            self.value(argument)
            self.skip(",")
        self.indices = (len(self.operands) - 1,)
        bundles = re.compile(r"(?: #\d+)? \[ ").match(self.text, self.at)
        if bundles:
            self.at = bundles.end()
            self._bundles()
        return type_.result if isinstance(type_, FunctionType) else type_

    def _bundles(self) -> None:
        """Go over bundles of operands: ``"align"(ptr %p, i64 8)`` and the like, to a bracket."""
        while not self.skip("]"):
            tag = re.compile(r'"[^"]*"\(').match(self.text, self.at)
            if tag is None:
                raise UnknownSyntaxError
            self.at = tag.end()
            while not self.skip(")"):
                self.typed()
                self.skip(",")
            self.skip(",")
            self.at = self._spaces()

    def atomicrmw(self) -> IRType:
        *self.flags, self.predicate = self.words()
        self.typed()
        self.expect(",")
        return self.typed()

    def cmpxchg(self) -> IRType:
        self.flags = self.words()
        self.typed()
        self.expect(",")
        type_ = self.typed()
        self.expect(",")
        self.typed()
        return parse_type(f"{{ {type_}, i1 }}")

    def fence(self) -> IRType:
        self.flags = self.words()
        return VOID

    def br(self) -> IRType:
        self.typed()
        while self.skip(","):
            self.typed()
        return VOID

    def switch(self) -> IRType:
        self.typed()
        self.expect(",")
        self.typed()
        self.expect("[")
        while not self.skip("]"):
            self.typed()
            self.expect(",")
            self.typed()
        return VOID

    def ret(self) -> IRType:
        if not self.skip("void"):
            self.typed()
        return VOID

    def unreachable(self) -> IRType:
        return VOID


def _element(type_: IRType, index: int) -> IRType:
    if isinstance(type_, StructType):
        return type_.elements[index]
    element = getattr(type_, "element", None)
    if not isinstance(element, IRType):  # a structure by name
        raise UnknownSyntaxError
    return element


_METHODS = {
    **dict.fromkeys(BINARY, _Instruction.binary),
    **dict.fromkeys(CASTS, _Instruction.cast),
    **dict.fromkeys(("fneg", "freeze"), _Instruction.unary),
    **dict.fromkeys(("icmp", "fcmp"), _Instruction.comparison),
    **{
        name: getattr(_Instruction, name)
        for name in (
            "select phi load store getelementptr alloca extractvalue insertvalue extractelement insertelement "
            "shufflevector call atomicrmw cmpxchg fence br switch ret unreachable"
        ).split()
    },
}
