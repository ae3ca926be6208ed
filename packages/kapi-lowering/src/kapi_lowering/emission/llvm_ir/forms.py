"""Forms of instructions: all but the operands, shared by all instructions that differ in these only.

A kernel has some hundred instructions and a few dozen forms. What is not understood is kept as it is written: such a
form has the type `OPAQUE`, and the local values in it as its operands.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from .types import VOID, IRType
from .values import ConstantValue, IRValue, constant

__all__ = ["BINARY", "CASTS", "MARK", "NEGATED", "SWAPPED", "Filling", "Form"]

MARK = "\0"
"""Stands for a local value in the text of an instruction."""

BINARY = frozenset("add sub mul udiv sdiv urem srem shl lshr ashr and or xor fadd fsub fmul fdiv frem".split())
CASTS = frozenset(
    "trunc zext sext fptrunc fpext fptoui fptosi uitofp sitofp ptrtoint ptrtoaddr inttoptr bitcast "
    "addrspacecast".split()
)
SWAPPED = {
    "slt": "sgt", "sgt": "slt", "sle": "sge", "sge": "sle", "ult": "ugt", "ugt": "ult", "ule": "uge", "uge": "ule",
}  # fmt: skip
"""The predicates that compare integers by their order, each with that for its operands in the other order."""
NEGATED = {
    "slt": "sge", "sge": "slt", "sgt": "sle", "sle": "sgt", "ult": "uge", "uge": "ult", "ugt": "ule", "ule": "ugt",
    "eq": "ne", "ne": "eq",
}  # fmt: skip
"""The predicates that compare integers, each with that which holds where it does not."""

_ALIGNMENT = re.compile(r", align (\d+)")


class Form:
    """An instruction without its operands.

    - `text`: as LLVM writes it, with ``%s`` for each operand.
    - `opcode`: the operation, ``call`` for all kinds of calls. One that is known, but whose text is not understood, has
      a question mark in front.
    - `flags`: the words in front of the first type, whatever they mean: ``nsw``, ``fast``, ``tail``, ``range(i32 0,
      5)``.
    - `type`: what the instruction gives.
    - `operand_types`: the type of each operand.
    - `predicate`: of ``icmp`` and ``fcmp``, and the operation of ``atomicrmw``.
    - `element`: of ``getelementptr``, ``alloca``, ``load`` and ``store`` what is pointed to.
    - `indices`: of ``extractvalue`` and ``insertvalue``; of a call, the number of arguments alone.
    - `tail`: what follows the last operand: alignment, ordering, attributes of a call.
    """

    __slots__ = (
        "element",
        "flags",
        "indices",
        "is_void",
        "opcode",
        "operand_types",
        "predicate",
        "tail",
        "text",
        "type",
    )

    def __init__(self, opcode: str, text: str, type_: IRType, operand_types: tuple[IRType, ...]) -> None:
        self.opcode, self.text, self.type, self.operand_types = opcode, text, type_, operand_types
        self.is_void = type_ is VOID
        self.flags: tuple[str, ...] = ()
        self.predicate = self.tail = ""
        self.element: IRType | None = None
        self.indices: tuple[int, ...] = ()

    def as_void(self) -> Form:
        """The form of an instruction that is not understood and gives nothing."""
        return Form(self.opcode, self.text, VOID, self.operand_types)

    @property
    def alignment(self) -> int:
        """Bytes of the alignment that is named; 0 for none."""
        found = _ALIGNMENT.search(self.tail)
        return int(found[1]) if found else 0

    @property
    def is_plain(self) -> bool:
        """Whether an access of memory is neither atomic nor volatile."""
        return "atomic" not in self.flags and "volatile" not in self.flags


class Filling:
    """A parsed text of an instruction: its form, and the operands that are constants in the text."""

    __slots__ = ("form", "slots")

    def __init__(self, form: Form, slots: tuple[ConstantValue | None, ...]) -> None:
        self.form = form
        self.slots = slots if any(slots) else None

    def filled(self, values: Sequence[IRValue | int]) -> tuple[Form, list[IRValue]]:
        """Form and operands, with these in place of the marks; integers become constants of the operand's type."""
        slots = self.slots or (None,) * len(values)
        given = iter(values)
        operands: list[IRValue] = []
        for slot, type_ in zip(slots, self.form.operand_types, strict=True):
            value = next(given) if slot is None else slot
            operands.append(constant(type_, value) if isinstance(value, int) else value)
        return self.form, operands
