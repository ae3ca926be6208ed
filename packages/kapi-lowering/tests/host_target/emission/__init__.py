"""The host's part of the helper process: object code by LLVM's own back end, of all that is not lacking."""

from __future__ import annotations

from typing import Any

import llvmlite.binding as llvm

from kapi_lowering.emission.llvm_ir import Module
from kapi_lowering.emission.pipeline import Pipeline, UnsupportedError, module_pass

__all__ = ["emit", "pipeline", "prepare", "start", "target_machine"]


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


def pipeline(request: dict[str, Any]) -> Pipeline:
    """One pass, which says what there is not."""
    return Pipeline({"legalize": [refuse_what_lacks]})


@module_pass
def refuse_what_lacks(module: Module) -> None:
    """Name what work-items would need that run one after the other."""
    called = {each.callee for each in module.instructions()}
    lacking = sorted({name.split(".")[2] for name in called if name.startswith("kapi.lacking.")})
    if lacking:
        raise UnsupportedError([f"{name} of work-items that run one after the other" for name in lacking])


def emit(machine: Any, text: str) -> bytes:
    """An object file."""
    code: bytes = machine.emit_object(llvm.parse_assembly(text))
    return code
