"""The host's part of the helper process: object code by LLVM's own back end, of all that is not lacking."""

from __future__ import annotations

import re
from typing import Any

import llvmlite.binding as llvm

__all__ = ["emit", "prepare", "repair", "start", "target_machine"]

_LACKING = re.compile(r"@\"?kapi\.lacking\.(\w+)")


def start() -> None:
    """Nothing is set."""


def target_machine(request: dict[str, Any]) -> Any:
    """The processor that this process runs on; what is called may be anywhere in memory."""
    return llvm.Target.from_triple(request["triple"]).create_target_machine(
        cpu=llvm.get_host_cpu_name(),
        features=llvm.get_host_cpu_features().flatten(),
        opt=1,
        reloc="static",
        codemodel="large",
    )


def prepare(sources: list[str]) -> list[str]:
    """The texts as they are."""
    return sources


def repair(text: str, request: dict[str, Any]) -> tuple[str, list[str]]:
    """The text as it is, and what it calls that there is not."""
    return text, sorted({f"{name} of work-items that run one after the other" for name in _LACKING.findall(text)})


def emit(machine: Any, text: str) -> bytes:
    """An object file."""
    code: bytes = machine.emit_object(llvm.parse_assembly(text))
    return code
