"""PTX's part of the helper process, which loads this folder and `kapi_lowering.emission` alone.

It may import llvmlite, these, and what finds libdevice.
"""

from __future__ import annotations

from .back_end import emit, guide_unrolling, needs_guide, pipeline, prepare, start, target_machine

__all__ = ["emit", "guide_unrolling", "needs_guide", "pipeline", "prepare", "start", "target_machine"]
