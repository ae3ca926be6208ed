"""Kernels that kapi did not compile: PTX as text, and cubins."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from kapi_runtime.cuda.programs.program import CudaKernel, kernel_of_code
from kapi_runtime.cuda.queues.queue import CudaQueue
from kapi_runtime.platform.interface import ForeignCode
from kapi_sim.errors import KernelCompilationError

__all__ = ["built_foreign", "checked_code"]

_ENTRY = re.compile(r"\.entry\s+([\w$%]+)")
_ELF = b"\x7fELF"


def checked_code(form: str, code: Any, entry: str) -> bytes | str:
    """Return PTX as text, or a cubin as bytes; see `ProgramBuilder.checked_code`."""
    if form == "ptx" and isinstance(code, (str, bytes)):
        text = code.decode("ascii", "replace") if isinstance(code, bytes) else code
        text = text.rstrip("\0")
        if ".version" not in text:
            raise KernelCompilationError(
                "code must be PTX, which begins with .version, got another text", code="precompiled-code"
            )
        entries = _ENTRY.findall(text)
        if entry not in entries:
            names = ", ".join(entries) or "none"
            raise KernelCompilationError(
                f"entry must be a kernel of the PTX, got {entry!r}: it has {names}", code="entry-absent"
            )
        return text
    if form == "cubin" and isinstance(code, bytes):
        if not code.startswith(_ELF) or entry.encode() not in code:
            raise KernelCompilationError(
                f"code must be a cubin with a kernel named {entry!r}, got {len(code)} other bytes",
                code="precompiled-code",
            )
        return code
    raise KernelCompilationError(
        f'code for a CUDA device must be of form "ptx", a text, or "cubin", bytes, got {form!r} and a '
        f"{type(code).__name__}",
        code="precompiled-code",
    )


def built_foreign(code: ForeignCode, parameters: Sequence[str], queue: CudaQueue) -> CudaKernel:
    """Build foreign code for the device of a queue; see `ProgramBuilder.built_foreign`."""
    held = code.code.encode() if isinstance(code.code, str) else code.code
    return kernel_of_code(code.entry, held, code.entry, queue.device)
