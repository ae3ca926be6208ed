"""The field `local_itemsizes` of modules whose launches lay out local memory: how it is made, and checked in a file."""

from __future__ import annotations

from typing import Any

from kapi_lowering.files.header_checks import sequence, unfit
from kapi_lowering.results.kernel_module import KernelModule

__all__ = ["checked_itemsizes", "local_itemsizes", "require_itemsizes"]

_LARGEST_ITEM = 1 << 16
"""Bytes of an element: a record has more than a number, and local memory has not much more."""


def local_itemsizes(module: KernelModule) -> tuple[int, ...]:
    """Return the bytes of an element of each parameter of kind "local" of a module that was just compiled.

    A module that was read from a file knows its types by name alone, so that the sizes are kept in it.
    """
    return tuple(_itemsize(each.type.dtype) for each in module.parameters if each.kind == "local")


def _itemsize(element: Any) -> int:
    """The bytes of an element; of a bool, one."""
    size: int = element.size if hasattr(element, "fields") else max(8, getattr(element, "bitwidth", 8)) // 8
    return size


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
