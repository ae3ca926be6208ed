"""The CPU's part of the helper process: code of one work-item becomes object code of entire work-groups.

Importing it brings no LLVM: a module that is only read needs none.
"""

from __future__ import annotations

from kapi_cpu.emission.back_end import (
    RELOCATION,
    before_pipeline,
    emit,
    is_kept_together,
    pipeline,
    prepare,
    start,
    target_machine,
    unrolls,
)

__all__ = [
    "RELOCATION",
    "before_pipeline",
    "emit",
    "is_kept_together",
    "pipeline",
    "prepare",
    "start",
    "target_machine",
    "unrolls",
]
