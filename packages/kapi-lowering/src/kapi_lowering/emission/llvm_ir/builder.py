"""Making instructions: written in LLVM's syntax, with values in the gaps."""

from __future__ import annotations

from collections.abc import Iterable

from .forms import MARK
from .instructions import Block, Instruction
from .syntax import form_of
from .types import IRType
from .values import IRValue

__all__ = ["Builder"]


class Builder:
    """Inserts instructions in front of one, one after the other; at the end of a block if there is none.

    - `block`: where to insert.
    - `before`: in front of which one.
    - `prefix`: what the names of values begin with.
    """

    def __init__(self, block: Block, before: Instruction | None = None, *, prefix: str = "") -> None:
        self.block, self.prefix, self._before = block, prefix, before

    @classmethod
    def before(cls, instruction: Instruction, *, prefix: str = "") -> Builder:
        """A builder in front of an instruction."""
        assert instruction.block is not None
        return cls(instruction.block, instruction, prefix=prefix)

    @classmethod
    def after(cls, instruction: Instruction, *, prefix: str = "") -> Builder:
        """A builder behind an instruction; behind all phis of the block if it is one."""
        block = instruction.block
        assert block is not None
        if instruction.opcode == "phi":
            return cls.after_phis(block, prefix=prefix)
        return cls(block, _following(block, block.instructions.index(instruction) + 1), prefix=prefix)

    @classmethod
    def after_phis(cls, block: Block, *, prefix: str = "") -> Builder:
        """A builder in front of the first instruction of a block that is no phi."""
        return cls(block, _following(block, len(block.phis)), prefix=prefix)

    def emit(self, text: str, *values: IRValue | int, name: str | None = None, metadata: str = "") -> Instruction:
        """Insert an instruction.

        - `text`: the instruction with ``?`` for each of the values: ``emit("add nsw i64 ?, 1", x)``.
        - `*values`: operands in the order of the text; an integer is a constant of the operand's type.
        - `name`: the name of the result, behind the builder's prefix. It is made one that the function does not have.
        - `metadata`: attachments as they are written, each after a comma.
        """
        named = None if name is None else self.block.function.fresh(self.prefix + name)
        instruction = Instruction(named)
        instruction.become(*form_of(text).filled(values))
        instruction.metadata = metadata
        self.insert(instruction)
        return instruction

    def insert(self, instruction: Instruction) -> None:
        """Insert an instruction that is in no block yet."""
        instruction.block = self.block
        instructions = self.block.instructions
        index = len(instructions) if self._before is None else instructions.index(self._before)
        instructions.insert(index, instruction)

    def phi(
        self, type_: IRType, incoming: Iterable[tuple[IRValue | int, Block]], *, name: str | None = None
    ) -> Instruction:
        """Insert a phi of these values, each from a block."""
        operands = [each for pair in incoming for each in pair]
        gaps = ", ".join(["[ ?, ? ]"] * (len(operands) // 2))
        return self.emit(f"phi {type_} {gaps}", *operands, name=name)

    def call(self, callee: str, *arguments: IRValue, name: str | None = None) -> Instruction:
        """Insert a call of a function by what stands in front of its parenthesis, such as ``spir_func i64 @f``."""
        given = ", ".join(f"{each.type} {MARK}" for each in arguments)
        return self.emit(f"call {callee}({given})", *arguments, name=name)


def _following(block: Block, index: int) -> Instruction | None:
    return block.instructions[index] if index < len(block.instructions) else None
