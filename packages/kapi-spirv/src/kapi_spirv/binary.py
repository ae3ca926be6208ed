"""SPIR-V binaries as words: what a module declares of itself, and ids for its labels.

References
----------
SPIR-V specification, 2.3, "Physical Layout of a SPIR-V Module and Instruction".
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import NamedTuple

__all__ = ["ModuleHeader", "read_header", "renumber_labels"]

_MAGIC = 0x07230203
_HEADER_WORDS = 5
_OP_NAME, _OP_EXTENSION, _OP_MEMORY_MODEL, _OP_CAPABILITY = 5, 10, 14, 17
_OP_FUNCTION, _OP_PHI, _OP_LOOP_MERGE, _OP_SELECTION_MERGE, _OP_LABEL = 54, 245, 246, 247, 248
_OP_BRANCH, _OP_BRANCH_CONDITIONAL, _OP_SWITCH = 249, 250, 251

_CAPABILITIES = {
    0: "Matrix", 1: "Shader", 4: "Addresses", 5: "Linkage", 6: "Kernel", 7: "Vector16", 8: "Float16Buffer",
    9: "Float16", 10: "Float64", 11: "Int64", 12: "Int64Atomics", 13: "ImageBasic", 18: "Groups", 19: "DeviceEnqueue",
    22: "Int16", 38: "GenericPointer", 39: "Int8", 58: "SubgroupDispatch", 61: "GroupNonUniform",
    62: "GroupNonUniformVote", 63: "GroupNonUniformArithmetic", 64: "GroupNonUniformBallot",
    65: "GroupNonUniformShuffle", 66: "GroupNonUniformShuffleRelative",
}  # fmt: skip


class ModuleHeader(NamedTuple):
    """The version, capabilities and extensions that a module declares, names as in the specification."""

    version: str
    capabilities: tuple[str, ...]
    extensions: tuple[str, ...]


def read_header(code: bytes) -> ModuleHeader:
    """Read a SPIR-V binary up to its memory model.

    Raises
    ------
    ValueError
        If `code` is not SPIR-V of this machine's byte order.
    """
    words = _words(code)
    version = words[1]
    capabilities, extensions = [], []
    for operation, start, end in _instructions(words):
        if operation == _OP_MEMORY_MODEL:
            break
        if operation == _OP_CAPABILITY:
            capabilities.append(_CAPABILITIES.get(words[start + 1], str(words[start + 1])))
        elif operation == _OP_EXTENSION:
            extensions.append(code[4 * (start + 1) : 4 * end].split(b"\0", 1)[0].decode())
    return ModuleHeader(f"{version >> 16 & 255}.{version >> 8 & 255}", tuple(capabilities), tuple(extensions))


def renumber_labels(code: bytes) -> bytes:
    """The module with an id of its own for every label.

    LLVM 22 keeps the ids of basic blocks from one module to the next in the same process, by the address of the
    function they were in. Where an address comes again, labels get ids that other things have too
    (https://github.com/llvm/llvm-project/issues/160613). Labels are named by few instructions, all inside of their
    function, so they can be told apart; with ids above the bound the result also no longer depends on addresses.
    Remove this when `test_backend_limits` says that LLVM is mended.

    Raises
    ------
    ValueError
        If `code` is not SPIR-V, or has an OpSwitch, whose operands cannot be read without types.
    """
    words = list(_words(code))
    instructions = list(_instructions(words))
    labels = {words[start + 1] for operation, start, _end in instructions if operation == _OP_LABEL}
    following = words[3]
    new_ids: dict[int, int] = {}
    for position, (operation, start, end) in enumerate(instructions):
        if operation == _OP_FUNCTION:
            new_ids = {}
            for later, label, _end in instructions[position + 1 :]:
                if later == _OP_FUNCTION:
                    break
                if later == _OP_LABEL:
                    new_ids[words[label + 1]] = following
                    following += 1
        for index in _label_operands(operation, start, end):
            words[index] = new_ids[words[index]]
    words[3] = following
    kept = list(words[:_HEADER_WORDS])
    for operation, start, end in instructions:
        # A name given to an id that a label had may have meant something else by the same id.
        if operation != _OP_NAME or words[start + 1] not in labels:
            kept += words[start:end]
    return struct.pack(f"<{len(kept)}I", *kept)


def _label_operands(operation: int, start: int, end: int) -> range | tuple[int, ...]:
    """Where an instruction names labels."""
    if operation in (_OP_LABEL, _OP_BRANCH, _OP_SELECTION_MERGE):
        return (start + 1,)
    if operation == _OP_BRANCH_CONDITIONAL:
        return (start + 2, start + 3)
    if operation == _OP_LOOP_MERGE:
        return (start + 1, start + 2)
    if operation == _OP_PHI:
        return range(start + 4, end, 2)
    if operation == _OP_SWITCH:
        raise ValueError("code must have no OpSwitch, got one; LLVM's pass that lowers switches must run before")
    return ()


def _words(code: bytes) -> tuple[int, ...]:
    words = struct.unpack(f"<{len(code) // 4}I", code[: len(code) // 4 * 4])
    if len(words) < _HEADER_WORDS or len(code) % 4 or words[0] != _MAGIC:
        raise ValueError(f"code must be a SPIR-V binary, got {len(code)} bytes that start with {code[:4].hex() or '-'}")
    return words


def _instructions(words: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    """Each instruction's operation, and the positions of its first word and of the next instruction's."""
    start = _HEADER_WORDS
    while start < len(words):
        end = start + (words[start] >> 16)
        if end == start or end > len(words):
            raise ValueError(f"code must be whole SPIR-V instructions, got one of {end - start} words at word {start}")
        yield words[start] & 0xFFFF, start, end
        start = end
