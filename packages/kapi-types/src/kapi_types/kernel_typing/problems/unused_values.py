"""Assignments that nothing reads any more, once what they were written for is settled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kapi_types._numba_compat import ir

__all__ = ["drop_unused"]


def drop_unused(blocks: dict[Any, Any], may_go: Callable[[Any], bool]) -> None:
    """Remove the assignments of values that nothing reads.

    - `blocks`: a function's, of Numba's IR.
    - `may_go`: told what is assigned, says whether it may be removed.
    """
    while _drop_once(blocks, may_go):
        pass


def _drop_once(blocks: dict[Any, Any], may_go: Callable[[Any], bool]) -> bool:
    """Remove what nothing reads now; whether there was any, which may have read something itself."""
    used: set[str] = set()
    for block in blocks.values():
        for statement in block.body:
            read = statement.value if isinstance(statement, ir.Assign) else statement
            if isinstance(read, ir.Var):
                used.add(read.name)
            elif hasattr(read, "list_vars"):
                used |= {each.name for each in read.list_vars()}
    has_dropped = False
    for block in blocks.values():
        kept = [
            each
            for each in block.body
            if not isinstance(each, ir.Assign)
            or "$" not in each.target.name  # a variable of the author's
            or each.target.name in used
            or not may_go(each.value)
        ]
        has_dropped |= len(kept) < len(block.body)
        block.body = kept
    return has_dropped
