"""The check of a SPIR-V module for an id that two of its objects have."""

from __future__ import annotations

from kapi_spirv.binary_reader import instructions, words_of

__all__ = ["has_duplicate_ids"]

# Names, decorations, modes; stores and copies; barriers; the ends of blocks and functions.
_WITHOUT_RESULT = frozenset(
    (
        *(0, 2, 3, 4, 5, 6, 8, 10, 14, 15, 16, 17, 39, 56, 62, 63, 64, 71, 72, 74, 75, 99, 224, 225, 228, 246, 247),
        *(249, 250, 251, 252, 253, 254, 255, 256, 257, 260, 317, 330, 331, 332, 5630, 5632, 5633),
    )
)
_RESULT_WITHOUT_TYPE = frozenset((7, 11, 73, 248, *range(19, 39)))  # strings, imports, groups, labels, types


def has_duplicate_ids(code: bytes) -> bool:
    """Whether two objects in the module have one id.

    LLVM 22 keeps the ids of basic blocks from one module to the next in the same process, by the address of the
    function they were in (https://github.com/llvm/llvm-project/issues/160613). Where an address comes again, blocks
    get ids that other objects have, too. Such a module may seem valid and branch to the wrong block.

    Raises `ValueError` if `code` is not SPIR-V.
    """
    words = words_of(code)
    seen = set()
    for operation, start, _end in instructions(words):
        if operation in _WITHOUT_RESULT:
            continue
        result = words[start + (1 if operation in _RESULT_WITHOUT_TYPE else 2)]
        if result in seen:
            return True
        seen.add(result)
    return False
