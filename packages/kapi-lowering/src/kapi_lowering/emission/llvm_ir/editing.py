"""Changes of entire blocks and functions: copies of regions and functions, and blocks in two parts."""

from __future__ import annotations

from collections.abc import Iterable, MutableMapping

from .forms import BINARY, CASTS
from .instructions import Block, Instruction, LocalValue
from .module import Function
from .parser import parse_function_head
from .types import VOID
from .values import IRValue

__all__ = [
    "clone_blocks",
    "clone_function",
    "clone_instruction",
    "copy_head",
    "declare",
    "erase_unused",
    "is_pure",
    "split_before",
]


def declare(function: Function, head: str) -> None:
    """Declare a function in the module of another one, unless there is one of the name."""
    functions, start = function.module.functions, head.index("@") + 1
    if head[start : head.index("(", start)] not in functions:
        declared = parse_function_head(function.module, head)
        functions.setdefault(declared.name, declared)


def clone_instruction(instruction: Instruction, values: MutableMapping[IRValue, IRValue]) -> Instruction:
    """A copy without a block or a name, of operands as `values` exchanges them; it is noted there itself."""
    copy = Instruction(None)
    copy.metadata = instruction.metadata
    copy.become(instruction.form, [values.get(each, each) for each in instruction.operands])
    values[instruction] = copy
    return copy


def clone_blocks(
    blocks: Iterable[Block],
    values: MutableMapping[IRValue, IRValue],
    *,
    into: Function | None = None,
    before: Block | None = None,
    suffix: str = "",
) -> list[Block]:
    """Copy blocks, at the end of a function or in front of another block.

    - `blocks`: what to copy.
    - `values`: what to exchange in the copies. The copies of blocks and instructions are added.
    - `into`: where to put them; the function of the blocks if it is left out.
    - `before`: in front of which block.
    - `suffix`: what the names of the copies have at their end.

    Phis in other blocks do not know them yet.
    """
    originals = [*blocks]
    copies = []
    for block in originals:
        function = into or block.function
        copy = function.add_block(None if block.name is None else block.quoted(suffix), before=before)
        values[block] = copy
        copies.append(copy)
    made: list[Instruction] = []
    for block, copy in zip(originals, copies, strict=True):
        for instruction in block.instructions:
            each = clone_instruction(instruction, values)
            if instruction.name is not None:
                each.name = copy.function.fresh(instruction.quoted(suffix))
                each.ref = f"%{each.name}"
            each.block = copy
            copy.instructions.append(each)
            made.append(each)
    for each in made:  # what was used before it was copied
        for position, operand in enumerate(each.operands):
            new = values.get(operand)
            if new is not None and new is not operand:
                each.set_operand(position, new)
    return copies


def copy_head(function: Function, name: str) -> Function:
    """Add a function under another name with the parameters and attributes of one, but without code."""
    head = f"{function.prefix}@{name}{function.head()[len(function.prefix) + len(function.ref) :]}"
    copy = parse_function_head(function.module, head)
    function.module.functions[copy.name] = copy
    return copy


def clone_function(function: Function, name: str) -> Function:
    """Add a copy of a function under another name, with the same names in it."""
    copy = copy_head(function, name)
    values: dict[IRValue, IRValue] = dict(zip(function.parameters, copy.parameters, strict=True))
    clone_blocks(function.blocks, values, into=copy)
    return copy


def split_before(instruction: Instruction, name: str | None = None) -> Block:
    """Part a block in front of an instruction: what follows gets a block of its own, behind, which is returned.

    The first part has no terminator then.
    """
    block = instruction.block
    assert block is not None
    position = block.instructions.index(instruction)
    function = block.function
    rest = Block(function, None if name is None else function.fresh(name))
    function.blocks.insert(function.blocks.index(block) + 1, rest)
    rest.instructions, block.instructions = block.instructions[position:], block.instructions[:position]
    for each in rest.instructions:
        each.block = rest
    for user in [*dict.fromkeys(block.users)]:
        if user.opcode == "phi":
            user.replace_operand(block, rest)
    return rest


def erase_unused(instruction: IRValue) -> None:
    """Erase an instruction that nothing uses and that does nothing else, and what was only there for it."""
    pending = [instruction]
    while pending:
        each = pending.pop()
        if not isinstance(each, Instruction) or each.users or each.block is None or not is_pure(each):
            continue
        pending += [operand for operand in each.operands if isinstance(operand, LocalValue)]
        each.erase()


def is_pure(instruction: Instruction) -> bool:
    """Whether an instruction only computes: it reads and writes no memory, and calls nothing."""
    return instruction.type is not VOID and instruction.opcode in _PURE


_PURE = (
    BINARY
    | CASTS
    | frozenset(
        "phi select freeze fneg icmp fcmp getelementptr extractvalue insertvalue extractelement insertelement "
        "shufflevector".split()
    )
)
