"""Addresses that vary as an element of what all lanes share, by an index of each lane.

Where an index is arithmetic on the work-item's place, such as a remainder or a clamped sum, most vectors have
neighbouring elements, but not all have. Code asks for it, which costs one comparison.
"""

from __future__ import annotations

from dataclasses import dataclass

from kapi_cpu.emission.vectorize.divergence import VARYING, Shapes
from kapi_cpu.emission.vectorize.type_sizes import element_steps
from kapi_lowering.emission.llvm_ir import Instruction, IntType, IRValue

__all__ = ["IndexedAddress", "indexed_address"]

_ARITHMETIC = (
    "add", "sub", "mul", "and", "or", "xor", "shl", "srem", "urem", "trunc", "sext", "zext", "freeze", "icmp",
)  # fmt: skip
_QUOTIENTS = ("sdiv", "udiv", "lshr", "ashr")
_EXTREMES = tuple(f"llvm.{name}." for name in ("smin", "smax", "umin", "umax", "abs"))
_DEEPEST = 12


@dataclass(frozen=True, slots=True)
class IndexedAddress:
    """An address ``base + index * step + ...``, to which all lanes add the same.

    - `base`: what all lanes share.
    - `terms`: integers that vary, each with its bytes.
    - `moves`: the address computations that add what all lanes share, the last one first.
    """

    base: IRValue
    terms: tuple[tuple[IRValue, int], ...]
    moves: tuple[Instruction, ...]

    @property
    def parts(self) -> list[IRValue]:
        """The values that it is computed from."""
        shared = [index for each in self.moves for index in each.operands[1:]]
        return [self.base, *(index for index, _ in self.terms), *shared]

    def may_be_consecutive(self, size: int, shapes: Shapes) -> bool:
        """Whether lanes may have neighbouring elements of a size in bytes by arithmetic on their indices."""
        is_term_of_elements = len(self.terms) > 1 or self.terms[0][1] == size or size % self.terms[0][1] == 0
        return is_term_of_elements and all(
            _is_arithmetic(index, shapes, _DEEPEST, step != size) for index, step in self.terms
        )


def indexed_address(pointer: IRValue, shapes: Shapes) -> IndexedAddress | None:
    """Take a varying address apart; None of other addresses."""
    moves: list[Instruction] = []
    terms: list[tuple[IRValue, int]] = []
    while isinstance(pointer, Instruction) and pointer.opcode == "getelementptr" and shapes[pointer] != 0:
        base, *indices = pointer.operands
        if any(shapes[index] != 0 for index in indices):
            steps = element_steps(pointer)
            if len(indices) != 1 or not steps or not isinstance(indices[0].type, IntType):
                return None
            terms.append((indices[0], steps[0]))
        else:
            moves.append(pointer)
        pointer = base
    return IndexedAddress(pointer, tuple(terms), tuple(moves)) if terms and shapes[pointer] == 0 else None


def _is_arithmetic(value: IRValue, shapes: Shapes, depth: int, is_scaled: bool = False) -> bool:
    """Whether a number follows from the work-item's id alone, and may count with it.

    A quotient does not, but a multiple of one may be a part of a sum that does.
    """
    if shapes[value] is not VARYING:
        return True
    if not depth or not isinstance(value, Instruction):
        return False
    if value.opcode == "call":
        operands = value.arguments if value.callee.startswith(_EXTREMES) else [value]
    elif value.opcode == "select":
        operands = value.operands[1:]
    else:
        is_known = value.opcode in _ARITHMETIC or (is_scaled and value.opcode in _QUOTIENTS)
        operands = value.operands if is_known else [value]
    is_scaled = is_scaled or value.opcode in ("mul", "shl")
    return all(each is not value and _is_arithmetic(each, shapes, depth - 1, is_scaled) for each in operands)
