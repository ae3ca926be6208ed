"""Permission to contract and to reassociate float operations, written into a SPIR-V module.

LLVM's back end keeps these flags only as `SPV_KHR_float_controls2` has them, which Intel's OpenCL drivers refuse; those
take `SPV_INTEL_fp_fast_math_mode`. To emit `fma` instead is no way: Intel's compiler for CPUs vectorises it badly where
work-items diverge.

References
----------
SPV_INTEL_fp_fast_math_mode: FPFastMathMode decorations AllowContractFastINTEL and AllowReassocINTEL.
"""

from __future__ import annotations

import struct
from collections.abc import Collection

from kapi_spirv.binary_reader import instructions, words_of

__all__ = ["EXTENSION", "allow"]

EXTENSION = "SPV_INTEL_fp_fast_math_mode"

_CAPABILITY = 5837  # FPFastMathModeINTEL
_MODES = {"contract": 0x10000, "reassoc": 0x20000}
_FLOAT_OPERATIONS = frozenset((127, 129, 131, 133, 136, 140))  # OpFNegate, OpFAdd, OpFSub, OpFMul, OpFDiv, OpFRem
_OP_EXTENSION, _OP_CAPABILITY, _OP_DECORATE, _FP_FAST_MATH_MODE = 10, 17, 71, 40
_OP_EXT_INST_IMPORT, _OP_MEMORY_MODEL = 11, 14
_OP_FIRST_TYPE, _OP_LAST_TYPE = 19, 39


def allow(code: bytes, flags: Collection[str]) -> bytes:
    """Return the module with each float operation of it decorated.

    - `code`: SPIR-V.
    - `flags`: fast-math flags; those but "contract" and "reassoc" change nothing.

    Returns `code` itself where there is nothing to permit.
    """
    mode = sum(bit for flag, bit in _MODES.items() if flag in flags)
    words = words_of(code)
    results = [words[start + 2] for operation, start, _ in instructions(words) if operation in _FLOAT_OPERATIONS]
    if not mode or not results:
        return code
    modes = dict.fromkeys(results, mode)
    head, body = list(words[:5]), []
    capability, extension = [2 << 16 | _OP_CAPABILITY, _CAPABILITY], _extension()
    is_declared = is_decorated = False
    for operation, start, end in instructions(words):
        instruction = list(words[start:end])
        if not is_declared and operation in (_OP_EXTENSION, _OP_EXT_INST_IMPORT, _OP_MEMORY_MODEL):
            body += [*capability, *extension]  # after the last capability, before whatever else
            is_declared = True
        if operation == _OP_DECORATE and instruction[2] == _FP_FAST_MATH_MODE and instruction[1] in modes:
            modes[instruction[1]] |= instruction[3]  # said together with what is permitted already
            continue
        if not is_decorated and _OP_FIRST_TYPE <= operation <= _OP_LAST_TYPE:
            for result, allowed in modes.items():
                body += [4 << 16 | _OP_DECORATE, result, _FP_FAST_MATH_MODE, allowed]
            is_decorated = True
        body += instruction
    return struct.pack(f"<{len(head) + len(body)}I", *head, *body)


def _extension() -> list[int]:
    text = EXTENSION.encode() + b"\0"
    text += bytes(-len(text) % 4)
    return [(1 + len(text) // 4) << 16 | _OP_EXTENSION, *struct.unpack(f"<{len(text) // 4}I", text)]
