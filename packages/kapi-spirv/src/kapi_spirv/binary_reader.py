"""SPIR-V binaries as words: what a module declares of itself.

References
----------
SPIR-V specification, 2.3, "Physical Layout of a SPIR-V Module and Instruction".
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import NamedTuple

__all__ = ["ModuleHeader", "entry_points", "has_loops", "instructions", "read_header", "words_of"]

_MAGIC = 0x07230203
_HEADER_WORDS = 5
_OP_EXTENSION, _OP_MEMORY_MODEL, _OP_CAPABILITY = 10, 14, 17
_OP_ENTRY_POINT, _OP_FUNCTION, _OP_FUNCTION_END = 15, 54, 56
_OP_LABEL, _OP_BRANCH, _OP_BRANCH_CONDITIONAL, _OP_SWITCH = 248, 249, 250, 251
_KERNEL = 6  # the execution model of OpenCL's entry points
_CAPABILITIES = {
    0: "Matrix", 1: "Shader", 4: "Addresses", 5: "Linkage", 6: "Kernel", 7: "Vector16", 8: "Float16Buffer",
    9: "Float16", 10: "Float64", 11: "Int64", 12: "Int64Atomics", 13: "ImageBasic", 18: "Groups", 19: "DeviceEnqueue",
    22: "Int16", 38: "GenericPointer", 39: "Int8", 58: "SubgroupDispatch", 61: "GroupNonUniform",
    62: "GroupNonUniformVote", 63: "GroupNonUniformArithmetic", 64: "GroupNonUniformBallot",
    65: "GroupNonUniformShuffle", 66: "GroupNonUniformShuffleRelative", 5837: "FPFastMathModeINTEL",
}  # fmt: skip


class ModuleHeader(NamedTuple):
    """The version, capabilities and extensions that a module declares, names as in the specification."""

    version: str
    capabilities: tuple[str, ...]
    extensions: tuple[str, ...]


def read_header(code: bytes) -> ModuleHeader:
    """Read a SPIR-V binary up to its memory model.

    Raises `ValueError` if `code` is not SPIR-V of this machine's byte order.
    """
    words = words_of(code)
    version = words[1]
    capabilities, extensions = [], []
    for operation, start, end in instructions(words):
        if operation == _OP_MEMORY_MODEL:
            break
        if operation == _OP_CAPABILITY:
            capabilities.append(_CAPABILITIES.get(words[start + 1], str(words[start + 1])))
        elif operation == _OP_EXTENSION:
            extensions.append(code[4 * (start + 1) : 4 * end].split(b"\0", 1)[0].decode())
    return ModuleHeader(f"{version >> 16 & 255}.{version >> 8 & 255}", tuple(capabilities), tuple(extensions))


def has_loops(code: bytes) -> bool:
    """Whether any function of the module comes back to a block that stands before: of a loop, one branch does.

    A number that a switch compares with may be taken for such a block, too.

    - `code`: the binary, of this machine's byte order.

    Raises `ValueError` if `code` is not SPIR-V.

    Examples
    --------
    >>> from numba import types
    >>> from kapi_spirv import compile_kernel
    >>> from kapi_types import ItemType, ArrayType
    >>> def double(item, x):
    ...     x[item.get_id(0)] *= 2
    >>> has_loops(compile_kernel(double, [ItemType(1), ArrayType(types.float32, 1, "C")]).code)
    False
    """
    words = words_of(code)
    before: set[int] = set()
    for operation, start, end in instructions(words):
        if operation == _OP_LABEL:
            before.add(words[start + 1])
        elif operation == _OP_BRANCH:
            if words[start + 1] in before:
                return True
        elif operation in (_OP_BRANCH_CONDITIONAL, _OP_SWITCH) and not before.isdisjoint(words[start + 2 : end]):
            return True
    return False


def entry_points(code: bytes) -> tuple[str, ...]:
    """Return the names of the kernels in a SPIR-V binary, in their order.

    The whole binary is walked: drivers end the process over one that is cut short, or wait for ever.

    Parameters
    ----------
    code : bytes
        The binary, of this machine's byte order.

    Returns
    -------
    tuple of str

    Raises
    ------
    ValueError
        If `code` is no SPIR-V, is not made of whole instructions, ends inside of a function, or lacks that of a kernel.

    Examples
    --------
    >>> from numba import types
    >>> from kapi_spirv import compile_kernel
    >>> from kapi_types import ItemType, ArrayType
    >>> def double(item, x):
    ...     x[item.get_id(0)] *= 2
    >>> module = compile_kernel(double, [ItemType(1), ArrayType(types.float32, 1, "C")])
    >>> entry_points(module.code) == (module.entry_point,)
    True
    >>> entry_points(module.code[:-4])
    Traceback (most recent call last):
    ...
    ValueError: code must be whole SPIR-V functions, got one without an end
    """
    names, is_inside = [], False
    wanted, defined = set(), set()
    words = words_of(code)
    for operation, start, end in instructions(words):
        if operation == _OP_ENTRY_POINT and end - start > 3 and code[4 * (start + 1)] == _KERNEL:
            names.append(code[4 * (start + 3) : 4 * end].split(b"\0", 1)[0].decode(errors="replace"))
            wanted.add(words[start + 2])
        elif operation in (_OP_FUNCTION, _OP_FUNCTION_END):
            is_inside = operation == _OP_FUNCTION
            if is_inside and end - start > 2:
                defined.add(words[start + 2])
    if is_inside:
        raise ValueError("code must be whole SPIR-V functions, got one without an end")
    if not wanted <= defined:
        raise ValueError("code must hold the function of each of its kernels, got one without it")
    return tuple(names)


def words_of(code: bytes) -> tuple[int, ...]:
    """The words of a SPIR-V binary; ValueError if it is none."""
    words = struct.unpack(f"<{len(code) // 4}I", code[: len(code) // 4 * 4])
    if len(words) < _HEADER_WORDS or len(code) % 4 or words[0] != _MAGIC:
        raise ValueError(f"code must be a SPIR-V binary, got {len(code)} bytes that start with {code[:4].hex() or '-'}")
    return words


def instructions(words: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    """Each instruction's operation, and the positions of its first word and of the next instruction's."""
    start = _HEADER_WORDS
    while start < len(words):
        end = start + (words[start] >> 16)
        if end == start or end > len(words):
            raise ValueError(f"code must be whole SPIR-V instructions, got one of {end - start} words at word {start}")
        yield words[start] & 0xFFFF, start, end
        start = end
