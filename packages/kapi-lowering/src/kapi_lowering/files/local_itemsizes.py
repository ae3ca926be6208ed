"""The field `local_itemsizes` of modules whose launches lay out local memory: how it is made, and checked in a file."""

from __future__ import annotations

from typing import Any

from kapi_lowering.files.header_checks import sequence, unfit
from kapi_lowering.results.kernel_module import KernelModule

__all__ = ["checked_itemsizes", "local_itemsizes", "require_itemsizes"]

_LARGEST_ITEM = 16
"""Bytes of a complex128."""


def local_itemsizes(module: KernelModule) -> tuple[int, ...]:
    """Return the bytes of an element of each parameter of kind "local" of a module that was just compiled.

    A module that was read from a file knows its types by name alone, so that the sizes are kept in it.
    """
    return tuple(
        max(8, getattr(each.type.dtype, "bitwidth", 8)) // 8 for each in module.parameters if each.kind == "local"
    )


def checked_itemsizes(value: Any, what: str) -> tuple[int, ...]:
    """Return the sizes of elements; `require_itemsizes` compares their number with that of the parameters."""
    sizes = sequence(value, what)
    if any(type(size) is not int or not 1 <= size <= _LARGEST_ITEM for size in sizes):
        raise unfit(what, f"sizes of 1 to {_LARGEST_ITEM} bytes", value)
    return tuple(sizes)


def require_itemsizes(module: Any) -> None:
    """Raise unless a module has a size for each of its parameters of kind "local"."""
    local = [each.name for each in module.parameters if each.kind == "local"]
    if len(module.local_itemsizes) != len(local):
        raise unfit("local_itemsizes", f"one for each of {len(local)} local parameters", module.local_itemsizes)
