"""SPIR-V's part of the helper process, which loads this folder and `kapi_lowering.emission` alone.

It may import llvmlite and these, and nothing else.
"""

from __future__ import annotations

from .back_end import emit, pipeline, prepare, start, target_machine

__all__ = ["emit", "pipeline", "prepare", "start", "target_machine"]
