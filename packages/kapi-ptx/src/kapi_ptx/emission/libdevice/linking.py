"""Optimised IR with functions of libdevice in it, optimised once more."""

from __future__ import annotations

from typing import Any

import llvmlite.binding as llvm

__all__ = ["link"]


def link(text: str, functions: str, request: dict[str, Any], machine: Any) -> str:
    """The text of a module that has what it calls of libdevice within it.

    Parameters
    ----------
    text : str
        Optimised IR.
    functions : str
        IR of the functions, which have no other part that is seen.
    request : dict
        The helper's request.
    machine : llvmlite target machine
        What is compiled for.
    """
    module = llvm.parse_assembly(text)
    names = {function.name for function in module.functions if not function.is_declaration}
    module.link_in(llvm.parse_assembly(functions))
    for function in module.functions:
        if not function.is_declaration and function.name not in names:
            function.linkage = llvm.Linkage.internal
    module.verify()
    options = llvm.create_pipeline_tuning_options(speed_level=2 if request["passes"] == "all" else 0)
    options.loop_vectorization = options.slp_vectorization = options.loop_interleaving = False
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    return str(module)
