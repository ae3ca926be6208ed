"""Barriers after operations of groups, which free the memory that values were passed through.

A kernel needs one only where the next operation of a group may come: after the last one there is nothing to wait for.
"""

from __future__ import annotations

import re

from ..ir.patterns import FUNCTION

__all__ = ["settle_barriers"]

_FREED = re.compile(r"^ *(?:tail )?call void @kapi_scratch_is_free\(\)[^\n]*\n", re.MULTILINE)
_DECLARED = re.compile(r"^declare [^\n]*@kapi_scratch_is_free\([^\n]*\n", re.MULTILINE)
_BARRIER = "llvm.nvvm.barrier.cta.sync.aligned.all"
_USED = "@kapi_group_scratch"
_LABEL = re.compile(r'^("[^"\n]+"|[-\w.$]+):', re.MULTILINE)
_TARGET = re.compile(r'label %("[^"\n]+"|[-\w.$]+)')


def settle_barriers(text: str) -> str:
    """LLVM IR text with a barrier, or nothing, in the place of each note that an operation is done."""
    if _FREED.search(text) is None:
        return text
    others = sum(_USED in found[0] for found in FUNCTION.finditer(text))
    text = FUNCTION.sub(lambda found: _settled(found[0], may_omit=others == 1), text)
    text = _DECLARED.sub("", text)
    if f"@{_BARRIER}(i32)" not in text:
        text += f"\ndeclare void @{_BARRIER}(i32) convergent nounwind\n"
    return text


def _settled(function: str, may_omit: bool) -> str:
    if _FREED.search(function) is None:
        return function
    if not (may_omit and function.startswith("define ptx_kernel ")):
        return _FREED.sub(_barrier, function)
    parts = _LABEL.split(function)
    # The first block may have no label; it is not branched to.
    blocks = {"": parts[0], **dict(zip(parts[1::2], parts[2::2], strict=True))}
    follows = {name: set(_TARGET.findall(block)) for name, block in blocks.items()}

    def is_needed(rest: str) -> bool:
        if _USED in rest:
            return True
        seen: set[str] = set()
        waiting = list(_TARGET.findall(rest))
        while waiting:
            each = waiting.pop()
            if each not in seen:
                seen.add(each)
                if _USED in blocks[each]:
                    return True
                waiting += follows[each]
        return False

    def settled(block: str) -> str:
        return _FREED.sub(lambda found: _barrier(found) if is_needed(block[found.end() :]) else "", block)

    return "".join((f"{name}:" if name else "") + settled(block) for name, block in blocks.items())


def _barrier(found: re.Match[str]) -> str:
    return f"  call void @{_BARRIER}(i32 0)\n"
