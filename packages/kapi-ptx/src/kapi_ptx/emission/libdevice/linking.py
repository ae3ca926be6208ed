"""Optimised IR with functions of libdevice in it, optimised once more."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm

from kapi_lowering.emission.llvm_ir import Module, parse_module
from kapi_lowering.emission.pipeline import UnsupportedError, module_pass

from .library import LibraryError, library
from .mathematics import needed_functions

__all__ = ["link_libdevice"]


@module_pass
def link_libdevice(module: Module, request: dict[str, Any], target_machine: Callable[[dict[str, Any]], Any]) -> None:
    """Link what is called of libdevice, and optimise once more.

    Raises `UnsupportedError` if there is no libdevice, or none of its functions has such a name.
    """
    needed = needed_functions(module)
    if not needed:
        return
    try:
        functions = library(needed, request["cache"]).functions(needed, request["sm"])
    except LibraryError as error:
        raise UnsupportedError([str(error)]) from error
    linked = llvm.parse_assembly(str(module))
    linked.link_in(llvm.parse_assembly(functions))
    names = {each.name for each in module.definitions}
    for function in linked.functions:
        if not function.is_declaration and function.name not in names:
            function.linkage = llvm.Linkage.internal
    linked.verify()
    options = llvm.create_pipeline_tuning_options(speed_level=2 if request["passes"] == "all" else 0)
    options.loop_vectorization = options.slp_vectorization = options.loop_interleaving = False
    builder = llvm.create_pass_builder(target_machine(request), options)
    builder.getModulePassManager().run(linked, builder)
    module.become(parse_module(str(linked)))
