"""The compiler for PTX: its modules know which local memory a launch asks for."""

from __future__ import annotations

from math import prod
from typing import Any

from kapi_lowering.compiler import TargetCompiler
from kapi_lowering.files.header_checks import sequence, unfit
from kapi_lowering.files.module_format import ModuleFormat
from kapi_lowering.results.kernel_module import KernelModule
from kapi_ptx.local_layout import is_static
from kapi_ptx.module import PtxModule
from kapi_ptx.target import KAPI_DEFAULT_TARGET, PtxTarget
from kapi_ptx.text import entry_points

__all__ = ["COMPILER"]

_LARGEST_ITEM = 16
"""Bytes of a complex128."""


def _itemsizes(value: Any, what: str) -> tuple[int, ...]:
    """Return the sizes of elements; `_require_itemsizes` compares their number with that of the parameters."""
    sizes = sequence(value, what)
    if any(type(size) is not int or not 1 <= size <= _LARGEST_ITEM for size in sizes):
        raise unfit(what, f"sizes of 1 to {_LARGEST_ITEM} bytes", value)
    return tuple(sizes)


def _require_itemsizes(module: PtxModule) -> None:
    local = [each.name for each in module.parameters if each.kind == "local"]
    if module.local_itemsizes and len(module.local_itemsizes) != len(local):
        raise unfit("local_itemsizes", f"one for each of {len(local)} local parameters", module.local_itemsizes)


class _PtxCompiler(TargetCompiler[PtxTarget, PtxModule]):
    """The compiler of `PtxTarget`."""

    format = ModuleFormat(
        "PTX", 2, PtxModule, PtxTarget, entry_points, {"local_itemsizes": _itemsizes}, _require_itemsizes
    )

    def default_target(self) -> PtxTarget:
        return KAPI_DEFAULT_TARGET

    def own_fields(self, module: KernelModule) -> dict[str, Any]:
        local = [each.type for each in module.parameters if each.kind == "local"]
        itemsizes = [max(8, each.dtype.bitwidth) // 8 for each in local]  # a bool takes a byte
        sizes = [
            None if each.extents is None else prod(each.extents) * itemsize
            for each, itemsize in zip(local, itemsizes, strict=True)
        ]
        return {"local_itemsizes": () if is_static(sizes) else tuple(itemsizes)}


COMPILER = _PtxCompiler()
