"""Making instructions: written in LLVM's syntax, with values in the gaps."""

from __future__ import annotations

from collections.abc import Iterable

from .forms import MARK
from .instructions import Block, Instruction
from .syntax import form_of
from .types import Type
from .values import Value

__all__ = ["Builder"]


class Builder:
    """Inserts instructions in front of one, one after the other; at the end of a block if there is none.

    Parameters
    ----------
    block : Block
        Where to insert.
    before : Instruction, optional
        In front of which one. It must stay where it is while the builder is used.
    prefix : str, optional
        What the names of values begin with.
    """

    def __init__(self, block: Block, before: Instruction | None = None, *, prefix: str = "") -> None:
        self.block, self.prefix = block, prefix
        self._at = len(block.instructions) if before is None else block.instructions.index(before)

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
        builder = cls(block, instruction, prefix=prefix)
        builder._at += 1
        return builder

    @classmethod
    def after_phis(cls, block: Block, *, prefix: str = "") -> Builder:
        """A builder in front of the first instruction of a block that is no phi."""
        builder = cls(block, prefix=prefix)
        builder._at = len(block.phis)
        return builder

    def emit(self, text: str, *values: Value | int, name: str | None = None, metadata: str = "") -> Instruction:
        """Insert an instruction.

        Parameters
        ----------
        text : str
            The instruction with ``?`` for each of the values: ``emit("add nsw i64 ?, 1", x)``.
        *values : Value or int
            Operands in the order of the text; an integer is a constant of the operand's type.
        name : str, optional
            The name of the result, behind the builder's prefix. It is made one that the function does not have.
        metadata : str, optional
            Attachments as they are written, each after a comma.

        Returns
        -------
        Instruction
        """
        named = None if name is None else self.block.function.fresh(self.prefix + name)
        instruction = Instruction(named)
        instruction.become(*form_of(text).filled(values))
        instruction.metadata = metadata
        self.insert(instruction)
        return instruction

    def insert(self, instruction: Instruction) -> None:
        """Insert an instruction that has no place yet."""
        instruction.block = self.block
        self.block.instructions.insert(self._at, instruction)
        self._at += 1

    def phi(
        self, type_: Type, incoming: Iterable[tuple[Value | int, Block]], *, name: str | None = None
    ) -> Instruction:
        """Insert a phi of these values, each from a block."""
        operands = [each for pair in incoming for each in pair]
        gaps = ", ".join(["[ ?, ? ]"] * (len(operands) // 2))
        return self.emit(f"phi {type_} {gaps}", *operands, name=name)

    def call(self, callee: str, *arguments: Value, name: str | None = None) -> Instruction:
        """Insert a call of a function by what stands in front of its parenthesis, such as ``spir_func i64 @f``."""
        given = ", ".join(f"{each.type} {MARK}" for each in arguments)
        return self.emit(f"call {callee}({given})", *arguments, name=name)
