"""The compiler for PTX: its modules know which local memory a launch asks for."""

from __future__ import annotations

from math import prod
from typing import Any

from kapi_lowering.compiler import TargetCompiler
from kapi_lowering.files.local_itemsizes import checked_itemsizes, local_itemsizes, require_itemsizes
from kapi_lowering.files.module_format import ModuleFormat
from kapi_lowering.results.kernel_module import KernelModule
from kapi_ptx.local_layout import is_static
from kapi_ptx.module import PtxModule
from kapi_ptx.target import KAPI_DEFAULT_TARGET, PtxTarget
from kapi_ptx.text import entry_points

__all__ = ["COMPILER"]


def _require_itemsizes(module: PtxModule) -> None:
    if module.local_itemsizes:  # else local memory lies in the module
        require_itemsizes(module)


class _PtxCompiler(TargetCompiler[PtxTarget, PtxModule]):
    """The compiler of `PtxTarget`."""

    format = ModuleFormat(
        "PTX", 2, PtxModule, PtxTarget, entry_points, {"local_itemsizes": checked_itemsizes}, _require_itemsizes
    )

    def default_target(self) -> PtxTarget:
        return KAPI_DEFAULT_TARGET

    def own_fields(self, module: KernelModule) -> dict[str, Any]:
        local = [each.type for each in module.parameters if each.kind == "local"]
        itemsizes = local_itemsizes(module)
        sizes = [
            None if each.extents is None else prod(each.extents) * itemsize
            for each, itemsize in zip(local, itemsizes, strict=True)
        ]
        return {"local_itemsizes": () if is_static(sizes) else itemsizes}


COMPILER = _PtxCompiler()
