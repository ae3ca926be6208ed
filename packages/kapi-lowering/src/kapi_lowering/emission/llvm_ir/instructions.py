"""Local values of a function and their users: parameters, blocks and instructions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from .forms import MARK, Form
from .syntax import form_of
from .types import LABEL, IntType, IRType
from .values import ConstantValue, IRValue, constant

if TYPE_CHECKING:
    from .module import Function

__all__ = ["Block", "Instruction", "LocalValue", "Argument", "defined"]

_TERMINATORS = frozenset(
    ("br", "ret", "switch", "unreachable", "indirectbr", "invoke", "resume", "callbr", "cleanupret", "catchret")
)


class LocalValue(IRValue):
    """A value that a function defines, with the instructions that use it.

    - `name`: its name as LLVM writes it, without the percent sign; None if it has a number.
    - `users`: each instruction that has it as an operand, as often as it has it.
    """

    __slots__ = ("name", "users")

    def __init__(self, type_: IRType, name: str | None) -> None:
        self.type, self.name = type_, name
        self.ref = "%" if name is None else f"%{name}"
        self.users: list[Instruction] = []

    def replace_all_uses_with(self, other: IRValue, *, but: Iterable[Instruction] = ()) -> None:
        """Let all instructions that use this value use another one, but for some of them."""
        kept = set(but)
        for user in [*dict.fromkeys(self.users)]:
            if user not in kept:
                user.replace_operand(self, other)

    def quoted(self, suffix: str) -> str:
        """A name of this value's with a suffix, for a value that belongs to it."""
        return ".".join(each for each in ((self.name or "").strip('"'), suffix) if each)


class Argument(LocalValue):
    """A parameter of a function, with the text of its `attributes`."""

    __slots__ = ("attributes",)

    def __init__(self, type_: IRType, name: str | None, attributes: str) -> None:
        super().__init__(type_, name)
        self.attributes = attributes


class Block(LocalValue):
    """A basic block: its `instructions`, the last of which is the terminator."""

    __slots__ = ("function", "instructions")

    def __init__(self, function: Function, name: str | None) -> None:
        super().__init__(LABEL, name)
        self.function = function
        self.instructions: list[Instruction] = []

    @property
    def terminator(self) -> Instruction:
        """The instruction that ends the block."""
        return self.instructions[-1]

    @property
    def successors(self) -> list[Block]:
        """The blocks that the terminator names, in its order; one that it names twice is there twice."""
        return [each for each in self.instructions[-1].operands if isinstance(each, Block)]

    @property
    def predecessors(self) -> list[Block]:
        """The blocks that lead here, each once."""
        blocks = (user.block for user in self.users if user.opcode in _TERMINATORS)
        return [*dict.fromkeys(block for block in blocks if block is not None)]

    @property
    def phis(self) -> list[Instruction]:
        """The phis, which are the first instructions."""
        found = []
        for each in self.instructions:
            if each.opcode != "phi":
                break
            found.append(each)
        return found

    def erase(self) -> None:
        """Take the block and its instructions out of the function. Phis that name it must be changed before."""
        for each in [*self.instructions]:
            each.erase()
        self.function.blocks.remove(self)


class Instruction(LocalValue):
    """An instruction: a form of the language, filled with operands in the order of the text.

    - `form`: all but the operands and metadata: `opcode`, `flags`, operand types, alignment and so on.
    - `opcode`: the form's.
    - `operands`: change them by `set_operand` and the like, which keep `users`.
    - `metadata`: the attachments as they are written, each after a comma.
    - `block`: where it stands.
    """

    __slots__ = ("block", "form", "metadata", "opcode", "operands")

    def __init__(self, name: str | None) -> None:
        self.name, self.users = name, []
        self.ref = "%" if name is None else f"%{name}"
        self.metadata = ""
        self.block: Block | None = None
        self.operands: list[IRValue] = []

    def become(self, form: Form, operands: Sequence[IRValue]) -> None:
        """Take another form with other operands; name, position, metadata and users stay."""
        for old in self.operands:
            if isinstance(old, LocalValue):
                old.users.remove(self)
        self.form, self.opcode, self.type = form, form.opcode, form.type
        self.operands = [*operands]
        for new in operands:
            if isinstance(new, LocalValue):
                new.users.append(self)

    def rewrite(self, text: str, *values: IRValue | int) -> None:
        """Become an instruction written in LLVM's syntax, with ``?`` for each operand that is given.

        For example ``phi.rewrite("phi i32 [ ?, ? ], [ 0, ? ]", following, latch, entry)``.
        """
        self.become(*form_of(text).filled(values))

    def retype(self, old: IntType, new: IntType, *, is_unsigned: bool = False) -> None:
        """Take another type wherever one stands in the form. Constants of the one become such of the other."""
        text = re.sub(rf"(?<![\w.%]){re.escape(old.text)}\b", new.text, self.form.text)
        operands = [
            constant(new, each.integer % 2**old.bits if is_unsigned else each.integer)
            if each.type is old and each.integer is not None
            else each
            for each in self.operands
        ]
        self.become(*form_of(text.replace("%s", MARK)).filled(operands))

    def drop_flags(self) -> None:
        """Leave out what the flags promise, such as ``nsw``."""
        words = "".join(f"{each} " for each in self.flags)
        self.become(*form_of(self.form.text.replace(f" {words}", " ", 1).replace("%s", MARK)).filled(self.operands))

    # -- operands

    def set_operand(self, index: int, value: IRValue) -> None:
        """Exchange one operand."""
        old = self.operands[index]
        if isinstance(old, LocalValue):
            old.users.remove(self)
        if isinstance(value, LocalValue):
            value.users.append(self)
        self.operands[index] = value

    def replace_operand(self, old: IRValue, new: IRValue) -> None:
        """Exchange an operand wherever it is one of this instruction's."""
        for index, each in enumerate(self.operands):
            if each is old:
                self.set_operand(index, new)

    # -- what the form says

    @property
    def flags(self) -> tuple[str, ...]:
        """The words between opcode and type: ``nuw``, ``contract``, ``volatile``, a predicate is none of them."""
        return self.form.flags

    @property
    def predicate(self) -> str:
        """The predicate of a comparison; empty for others."""
        return self.form.predicate

    @property
    def is_terminator(self) -> bool:
        """Whether it ends a block."""
        return self.opcode in _TERMINATORS

    @property
    def arguments(self) -> list[IRValue]:
        """The arguments of a call."""
        return self.operands[1 : 1 + self.form.indices[0]] if self.opcode == "call" and self.form.indices else []

    @property
    def callee(self) -> str:
        """The name of the function that a call names, without quotes; empty for others."""
        if self.opcode != "call" or not self.operands:
            return ""
        target = self.operands[0]
        return (target.global_name or "") if isinstance(target, ConstantValue) else ""

    @property
    def incoming(self) -> list[tuple[IRValue, Block]]:
        """Value and block of each edge of a phi."""
        pairs = zip(self.operands[::2], self.operands[1::2], strict=True)
        return [(value, block) for value, block in pairs if isinstance(block, Block)]

    def incoming_from(self, block: Block) -> IRValue:
        """The value that a phi has from a block."""
        return self.operands[self.operands.index(block) - 1]

    def set_incoming(self, block: Block, value: IRValue) -> None:
        """Exchange the value that a phi has from a block, on each edge from there."""
        for index in range(1, len(self.operands), 2):
            if self.operands[index] is block:
                self.set_operand(index - 1, value)

    # -- position

    def insert_before(self, other: Instruction) -> None:
        """Move in front of another instruction; one without a block gets one so."""
        self._leave()
        assert other.block is not None
        other.block.instructions.insert(other.block.instructions.index(other), self)
        self.block = other.block

    def _leave(self) -> None:
        if self.block is not None:
            self.block.instructions.remove(self)
            self.block = None

    def erase(self) -> None:
        """Take the instruction away. Nothing may use what it gives."""
        self._leave()
        for each in self.operands:
            if isinstance(each, LocalValue):
                each.users.remove(self)
        self.operands = []

    # -- metadata

    def attachment(self, kind: str) -> str | None:
        """The metadata of a kind that is attached, such as ``!5`` for ``range``."""
        found = re.search(rf", !{re.escape(kind)} ([^,]+)", self.metadata) if self.metadata else None
        return found[1] if found else None

    def attach(self, kind: str, node: str | None) -> None:
        """Attach metadata of a kind in place of what there is; None for none."""
        self.metadata = re.sub(rf", !{re.escape(kind)} [^,]+", "", self.metadata)
        if node is not None:
            self.metadata += f", !{kind} {node}"

    def __str__(self) -> str:
        start = "" if self.form.is_void else f"{self.ref} = "
        return f"{start}{self.form.text % tuple([each.ref for each in self.operands])}{self.metadata}"


def defined(value: IRValue, *opcodes: str) -> Instruction | None:
    """The instruction that a value is, if it is one of these."""
    return value if isinstance(value, Instruction) and value.opcode in opcodes else None
