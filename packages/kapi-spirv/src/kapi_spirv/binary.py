"""What a SPIR-V binary says of itself in its header.

References
----------
SPIR-V specification, 2.3, "Physical Layout of a SPIR-V Module and Instruction".
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

__all__ = ["ModuleHeader", "read_header"]

_MAGIC = 0x07230203
_HEADER_WORDS = 5
_OP_EXTENSION, _OP_EXT_INST_IMPORT, _OP_MEMORY_MODEL, _OP_CAPABILITY = 10, 11, 14, 17

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
    if len(code) < 4 * _HEADER_WORDS or len(code) % 4 or struct.unpack_from("<I", code)[0] != _MAGIC:
        raise ValueError(f"code must be a SPIR-V binary, got {len(code)} bytes that start with {code[:4].hex() or '-'}")
    version = struct.unpack_from("<I", code, 4)[0]
    capabilities, extensions = [], []
    for operation, operands in _instructions(code):
        if operation == _OP_CAPABILITY:
            number = struct.unpack("<I", operands)[0]
            capabilities.append(_CAPABILITIES.get(number, str(number)))
        elif operation == _OP_EXTENSION:
            extensions.append(operands.split(b"\0", 1)[0].decode())
        elif operation != _OP_EXT_INST_IMPORT:
            break
    return ModuleHeader(f"{version >> 16 & 255}.{version >> 8 & 255}", tuple(capabilities), tuple(extensions))


def _instructions(code: bytes) -> Iterator[tuple[int, bytes]]:
    position = 4 * _HEADER_WORDS
    while position < len(code):
        word = struct.unpack_from("<I", code, position)[0]
        words, operation = word >> 16, word & 0xFFFF
        if words == 0 or operation == _OP_MEMORY_MODEL:
            return
        yield operation, code[position + 4 : position + 4 * words]
        position += 4 * words
