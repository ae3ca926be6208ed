"""Variables that the modules of a kernel had in common."""

from __future__ import annotations

from kapi_lowering.emission.llvm_ir import Module
from kapi_lowering.emission.pipeline import module_pass

__all__ = ["internalize_merged_globals"]

_LINKAGE = "linkonce_odr "


@module_pass
def internalize_merged_globals(module: Module) -> None:
    """Make variables internal that modules had in common: PTX has no weak variables in shared memory."""
    for name, text in module.globals.items():
        if name.startswith("@kapi_") and text.startswith(_LINKAGE):
            module.globals[name] = f"internal {text.removeprefix(_LINKAGE)}"
