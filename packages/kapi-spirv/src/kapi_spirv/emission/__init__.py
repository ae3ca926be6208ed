"""From LLVM IR text to SPIR-V, in a helper process: LLVM's back end ends the process it runs in when it gives up."""

from __future__ import annotations

from kapi_spirv.emission.client import EmissionError, Emitted, HelperEndedError, disassemble, emit, prepare

__all__ = ["EmissionError", "Emitted", "HelperEndedError", "disassemble", "emit", "prepare"]
