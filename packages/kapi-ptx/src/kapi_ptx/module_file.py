"""A compiled kernel as bytes, for a file: the format of kapi-lowering, with PTX in it."""

from __future__ import annotations

from typing import Any

from kapi_lowering.files.header_checks import sequence, unfit
from kapi_lowering.files.module_format import ModuleFormat
from kapi_ptx.module import PtxModule
from kapi_ptx.target import PtxTarget
from kapi_ptx.text import entry_points

__all__ = ["read_module", "write_module"]

_LARGEST_ITEM = 16
"""Bytes of a complex128."""


def _itemsizes(value: Any, what: str) -> tuple[int, ...]:
    """The sizes of elements; `read_module` compares their number with that of the parameters."""
    sizes = sequence(value, what)
    if any(type(size) is not int or not 1 <= size <= _LARGEST_ITEM for size in sizes):
        raise unfit(what, f"sizes of 1 to {_LARGEST_ITEM} bytes", value)
    return tuple(sizes)


_FORMAT = ModuleFormat("PTX", 2, PtxModule, PtxTarget, entry_points, {"local_itemsizes": _itemsizes})


def write_module(module: PtxModule, key: str = "") -> bytes:
    """Return the bytes of a file that holds `module`.

    Parameters
    ----------
    module : PtxModule
        The compiled kernel.
    key : str
        What it was compiled of, such as a digest; `read_module` compares it.

    Raises
    ------
    ModuleFileError
        If an exception that the kernel may raise has an argument that is no text, number or None, or the module is
        larger than files may be.

    Examples
    --------
    >>> from numba import types
    >>> from kapi_ptx import compile_kernel
    >>> from kapi_types import ItemType, ArrayType
    >>> def double(item, x):
    ...     x[item.get_id(0)] *= 2
    >>> module = compile_kernel(double, [ItemType(1), ArrayType(types.float32, 1, "C")])
    >>> read_module(write_module(module)).code == module.code
    True
    """
    return _FORMAT.write(module, key)


def read_module(data: bytes, key: str | None = None) -> PtxModule:
    """Return the module that `write_module` made bytes of.

    Nothing in the bytes is run, evaluated, imported or looked up by name, whoever wrote them.  To *launch* the module
    is to run its code, as with any program.

    Parameters
    ----------
    data : bytes
        The whole file.
    key : str, optional
        What the module must have been compiled of; left out, any.

    Raises
    ------
    ModuleFileError
        If it is of another format, cut short, changed, of another key, or says what no compiled kernel has.

    Examples
    --------
    >>> read_module(b"something else")
    Traceback (most recent call last):
    ...
    kapi_sim.errors.ModuleFileError: data must be a kapi PTX module of format 2, got something else [module-file-format]
    """
    module = _FORMAT.read(data, key)
    local = [each.name for each in module.parameters if each.kind == "local"]
    if module.local_itemsizes and len(module.local_itemsizes) != len(local):
        raise unfit("local_itemsizes", f"one for each of {len(local)} local parameters", module.local_itemsizes)
    return module
